"""Collections exported and imported: LangChain's folders, read and written by LangChain, and JSON Lines."""

import json
import os

import pytest
from sqlalchemy import update

from crag.errors import BadRequest
from crag.storage.tables import sources
from tests.sharing.contents import only, passages
from tests.sharing.langchain import load


def test_langchain_reads_what_is_exported(exchange, filled, embedder, tmp_path, caplog):
    assert exchange.export(tmp_path / "out", "langchain") == 6
    assert not [one for one in caplog.records if one.name != "crag.concurrency.workers"]  # of other tests
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"index.faiss", "index.pkl", "space.json"}
    store = load(tmp_path / "out", embedder)
    for query in ("Which animal sleeps all day?", "whistles", "rinse"):
        found, score = store.similarity_search_with_score(query, k=1)[0]
        nearest = filled.search(query, k=1)[0]
        assert (found.page_content, found.metadata["passage_id"]) == (nearest.text, nearest.id)
        apart = embedder.embed_query(query) - embedder.embed_documents([f"{nearest.heading}\n{nearest.text}"])[0]
        assert nearest.heading == "" or score == pytest.approx(float(apart @ apart), abs=1e-5)
    rinse = store.similarity_search("rinse twice", k=1)[0]
    assert {name: rinse.metadata[name] for name in ("source", "title", "page", "heading")} == {
        "source": "kettles.md",
        "title": "kettles.md",
        "page": 2,
        "heading": "Kettles",
    }


def test_the_question_that_found_a_document_is_not_exported_to_others(exchange, filled, tmp_path):
    with filled._database.write() as connection:
        connection.execute(update(sources).values(found_by="Whose kettle?"))
    exchange.export(tmp_path / "all", "jsonl")
    exchange.for_user("ben").export(tmp_path / "bens", "jsonl")
    assert "Whose kettle?" in (tmp_path / "all").read_text()
    assert "Whose kettle?" not in (tmp_path / "bens").read_text()


def test_exporting_embeds_nothing_again_and_one_collection_alone(exchange, filled, embedder, tmp_path):
    before = embedder.embedded
    assert exchange.export(tmp_path / "out", "langchain", collection="Animals") == 2
    assert embedder.embedded == before
    assert load(tmp_path / "out", embedder).index.ntotal == 2


def test_what_is_there_is_never_written_over(exchange, filled, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        for format_ in ("langchain", "jsonl"):
            with pytest.raises(BadRequest, match="already exists"):
                exchange.export(tmp_path / name, format_)
    assert list((tmp_path / "there").iterdir()) == []


def test_nothing_is_not_exported(exchange, tmp_path):
    with pytest.raises(BadRequest, match="nothing to export"):
        exchange.export(tmp_path / "out", "jsonl")
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


@pytest.mark.parametrize(("format_", "vectors"), [("langchain", False), ("jsonl", False), ("jsonl", True)])
def test_a_round_trip_keeps_every_passage(exchange, exchange_of, filled, other, embedder, tmp_path, format_, vectors):
    exchange.export(tmp_path / "out", format_, vectors=vectors)
    before = embedder.embedded
    results = list(exchange_of(other).import_passages(tmp_path / "out", collection="Back"))
    assert [(result.title, result.status, result.passages) for result in results] == [
        ("kettles.md", "added", 4),
        ("cats.md", "added", 2),
    ]
    assert passages(other) == passages(filled)
    assert [source.collection for source in other.sources()] == ["Back", "Back"]
    assert (embedder.embedded == before) == (format_ == "langchain" or vectors)
    again = list(exchange_of(other).import_passages(tmp_path / "out", collection="Back"))
    assert {result.status for result in again} == {"unchanged"}
    home = list(exchange.import_passages(tmp_path / "out"))
    assert [result.status for result in home] == ["unchanged", "added"]  # the second was not in this collection


def test_what_was_imported_goes_out_and_in_again_unchanged(exchange_of, filled, other, tmp_path):
    exchange_of(filled).export(tmp_path / "first", "jsonl")
    list(exchange_of(other).import_passages(tmp_path / "first"))
    exchange_of(other).export(tmp_path / "second", "jsonl")
    assert {result.status for result in exchange_of(other).import_passages(tmp_path / "second")} == {"unchanged"}


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ([[13, 4], [24, 6]], ((13, 4), (24, 6))),
        ([[13, 4], [12, 5]], ()),
        ([[13, 3]], ()),
        ([[13]], ()),
        ([[13, "4"]], ()),
        ("13", ()),
    ],
)
def test_pages_within_a_passage_are_kept(exchange_of, other, tmp_path, stated, kept):
    line = {"text": "A cat sleeps. A cat purrs. A cat eats.", "metadata": {"page": 3, "page_starts": stated}}
    (tmp_path / "lines").write_text(json.dumps(line))
    (added,) = exchange_of(other).import_passages(tmp_path / "lines")
    (passage,) = other.search("cat", k=1)
    assert passage.page_starts == kept
    assert added.pages == max(3, *(page for _, page in kept), 3)
    exchange_of(other).export(tmp_path / "out", "jsonl")
    exported = json.loads((tmp_path / "out").read_text())["metadata"]
    assert exported.get("page_starts", []) == [list(one) for one in kept]


def test_vectors_of_another_space_or_unsound_ones_are_made_anew(
    exchange, exchange_of, filled, other, embedder, tmp_path
):
    exchange.export(tmp_path / "lines", "jsonl", vectors=True)
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    for n, spoil in enumerate(({"space": "another"}, {"vector": [float("nan")] * 64}, {"vector": [1.0, 0.0]})):
        path = tmp_path / f"spoiled-{n}"
        path.write_text("".join(json.dumps(line | spoil) + "\n" for line in lines))
        before = embedder.embedded
        results = list(exchange_of(other).import_passages(path, collection=f"Collection {n}"))
        assert [result.status for result in results] == ["added", "added"]
        assert embedder.embedded == before + 6
        nearest = other.search("whistles", k=1, collection=f"Collection {n}")
        assert [passage.text for passage in nearest] == ["It whistles when the water boils."]


def test_an_imported_source_has_no_file_to_refresh(exchange, library, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("A stranger's folder may not name this.")
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps({"text": "A cat sleeps.", "metadata": {"source": str(secret), "page": 3}}) + "\n")
    added = only(exchange.import_passages(path))
    source = library.source(added.id)
    assert (source.kind, source.location, source.pages, source.title) == ("imported", str(secret), 3, "secret.txt")
    assert only(library.pipeline.refresh([added.id])).status == "unchanged"
    assert library.search("cat", k=1)[0].text == "A cat sleeps."
    assert b"A cat sleeps." in library.original_path(added.id).read_bytes()


def test_lines_of_others_become_one_source_for_each_they_name(exchange, library, tmp_path):
    path = tmp_path / "theirs.jsonl"
    lines = [
        {"page_content": "First of a.", "metadata": {"source": "a.pdf", "page": 0}},
        {"text": "First of b.", "metadata": {"source": "https://me:secret@example.com/b"}},
        {"page_content": "Second of a.", "metadata": {"source": "a.pdf", "page": 1, "tags": ["x"], "n": None}},
        {"text": "Of nobody."},
    ]
    path.write_text("\n\n".join(json.dumps(line) for line in lines))
    assert [(one.title, one.passages, one.pages) for one in exchange.import_passages(path)] == [
        ("a.pdf", 2, 2),
        ("b", 1, None),
        ("theirs.jsonl", 1, None),
    ]
    first, second = sorted(
        (hit.page, hit.text) for hit in library.search("a first second", k=9) if hit.title == "a.pdf"
    )
    assert (first, second) == ((1, "First of a."), (2, "Second of a."))
    assert "secret" not in "".join(source.location for source in library.sources())


def test_a_whole_document_on_one_line_is_cut(exchange, library, tmp_path):
    path = tmp_path / "long.jsonl"
    paragraphs = "\n\n".join(f"Paragraph {n} speaks of topic {n} and of nothing else at all." for n in range(300))
    path.write_text(json.dumps({"text": paragraphs, "metadata": {"source": "long.txt"}}))
    assert only(exchange.import_passages(path)).passages > 5
    assert library.search("topic 123", k=1)[0].text.count("Paragraph") < 60


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no passage"),
        ("{", "Line 1 is not JSON"),
        ("[" * 100_000, "Line 1 is not JSON"),
        ('{"text": "Good."}\n{"text": " "}', "Line 2 has no text"),
        ('{"text": "Good."}\n[1]', "Line 2 has no text"),
        ('{"text": "Good.", "metadata": 3}', "metadata"),
        ('{"text": 1' + "0" * 5000 + "}", "Line 1"),
        ("\x00\xff", "Line 1 is not JSON"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(exchange, library, tmp_path, content, words):
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="latin-1")
    result = only(exchange.import_passages(path))
    assert (result.status, result.id) == ("failed", None)
    assert words in result.error.message
    assert library.sources() == []


@pytest.mark.parametrize("name", ["nowhere", "nul\x00", "home"])
def test_what_is_no_export_is_refused(exchange, library, tmp_path, name):
    result = only(exchange.import_passages(tmp_path / name))
    assert result.error.code in ("unreachable", "unsupported")


def test_a_pipe_which_may_never_end_is_refused_unread(exchange, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (result,) = exchange.import_passages(tmp_path / "pipe")
    assert "cannot be read" in str(result.error)
