"""Page starts of passages from before they were recorded."""

import pytest
from sqlalchemy import text

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.reader import ReadDocument
from crag.types import Chunk
from tests.doubles.library import open_library

CHUNKS = (
    Chunk("Cats sleep all day.\n\nDogs bark at cats.", 1, "", 0, 0, 0, ((21, 2),)),
    Chunk("Owls fly by night.", 2, "", 1, 1, 1),
    Chunk("Cows low.\n\nBees dance.\n\nAnts dig.", 3, "", 2, 2, 2, ((11, 4), (24, 5))),
)


class Reader:
    """Returns the chunks, or raises the refusal if one is set."""

    def __init__(self, chunks):
        self.chunks = chunks
        self.calls = 0
        self.refusal = None

    def __call__(self, document, report, stop):
        self.calls += 1
        if self.refusal:
            raise self.refusal
        return ReadDocument("Animals", "pdf", 5, self.chunks)


@pytest.fixture
def reader():
    return Reader(CHUNKS)


@pytest.fixture
def old_home(tmp_path, reader):
    """A home whose passages know only their first page."""
    library = open_library(tmp_path / "home", read=reader)
    library.pipeline.add_bytes("animals.pdf", b"%PDF")
    with library._database.write() as connection:
        connection.execute(text("UPDATE passages SET page_starts = NULL"))
    yield library
    library._database.close()


def page_starts(library):
    return [library.passage(number).page_starts for number in (1, 2, 3)]


def test_they_are_read_from_the_file_once(old_home, reader):
    assert page_starts(old_home) == [(), (), ()]
    for _ in range(2):
        old_home.fill_page_starts(Cancellation())
    assert page_starts(old_home) == [chunk.page_starts for chunk in CHUNKS]
    assert old_home.passage(3).page_of("Bees dance.") == 4
    assert reader.calls == 2  # the first added the document


def test_passages_of_another_length_are_found_by_their_letters(old_home, reader):
    reader.chunks = (
        Chunk("Cats sleep all day. Dogs bark at cats. Owls fly by night.", 1, "", 0, 0, 0, ((20, 2),)),
        Chunk("Cows low.", 3, "", 1, 1, 1),
        Chunk("Bees dance. Ants dig.", 4, "", 2, 2, 2, ((12, 5),)),
    )
    old_home.fill_page_starts(Cancellation())
    assert page_starts(old_home) == [chunk.page_starts for chunk in CHUNKS]


def test_a_file_that_cannot_be_read_any_more_is_tried_once(old_home, reader):
    reader.refusal = SourceRefused("corrupt", "It is damaged.", "Add another copy.")
    for _ in range(2):
        old_home.fill_page_starts(Cancellation())
    assert page_starts(old_home) == [(), (), ()]
    assert reader.calls == 2
