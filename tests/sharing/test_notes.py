"""Notes: what is kept of answers and passages, and its files."""

from __future__ import annotations

import io
import time

import docx
import pytest

from crag.errors import BadRequest, NotFound
from crag.options import RunOptions
from crag.sharing.note_export import write_notes_markdown, write_notes_word
from tests.applications import opened_with, wait

HOSTILE = "Look: ![pixel](http://127.0.0.1:9/x.png) <img src=http://127.0.0.1:9/y> \x00 and \x1b[31m$1$"


@pytest.fixture
def application(tmp_path):
    documents = {"lighthouse.md": "# Light\n\nThe lighthouse of Brill was built in 1931.\n"}
    with opened_with(tmp_path / "home", documents) as opened:
        yield opened


@pytest.fixture
def run(application):
    conversation = application.conversations.create()
    asked = application.runs.start(conversation.id, "When was the lighthouse built?", RunOptions(web="off"))
    wait(asked)
    return asked


def test_an_answer_is_kept_with_its_sources(application, run):
    kept = application.notes.keep_answer(run.id)
    assert kept.title == "When was the lighthouse built?"
    assert "1931" in kept.text
    assert [(cited.n, cited.title) for cited in kept.sources] == [(1, "Light")]
    assert application.notes.list() == [kept]


def test_what_was_answered_before_names_a_document_by_its_new_title(application, run):
    application.notes.keep_answer(run.id)
    (source,) = application.library.sources()
    application.library.rename(source.id, "Brill handbook")
    trace = application.runs.trace(run.id)
    assert [one.title for one in (*trace.passages.values(), *trace.citations)] == ["Brill handbook"] * 2
    assert application.notes.list()[0].sources[0].title == "Brill handbook"
    (conversation,) = application.conversations.list()
    assert "Brill handbook" in application.sharing.markdown(conversation.id)
    assert "Brill handbook" in application.sharing.html(conversation.id)
    application.library.rename(source.id, "")
    assert [cited.title for cited in application.runs.trace(run.id).citations] == ["Light"]


def test_a_passage_is_kept_as_a_quotation(application, run):
    (passage,) = application.runs.trace(run.id).passages.values()
    kept = application.notes.keep_passage(run.id, passage)
    assert kept.text.startswith("> ")
    assert kept.text.endswith("built in 1931. [1]")
    assert kept.sources[0].passage_id == passage.id


@pytest.mark.parametrize(
    ("typed", "title", "text"),
    [
        ("Ask legal\nabout this", "Ask legal", "about this"),
        ("One line", "One line", ""),
        ("x" * 90, "x" * 79 + "…", "x" * 90),
    ],
)
def test_the_first_line_of_a_written_note_is_its_title(application, typed, title, text):
    kept = application.notes.add(typed)
    assert (kept.title, kept.text) == (title, text)


def test_a_note_outlives_its_conversation(application, run):
    kept = application.notes.keep_answer(run.id)
    application.conversations.delete(kept.conversation_id)
    application.conversations.purge()
    (left,) = application.notes.list()
    assert (left.text, left.sources, left.conversation_id) == (kept.text, kept.sources, "")


def test_notes_are_found_changed_removed_and_brought_back(application):
    first, second = application.notes.add("Älter\nüber Öl"), application.notes.add("Newer")
    assert [note.id for note in application.notes.list()] == [second.id, first.id]
    assert [note.id for note in application.notes.list("öl")] == [first.id]
    application.notes.edit(first, "", "Now\nthis")
    (changed,) = application.notes.list("now")
    assert (changed.title, changed.text) == ("Now", "Now\nthis")
    assert application.notes.remove(first.id) == changed
    assert application.notes.remove(first.id) is None
    assert application.notes.list("now") == []
    application.notes.restore(changed)
    assert application.notes.list("now") == [changed]


@pytest.mark.parametrize("typed", ["", " \n\x00", "x" * 100_001])
def test_what_is_no_note_is_refused(application, typed):
    with pytest.raises(BadRequest):
        application.notes.add(typed)


def test_what_was_written_elsewhere_meanwhile_is_not_overwritten(application):
    read = application.notes.add("Plan")
    application.notes.edit(read, "Plan", "written in another tab")
    with pytest.raises(BadRequest, match="changed elsewhere"):
        application.notes.edit(read, "Plan", "written here")
    assert application.notes.get(read.id).text == "written in another tab"
    application.notes.remove(read.id)
    with pytest.raises(NotFound, match="can become a new one"):
        application.notes.edit(read, "Plan", "written here")
    with pytest.raises(NotFound) as gone:
        application.notes.get(read.id)
    assert str(gone.value) == "This note no longer exists."


def test_files_hold_titles_texts_and_sources(application, run):
    application.notes.keep_answer(run.id)
    application.notes.add(
        "Plan\n- **first**\n  - deeper\n\n1. one\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\ncode\n```"
    )
    notes = application.notes.list()
    written = write_notes_markdown(notes)
    assert "## Plan" in written
    assert "## When was the lighthouse built?" in written
    assert "> The lighthouse of Brill was built in 1931." in written
    document = docx.Document(io.BytesIO(write_notes_word(notes)))
    styles = {paragraph.text: paragraph.style.name for paragraph in document.paragraphs}
    assert styles["Plan"] == "Heading 1"
    assert (styles["first"], styles["deeper"], styles["one"]) == ("List Bullet", "List Bullet 2", "List Number")
    assert styles["[1] Light"] == "Normal"
    assert [cell.text for row in document.tables[0].rows for cell in row.cells] == ["a", "b", "1", "2"]
    assert "first" in [run.text for paragraph in document.paragraphs for run in paragraph.runs if run.bold]


def test_a_note_of_thousands_of_headings_becomes_word_quickly(application):
    application.notes.add("# a\n" * 6_000)
    began = time.process_time()
    written = write_notes_word(application.notes.list())
    assert time.process_time() - began < 6  # 15 when each paragraph looked at all styles
    assert len(docx.Document(io.BytesIO(written)).paragraphs) == 6_002


def test_files_load_and_link_nothing(application):
    application.notes.add(f"{HOSTILE}\n{HOSTILE}")
    notes = application.notes.list()
    written = write_notes_markdown(notes)
    assert "](http" not in written
    assert "<img" not in written
    document = docx.Document(io.BytesIO(write_notes_word(notes)))
    assert not [one for one in document.part.rels.values() if one.is_external]
    assert "\x1b" not in "".join(paragraph.text for paragraph in document.paragraphs)


def test_a_link_lets_others_read_until_it_is_removed(application, run):
    sharing, ann = application.sharing, application.conversations.find_by_run(run.id)
    link_id = sharing.create_link(ann.id)
    assert sharing.create_link(ann.id) == sharing.link(ann.id) == link_id
    assert sharing.read_link(link_id).shown_messages()[0].text == run.question
    sharing.remove_link(ann.id)
    assert sharing.link(ann.id) == ""
    for gone in (link_id, ""):
        with pytest.raises(NotFound):
            sharing.read_link(gone)


def test_a_link_to_a_deleted_conversation_leads_nowhere(application, run):
    conversation = application.conversations.find_by_run(run.id)
    link_id = application.sharing.create_link(conversation.id)
    application.conversations.delete(conversation.id)
    with pytest.raises(NotFound):
        application.sharing.read_link(link_id)
