"""A file of passages as a collection: stable names, the same text as a text file, cheap to add again."""

import json

import pytest

from crag.cancellation import Cancellation
from crag.errors import BadRequest, Stopped
from crag.evaluation.corpus import add_corpus
from crag.evaluation.scorers import is_from_source
from crag.ingest.reader import GuardedReader
from crag.models.token_counts import count_passage_tokens
from crag.types import Progress
from tests.doubles.library import HashEmbedder, open_library

ROWS = [
    {"id": "v-7", "title": "Victoria", "text": "Victoria has cold winters.\n\nSnow falls in July."},
    {"id": "v-71", "title": "AC/DC: live", "text": "They played in Melbourne."},
    {"id": 3, "text": "They played in Melbourne."},
]


@pytest.fixture
def library(tmp_path):
    library = open_library(tmp_path / "home", read=GuardedReader(count_passage_tokens, 1_000_000))
    yield library
    library._database.close()


def written(tmp_path, rows):
    file = tmp_path / "corpus.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return file


def test_each_passage_is_a_document_that_its_id_finds(library, tmp_path):
    seen: list[Progress] = []
    ids = add_corpus(library, written(tmp_path, ROWS), "set", seen.append)
    titles = {id_: library.source(source_id).title for id_, source_id in ids.items()}
    assert titles == {"v-7": "Victoria v-7.txt", "v-71": "DC: live v-71.txt", "3": "untitled 3.txt"}
    assert [one.done for one in seen] == [1, 2, 3]
    assert {source.collection for source in library.sources()} == {"set"}
    found = library.search("cold winters in Victoria", collection="set")
    assert [one.title for one in found if is_from_source(one, "v-7")] == ["Victoria v-7.txt"]


def test_what_two_passages_say_alike_is_found_under_both_ids(library, tmp_path):
    add_corpus(library, written(tmp_path, ROWS), "set")
    found = library.search("They played in Melbourne", collection="set")
    assert all(any(is_from_source(one, id_) for one in found) for id_ in ("v-71", "3"))


def test_a_passage_is_cut_as_the_same_text_in_a_file(library, tmp_path):
    text = "\n\n".join(f"Sentence number {n} says a little more than the one before it. " * 4 for n in range(30))
    (id_,) = add_corpus(library, written(tmp_path, [{"id": "a", "text": text}]), "set").values()
    added = library.pipeline.add_bytes("a.txt", text.strip().encode(), collection="file")
    assert library.source(id_).passages == added.passages > 3


def test_what_is_there_stays_and_what_changed_takes_its_place(library, tmp_path):
    before = add_corpus(library, written(tmp_path, ROWS), "set")
    seen: list[Progress] = []
    assert add_corpus(library, written(tmp_path, ROWS), "set", seen.append) == before
    assert seen == []
    changed = [{**ROWS[0], "text": "Victoria has mild winters."}, *ROWS[1:]]
    after = add_corpus(library, written(tmp_path, changed), "set")
    assert after == before
    assert len(library.sources("set")) == 3
    assert "mild" in library.search("winters in Victoria", k=1)[0].text


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"id": "b"}, "Line 4: text must be text"),
        ({"id": "b", "text": " \x00"}, "Line 4: text and id are needed"),
        ({"id": None, "text": "t"}, "Line 4: id must be text"),
        ({"id": "x" * 81, "text": "t"}, "Line 4: text and id are needed"),
        ({"id": "b", "text": "t", "title": ["x"]}, "Line 4: title must be text"),
        ({"id": "v-7", "text": "t"}, "Line 4: id was given"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_added(library, tmp_path, row, why):
    with pytest.raises(BadRequest, match=why):
        add_corpus(library, written(tmp_path, [*ROWS, row]), "set")
    assert library.sources() == []


def test_a_file_without_passages_or_under_no_name_is_refused(library, tmp_path):
    with pytest.raises(BadRequest, match="no passage"):
        add_corpus(library, written(tmp_path, []), "set")
    with pytest.raises(BadRequest):
        add_corpus(library, written(tmp_path, ROWS), " ")


def test_no_name_of_a_stranger_becomes_a_place_to_read_again(library, tmp_path):
    rows = [{"id": "/etc/passwd", "text": "a"}, {"id": "b", "title": "http://127.0.0.1/x", "text": "b"}]
    ids = add_corpus(library, written(tmp_path, rows), "set")
    assert {one.status for one in library.pipeline.refresh(list(ids.values()))} == {"unchanged"}


def test_it_is_stopped_and_gone_on_with(library, tmp_path):
    rows = [{"id": n, "text": f"Passage number {n}."} for n in range(40)]
    stop = Cancellation()

    def report(progress):
        if progress.done == 3:
            stop.cancel()

    with pytest.raises(Stopped):
        add_corpus(library, written(tmp_path, rows), "set", report, stop)
    assert 3 <= len(library.sources()) < 40
    assert len(add_corpus(library, written(tmp_path, rows), "set")) == len(library.sources()) == 40


def test_what_cannot_be_embedded_is_said_with_its_passage(tmp_path):
    embedder = HashEmbedder()
    library = open_library(tmp_path / "home", embedder=embedder)
    embedder.gone = True
    with pytest.raises(BadRequest, match="Passage v-7 was not added"):
        add_corpus(library, written(tmp_path, ROWS), "set")
    library._database.close()
