"""Adding, listing, removing and refreshing documents, over a real database."""

import hashlib
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import event, func, select, text

from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault, ModelFault, NotFound, Stopped
from crag.storage import sources
from crag.storage.outbound_log import OutboundLog
from crag.storage.tables import removed_passages, removed_sources, removed_vectors, vectors
from crag.storage.tables import sources as source_table
from crag.types import DEFAULT_COLLECTION
from tests.crashing import check_whole
from tests.doubles.library import open_library

NOTES = b"# Kettles\nA kettle boils water.\nIt whistles when the water boils.\n# Cats\nA cat sleeps all day.\n"


def originals(home: Path) -> set[str]:
    return {path.name for path in (home / "originals").rglob("*") if path.is_file()}


def test_what_is_added_is_listed_found_and_kept(library):
    seen = []
    result = library.pipeline.add_bytes("notes.md", NOTES, progress=seen.append)
    assert (result.status, result.title, result.passages, result.error) == ("added", "notes.md", 3, None)
    (source,) = library.sources()
    assert (source.id, source.kind, source.location, source.passages) == (result.id, "text", "notes.md", 3)
    assert (source.size, source.space) == (len(NOTES), "double:hash")
    assert library.original_path(result.id).read_bytes() == NOTES
    assert library.search("Which animal sleeps?", k=1)[0].text == "A cat sleeps all day."
    assert library.counts()[:2] == (1, 3)
    assert [progress.stage for progress in seen] == ["Reading", "Embedding passages", "Saving"]


def test_what_a_search_sends_is_recorded_for_the_user_who_searches(library, embedder, monkeypatch):
    library.pipeline.add_bytes("notes.md", NOTES)
    outbound_log = OutboundLog(library._database)
    embed = embedder.embed_query

    def embed_elsewhere(text):
        outbound_log.record("embedder.example", "embedding", text)
        return embed(text)

    monkeypatch.setattr(embedder, "embed_query", embed_elsewhere)
    library.for_user("ann").search("Which animal sleeps?")
    library.search("What whistles?")
    assert [one.what for one in outbound_log.for_user("ann").entries()] == ["What whistles?", "Which animal sleeps?"]
    assert [one.what for one in outbound_log.for_user("ben").entries()] == ["What whistles?"]


def test_documents_are_listed_page_by_page_whatever_changes_meanwhile(library):
    ids = [library.pipeline.add_bytes(f"{n}.md", f"Kettle {n}.".encode()).id for n in range(5)]
    library.pipeline.add_bytes("other.md", NOTES, collection="Other")
    with library._database.write() as connection:  # of the same moment
        connection.execute(source_table.update().where(source_table.c.id.in_(ids[:4])).values(added_at=1000.25))
    newest_first = [ids[4], *sorted(ids[:4])]
    first = library.source_page(DEFAULT_COLLECTION, 2)
    assert ([one.id for one in first.sources], first.total) == (newest_first[:2], 5)
    library.remove([newest_first[1], newest_first[4]])  # where the next page begins, and what would be the last one
    library.pipeline.add_bytes("new.md", b"Kettle 5.")
    second = library.source_page(DEFAULT_COLLECTION, 2, first.next_cursor)
    assert ([one.id for one in second.sources], second.total, second.next_cursor) == (newest_first[2:4], 4, "")
    assert library.source_page("", 200).total == 5
    for collection, cursor in ((DEFAULT_COLLECTION, "x"), (DEFAULT_COLLECTION, "nan_a"), ("Nowhere", "")):
        with pytest.raises(BadRequest):
            library.source_page(collection, 2, cursor)


def test_a_passage_knows_its_place_and_its_context(library):
    library.pipeline.add_bytes("notes.md", NOTES)
    found = library.search("whistles", k=1)[0]
    passage = library.passage(found.id)
    assert (passage.title, passage.heading, passage.page, passage.origin) == ("notes.md", "Kettles", 1, "library")
    assert passage.context == "A kettle boils water.\n\nIt whistles when the water boils.\n\nA cat sleeps all day."
    assert library.passage(999) is None


def test_a_document_is_read_part_by_part(library):
    sections = [f"# Section {number}\n\n{f'Rule {number} holds for every visitor. ' * 30}" for number in range(60)]
    added = library.pipeline.add_bytes("rules.md", "\n\n".join(sections).encode())
    source = library.source(added.id)
    parts = [library.read_part(source, part + 1) for part in range(library.count_parts(source))]
    assert len(parts) == 3
    assert [f"Rule {number} holds" in parts[number // 20] for number in range(60)] == [True] * 60
    assert parts[0].lstrip("# ").startswith(("Section 0", "Rule 0"))
    assert parts[1].count("Rule 19 holds") == 0


def test_a_renamed_document_is_found_by_its_new_title_and_no_longer_by_the_old_one(library):
    added = library.pipeline.add_bytes("windows-949", NOTES)
    other = library.pipeline.add_bytes("tea.md", b"Tea is drunk hot.")
    renamed = library.rename(added.id, "  Kitchen\n handbook ")
    assert (renamed.title, renamed.own_title, renamed.location) == ("Kitchen handbook", "windows-949", "windows-949")
    assert library.search("handbook", k=1)[0].title == "Kitchen handbook"
    terms = library._full_text.read_terms([library.search("cat sleeps", k=1)[0].id])
    assert [(list(one.above), list(one.text)) for one in terms.values()] == [
        (["kitchen", "handbook", "cat"], ["cat", "sleep", "day"])
    ]
    assert library._full_text.search("windows-949", 4) == []
    assert library.source(other.id).title == "tea.md"


def test_a_document_that_is_renamed_while_it_is_read_again_is_found_by_the_new_title_alone(library, tmp_path):
    file = tmp_path / "cats.md"
    file.write_bytes(NOTES)
    added = library.pipeline.add_path(file)
    library.rename(added.id, "Kitchen handbook")
    file.write_bytes(NOTES + b"A dog barks.\n")

    def rename_before_the_commit(progress):
        if progress.stage == "Saving":
            library.rename(added.id, "Household guide")

    assert library.pipeline.add_path(file, progress=rename_before_the_commit).status == "replaced"
    assert library.source(added.id).title == "Household guide"
    assert library._full_text.search("household", 1)
    assert library._full_text.search("handbook", 4) == []


def test_without_a_title_a_renamed_document_has_its_own_again(library):
    added = library.pipeline.add_bytes("notes.md", NOTES)
    before = library.source(added.id), library.search("Which animal sleeps?")
    library.rename(added.id, "Cats")
    library.rename(added.id, "Kettles and cats")
    assert library.source(added.id).own_title == "notes.md"
    library.rename(added.id, " ")
    assert (library.source(added.id), library.search("Which animal sleeps?")) == before
    with pytest.raises(NotFound):
        library.rename("unknown", "Cats")


def test_a_title_that_a_user_gave_outlives_new_versions_and_a_removal(library, tmp_path):
    file = tmp_path / "notes.md"
    file.write_bytes(NOTES)
    added = library.pipeline.add_path(file)
    library.rename(added.id, "Kitchen handbook")
    file.write_bytes(b"# Teapots\nA teapot pours.\n")
    replaced = library.pipeline.add_path(file)
    assert (replaced.status, replaced.id, replaced.title) == ("replaced", added.id, "Kitchen handbook")
    assert library.search("handbook", k=1)[0].text == "A teapot pours."
    library.relocate(file, tmp_path / "tea.md")
    library.discard([added.id])
    library.restore([added.id])
    assert library.source(added.id).title == "Kitchen handbook"
    assert library.rename(added.id, "").title == "tea.md"


def test_the_same_bytes_are_stored_once_per_collection(library):
    first = library.pipeline.add_bytes("notes.md", NOTES)
    again = library.pipeline.add_bytes("copy of notes.md", NOTES)
    assert (again.status, again.id, again.passages) == ("unchanged", first.id, 3)
    other = library.pipeline.add_bytes("notes.md", NOTES, collection="Other")
    assert other.status == "added"
    assert [source.id for source in library.sources("Other")] == [other.id]
    assert originals(library.home) == {hashlib.sha256(NOTES).hexdigest()}


def test_removing_takes_everything_but_what_others_still_use(library):
    first = library.pipeline.add_bytes("notes.md", NOTES)
    second = library.pipeline.add_bytes("notes.md", NOTES, collection="Other")
    assert [source.id for source in library.remove([first.id, "unknown"])] == [first.id]
    assert library.original_path(second.id) is not None
    assert {passage.source_id for passage in library.search("cat sleeps water")} == {second.id}
    library.remove([second.id])
    assert library.search("cat sleeps water") == []
    assert library.counts()[:2] == (0, 0)
    assert originals(library.home) == set()
    with pytest.raises(NotFound):
        library.source(first.id)


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", "empty"), (b"x" * (1024 * 1024 + 1), "too_large"), (b"REFUSE", "corrupt"), (b"# Only a heading", "no_text")],
)
def test_what_cannot_be_added_says_why_and_leaves_nothing(library, data, code):
    result = library.pipeline.add_bytes("bad.txt", data)
    assert (result.status, result.id, result.error.code) == ("failed", None, code)
    assert result.error.message
    assert library.counts()[:2] == (0, 0)
    assert originals(library.home) == set()


def test_a_model_that_fails_is_said_and_leaves_nothing(library, embedder):
    def fail():
        raise ModelFault("unreachable", "Ollama does not answer.", "Start it.")

    embedder.before_batch = fail
    result = library.pipeline.add_bytes("notes.md", NOTES)
    assert (result.error.code, result.error.message) == ("embedding_failed", "Ollama does not answer. Start it.")
    assert library.sources() == []


def test_stopping_between_batches_leaves_nothing(library, embedder):
    stop = Cancellation()
    embedder.before_batch = stop.cancel
    with pytest.raises(Stopped):
        library.pipeline.add_bytes("notes.md", NOTES, stop=stop)
    assert library.sources() == []


def test_a_disk_that_refuses_is_not_the_fault_of_the_file(library):
    (library.home / "originals").write_text("in the way")
    with pytest.raises(HomeFault):
        library.pipeline.add_bytes("notes.md", NOTES)
    assert library.sources() == []


def test_a_full_disk_leaves_nothing_partial_and_adding_recovers(library):
    library.pipeline.add_bytes("notes.md", NOTES)
    large = "\n".join(f"Line {n} is about lamp {n * n}." for n in range(2000)).encode()
    with library._database.read() as connection:
        pages = connection.scalar(text("PRAGMA page_count"))

    def limit(connection, _record):
        connection.execute(f"PRAGMA max_page_count = {pages + 5}")

    engine = library._database._engine
    event.listen(engine, "connect", limit)
    kept = engine.connect()  # the file of the log exists only while there is a connection
    engine.dispose()  # every connection from now on is limited, whichever thread asks for it
    with pytest.raises(HomeFault, match="disk is full"):
        library.pipeline.add_bytes("large.md", large)
    assert [source.title for source in library.sources()] == ["notes.md"]
    assert library.search("cat water")
    event.remove(engine, "connect", limit)
    engine.dispose()
    kept.close()
    assert library.pipeline.add_bytes("large.md", large).status == "added"
    check_whole(library)


def test_a_strange_folder_among_the_originals_does_no_harm(library, reopen):
    strange = library.home / "originals" / "00" / f"{0:064}"
    strange.mkdir(parents=True)
    assert reopen().pipeline.add_bytes("notes.md", NOTES).status == "added"
    assert strange.is_dir()


def test_names_are_shown_and_never_paths(library):
    result = library.pipeline.add_bytes("../../etc/\x00pass\ud800wd\u202e.md", NOTES)
    assert result.title == "passwd.md"
    assert library.source(result.id).location == "passwd.md"


def test_a_file_that_changed_takes_the_place_of_its_old_version(library, tmp_path):
    file = tmp_path / "notes.md"
    file.write_bytes(NOTES)
    first = library.pipeline.add_path(file)
    assert library.pipeline.add_path(file).status == "unchanged"
    file.write_bytes(b"A dog barks.\n")
    second = library.pipeline.add_path(file)
    assert (first.status, second.status, second.id) == ("added", "replaced", first.id)
    assert [passage.text for passage in library.search("cat water dog")] == ["A dog barks."]
    assert originals(library.home) == {hashlib.sha256(b"A dog barks.\n").hexdigest()}


def test_refreshing_reads_again_and_keeps_what_is_gone_from_disk(library, tmp_path):
    file = tmp_path / "notes.md"
    file.write_bytes(NOTES)
    added = library.pipeline.add_path(file)
    upload = library.pipeline.add_bytes("upload.md", b"An upload comes once.")
    assert {result.status for result in library.pipeline.refresh()} == {"unchanged"}
    file.write_bytes(b"A dog barks.\n")
    assert [(result.id, result.status) for result in library.pipeline.refresh([added.id])] == [(added.id, "replaced")]
    file.unlink()
    (gone,) = library.pipeline.refresh([added.id])
    assert (gone.status, gone.error.code) == ("failed", "unreachable")
    assert {source.id for source in library.sources()} == {added.id, upload.id}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell such names apart, or refuse them")
def test_similar_file_names_stay_apart(library, tmp_path):
    names = ["e\u0301.txt", "\u00e9.txt", "a.txt", "a\x01.txt", "a\udcfe.txt", "a\udcff.txt"]
    for name in names:
        (tmp_path / name).write_text(f"This is {name!a}.")
        assert library.pipeline.add_path(tmp_path / name).status == "added"
    for name in names[:4]:
        (tmp_path / name).write_text(f"This is now {name!a}.")
    refreshed = [result.status for result in reversed(library.pipeline.refresh())]
    assert refreshed == ["replaced"] * 4 + ["failed"] * 2  # the last two have names that no text can hold
    assert len(library.sources()) == len(names)


def test_a_file_that_turns_into_a_known_text_drops_its_old_one(library, tmp_path):
    file = tmp_path / "notes.md"
    file.write_bytes(NOTES)
    library.pipeline.add_path(file)
    known = library.pipeline.add_bytes("dog.md", b"A dog barks.\n")
    file.write_bytes(b"A dog barks.\n")
    result = library.pipeline.add_path(file)
    assert (result.status, result.id) == ("unchanged", known.id)
    assert [source.id for source in library.sources()] == [known.id]
    assert len(originals(library.home)) == 1


def test_a_folder_is_added_file_by_file(library, tmp_path):
    folder = tmp_path / "folder"
    (folder / "deeper").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    for name in ("a.md", "deeper/b.txt", "c.exe", ".hidden/d.md"):
        (folder / name).write_text(f"The file {name} speaks.")
    (folder / "bad.txt").write_text("REFUSE")
    results = list(library.pipeline.add(str(folder)))
    assert [(Path(result.source).name, result.status) for result in results] == [
        ("a.md", "added"),
        ("bad.txt", "failed"),
        ("b.txt", "added"),
    ]


def test_a_folder_without_anything_to_read_says_so(library, tmp_path):
    (tmp_path / "folder").mkdir()
    (result,) = library.pipeline.add(str(tmp_path / "folder"))
    assert (result.status, result.error.code) == ("failed", "empty")


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("no/such/file.md", "unreachable"),
        ("nul\x00.md", "unreachable"),
        ("/dev/null", "unreachable"),
        ("file:///etc/passwd", "blocked_url"),
        ("//example.com/x", "blocked_url"),
        ("http://127.0.0.1:9/", "blocked_url"),
    ],
)
def test_what_leads_nowhere_is_refused(library, spec, code):
    (result,) = library.pipeline.add(spec)
    assert (result.status, result.error.code) == ("failed", code)


def test_collections_are_made_when_needed_and_counted(library):
    assert [collection.name for collection in library.collections()] == [DEFAULT_COLLECTION]
    assert library.create_collection("  My \x00 papers ") == "My papers"
    library.pipeline.add_bytes("notes.md", NOTES, collection="My papers")
    assert [(c.name, c.sources, c.passages) for c in library.collections()] == [
        (DEFAULT_COLLECTION, 0, 0),
        ("My papers", 1, 3),
    ]
    for name in ("", " \n", "x" * 81):
        with pytest.raises(BadRequest):
            library.create_collection(name)


def test_the_name_of_a_file_is_nothing_to_ask_about(library):
    for name in ("scan_0012.txt", "Presentation1.txt", "Kettle.txt"):
        library.pipeline.add_bytes(name, name.encode() + b" boils.")
    assert library.suggest_questions(3) == []


def test_adding_stops_while_it_is_saved_and_leaves_nothing(library, monkeypatch):
    stop = Cancellation()
    monkeypatch.setattr(sources, "_ROWS_AT_ONCE", 10)

    def stop_when_saving(progress):
        if progress.stage == "Saving":
            monkeypatch.setattr(sources, "_chunk_columns", lambda chunk: (stop.cancel(), columns(chunk))[1])

    columns = sources._chunk_columns
    with pytest.raises(Stopped):
        library.pipeline.add_bytes("long.txt", b"A line of it.\n" * 1000, progress=stop_when_saving, stop=stop)
    assert library.counts()[:2] == (0, 0)
    monkeypatch.setattr(sources, "_chunk_columns", columns)
    assert library.pipeline.add_bytes("long.txt", b"A line of it.\n" * 1000).passages == 1000


def test_the_files_of_a_folder_are_added_in_order(library, tmp_path):
    for number in range(7):
        (tmp_path / f"{number}.txt").write_text(f"Note {number}.")
    results = list(library.pipeline.add(str(tmp_path)))
    assert [result.title for result in results] == [f"{number}.txt" for number in range(7)]
    assert {result.status for result in results} == {"added"}


def test_refreshing_splits_again_what_was_split_in_another_way(tmp_path):
    path = tmp_path / "cats.md"
    path.write_bytes(NOTES)
    before = open_library(tmp_path / "home", counter_name="words")
    added = [before.pipeline.add_bytes("notes.md", NOTES[:-5]), before.pipeline.add_path(path)]
    assert {result.status for result in before.pipeline.refresh()} == {"unchanged"}
    before._database.close()
    after = open_library(tmp_path / "home", counter_name="characters")
    assert {result.status for result in after.pipeline.refresh()} == {"replaced"}
    assert {source.id for source in after.sources()} == {result.id for result in added}
    assert {result.status for result in after.pipeline.refresh()} == {"unchanged"}
    assert len(originals(after.home)) == 2
    after._database.close()


def test_a_removed_document_can_be_restored_whole(library):
    kept = library.pipeline.add_bytes("notes.md", NOTES)
    other = library.pipeline.add_bytes("dogs.md", b"# Dogs\nA dog barks at night.\n")
    before, passages = library.source(kept.id), library.search("Which animal sleeps?")
    library.discard([kept.id, "unknown"])
    assert [(one.id, one.title) for one in library.removed()] == [(kept.id, "notes.md")]
    assert {passage.source_id for passage in library.search("cat sleeps water whistles")} <= {other.id}
    assert library.counts()[:2] == (1, 1)
    assert library.passage(passages[0].id) is None
    library.purge_removed(older_than=60)
    library.restore([kept.id])
    assert library.source(kept.id) == before
    assert library.search("Which animal sleeps?") == passages
    assert library.original_path(kept.id).read_bytes() == NOTES
    assert library.removed() == []
    assert library.count_missing_vectors() == 0


def test_a_removal_becomes_final(library):
    kept = library.pipeline.add_bytes("notes.md", NOTES)
    library.discard([kept.id])
    assert open_library(library.home).original_path(kept.id) is None
    assert originals(library.home) == {hashlib.sha256(NOTES).hexdigest()}
    library.purge_removed()
    assert originals(library.home) == set()
    assert library.removed() == []
    with library._database.read() as connection:
        for emptied in (removed_sources, removed_passages, removed_vectors, vectors):
            assert connection.scalar(select(func.count()).select_from(emptied)) == 0
        assert connection.scalar(text("SELECT count(*) FROM passage_terms")) == 0
    with pytest.raises(NotFound, match="final"):
        library.restore([kept.id])


def test_a_removal_that_is_kept_for_longer_becomes_final_later(library, monkeypatch):
    added = library.pipeline.add_bytes("notes.md", NOTES)
    library.discard([added.id], kept_seconds=3_600)
    library.purge_removed()
    assert [one.id for one in library.removed()] == [added.id]
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 3_601)
    library.purge_removed()
    assert library.removed() == []
    assert originals(library.home) == set()


def test_a_removal_becomes_final_although_the_clock_was_ahead(library, monkeypatch):
    added = library.pipeline.add_bytes("notes.md", NOTES)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 30 * 24 * 3600)
    library.discard([added.id])
    library.purge_removed(older_than=600)
    assert [one.id for one in library.removed()] == [added.id]
    monkeypatch.setattr("time.time", lambda: now)
    library.purge_removed(older_than=600)
    assert library.removed() == []


def test_a_removed_document_that_is_there_again_is_not_restored_twice(library):
    first = library.pipeline.add_bytes("notes.md", NOTES)
    library.discard([first.id])
    second = library.pipeline.add_bytes("again.md", NOTES)
    library.restore([first.id])
    assert [source.id for source in library.sources()] == [second.id]
    assert library.removed() == []
    library.purge_removed()
    assert library.original_path(second.id).read_bytes() == NOTES


def test_a_removed_document_follows_its_collection(library):
    added = library.pipeline.add_bytes("notes.md", NOTES, collection="Old")
    library.discard([added.id])
    library.rename_collection("Old", "New")
    library.restore([added.id])
    assert library.source(added.id).collection == "New"
    library.discard([added.id])
    library.delete_collection("New")
    library.restore([added.id])
    assert library.source(added.id).collection == "New"
