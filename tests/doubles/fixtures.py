"""A scripted Ollama, a database, and a library on an empty home, with the small embedder and reader."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crag.library.library import Library
from crag.storage.engine import Database
from tests.crashing import NOTES
from tests.doubles.library import HashEmbedder, LineReader, open_library
from tests.doubles.ollama import ScriptedOllama


@pytest.fixture
def ollama() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as server:
        yield server


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def reader() -> LineReader:
    return LineReader()


@pytest.fixture
def reopen(tmp_path: Path, embedder: HashEmbedder, reader: LineReader) -> Iterator[Callable[..., Library]]:
    """Opens the same home once more, as another process would; closed at the end."""
    opened = []

    def again(**options: object) -> Library:
        opened.append(open_library(tmp_path / "home", **({"embedder": embedder, "read": reader} | options)))
        return opened[-1]

    yield again
    for library in opened:
        library._database.close()


@pytest.fixture
def library(reopen: Callable[..., Library]) -> Library:
    return reopen()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of a hundred passages."""
    path = tmp_path / "data.txt"
    path.write_bytes(NOTES)
    return path
