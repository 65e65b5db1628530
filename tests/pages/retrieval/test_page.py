"""Trying a search: passages with scores, the drawer, and empty states."""

from __future__ import annotations

import pytest

from crag.retrieval.full_text import find_term_spans
from crag.text.language import extract_terms
from tests.pages.conftest import NOTES, add, click, labels, said

PAGE = "pages/retrieval/page.py"


@pytest.fixture
def trying(chat, notes):
    """The page over a library of one document."""
    return chat.switch_page(PAGE).run()


def ask_for(app, query):
    return app.text_input(key="retrieval_query").set_value(query).run()


def test_it_is_reached_from_the_documents(chat, notes):
    chat.switch_page("pages/documents/page.py").run()
    click(chat, "Try search")
    assert [title.value for title in chat.title] == ["Try search"]


def test_a_hit_says_how_it_was_found(trying):
    ask_for(trying, "When is the grinder cleaned?")
    assert not trying.exception
    assert said(trying, "1 of 1 passage")
    assert said(trying, "**Score 1.00** · words 1st")
    assert said(trying, "**grinder** is **cleaned**")


def test_a_hit_opens_in_the_source_drawer(trying):
    ask_for(trying, "grinder")
    next(button for button in trying.button if button.label.startswith("**1**")).click().run()
    assert not trying.exception
    assert sum("Beans are ordered" in item.value for item in trying.markdown) == 2  # the hit, and the drawer


def test_hits_stay_within_a_collection_and_a_number(trying, services):
    for number in range(6):
        services.library.pipeline.add_bytes(f"{number}.md", f"Grinder {number} is blue.".encode(), collection="Blue")
    ask_for(trying, "grinder")
    trying.number_input(key="retrieval_hits").set_value(3).run()
    trying.selectbox(key="retrieval_collection").set_value("Blue").run()
    assert said(trying, "3 of 6 passages")
    assert sum(label.startswith("**") for label in labels(trying)) == 3


def test_equal_passages_are_named_not_shown(trying, services):
    add(services, "copy.md", NOTES.replace("# Brewing notes", "# Notes on brewing"))
    ask_for(trying, "How often is the machine descaled?")
    assert said(trying, "1 of 2 passages")
    assert said(trying, "The same text is also in")


def test_an_empty_library_and_an_empty_question_are_told_apart(chat, services):
    chat.switch_page(PAGE).run()
    assert said(chat, "No documents yet")
    assert not chat.text_input
    add(services, "brewing.md", NOTES)
    chat.run()
    assert not chat.exception
    assert chat.text_input(key="retrieval_query").value == ""


def test_a_collection_without_documents_finds_nothing(trying, services):
    services.library.create_collection("Void")
    trying.run()
    ask_for(trying, "grinder")
    trying.selectbox(key="retrieval_collection").set_value("Void").run()
    assert said(trying, "Nothing found among 0 passages")


def test_any_query_is_answered_calmly(trying):
    for query in ("grinder " * 240, "![x](http://canary.test) :smile: **", "?!", "臺灣最高的山" * 100):
        ask_for(trying, query)
        assert not trying.exception
        assert not any("canary" in item.value for item in trying.markdown)


def test_foreign_text_stays_text(trying, services):
    add(services, "evil.md", "The grinder ![x](http://canary.test/a.png) :red[loud] <b>bold</b> www.canary.test")
    ask_for(trying, "loud grinder canary")
    shown = next(item.value for item in trying.markdown if "canary" in item.value)
    assert "http\\:" not in shown
    assert "](http" not in shown
    assert ":red[" not in shown


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("The Café opens; cats sleep.", "cafe cat", ["Café", "cats"]),
        ("방탄소년단은 2013년에 데뷔했다", "방탄소년단 데뷔", ["방탄소년단", "데뷔"]),
        ("臺灣最高的山是玉山。", "玉山", ["玉山"]),
        ("nothing here", "cat", []),
    ],
)
def test_what_is_shared_is_found_in_the_text(text, query, marked):
    assert [text[start:end] for start, end in find_term_spans(text, set(extract_terms(query)))] == marked
