"""Document reader: bytes parsed in a guarded child process, then split into chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from crag.library.adding.split import Chunk, split
from crag.progress import Report
from crag.protocols import Vectors
from crag.stopping import Stop
from crag.types import Progress

CHUNK_TOKENS = 250
CHUNK_OVERLAP = 0


@dataclass(frozen=True, slots=True)
class Bytes:
    """A raw document. `content_type` is empty and `charset` None if the source did not state them."""

    name: str
    data: bytes
    content_type: str = ""
    charset: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed document in chunks. `pages` is None for formats without pages.

    `author` and `published` (YYYY-MM-DD) are empty if unknown. `note` tells the user what could not be read. Passages
    that were split elsewhere name their `chunker` and may include the vectors of the space with the id `space`.
    """

    title: str
    kind: str
    pages: int | None
    chunks: Sequence[Chunk]
    author: str = ""
    published: str = ""
    chunker: str = ""
    space: str = ""
    vectors: Vectors | None = None
    note: str = ""


class Read(Protocol):
    """Reads one document."""

    def __call__(self, document: Bytes, report: Report, stop: Stop) -> Reading:
        """Return the document in chunks. Raises `SourceRefused`, `Stopped`."""
        ...


class GuardedReader:
    """Parses in a child process that can be killed, then splits into passages of at most `size` tokens."""

    def __init__(self, count_tokens: Callable[[str], int], limit_bytes: int, size: int = CHUNK_TOKENS) -> None:
        self._count_tokens = count_tokens
        self._limit_bytes = limit_bytes
        self._size = size

    def __call__(self, document: Bytes, report: Report, stop: Stop) -> Reading:
        """See `DocumentReader`."""
        from crag.library.parse import Limits, parse

        parsed = parse(
            document.name,
            document.data,
            content_type=document.content_type,
            charset=document.charset,
            stop=stop,
            limits=Limits(size=self._limit_bytes),
            progress=report,
        )
        report(Progress("Splitting"))

        def count_tokens(text: str) -> int:
            stop.check()  # called throughout splitting, so a cancellation takes effect here
            return self._count_tokens(text)

        chunks = split(parsed, count_tokens, self._size, CHUNK_OVERLAP)
        facts = (parsed.title, parsed.kind, parsed.pages, chunks, parsed.author, parsed.published)
        return Reading(*facts, note=parsed.note)
