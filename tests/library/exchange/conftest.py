"""Two homes, what exchanges collections between them, and a backup of the first."""

import pytest

from crag.sharing.passage_exchange import PassageExchange
from tests.doubles.library import open_library
from tests.library.exchange.backups import NOTES, save
from tests.library.exchange.contents import CATS, KETTLES


@pytest.fixture
def exchange_of():
    return lambda library: PassageExchange(library._database, library, lambda text: len(text.split()))


@pytest.fixture
def exchange(library, exchange_of):
    return exchange_of(library)


@pytest.fixture
def filled(library):
    library.add_bytes("kettles.md", KETTLES)
    library.add_bytes("cats.md", CATS, collection="Animals")
    return library


@pytest.fixture
def other(tmp_path, reopen, embedder, reader):
    """A second home."""
    opened = open_library(tmp_path / "other", embedder=embedder, read=reader)
    yield opened
    opened._database.close()


@pytest.fixture
def saved(library, tmp_path):
    """A backup of a home with two documents."""
    library.add_bytes("notes.md", NOTES)
    library.add_bytes("cats.md", b"A cat sleeps all day.\n", collection="Animals")
    save(library, tmp_path / "saved.backup")
    return tmp_path / "saved.backup"
