"""From bytes to chunks: parsed in the guarded child, then split."""

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
    """A document as it came. `content_type` is empty and `charset` None where nobody said them."""

    name: str
    data: bytes
    content_type: str = ""
    charset: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a document says. `pages` is None where there are none, `author` and `published` (YYYY-MM-DD) empty.

    `note` says in the user's words what is missing of it.
    Passages that were cut elsewhere name their `chunker`, and may bring the vectors of the space with the id `space`.
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
        """What it says, in chunks. Raises `SourceRefused`, `Stopped`."""
        ...


class GuardedReader:
    """Parses in a child process that can be killed, then splits into passages of at most `size` tokens."""

    def __init__(self, count_tokens: Callable[[str], int], limit_bytes: int, size: int = CHUNK_TOKENS) -> None:
        self._count_tokens = count_tokens
        self._limit_bytes = limit_bytes
        self._size = size

    def __call__(self, document: Bytes, report: Report, stop: Stop) -> Reading:
        """See `Read`."""
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
            stop.check()  # splitting counts all the time, which makes this the place where it can be stopped
            return self._count_tokens(text)

        chunks = split(parsed, count_tokens, self._size, CHUNK_OVERLAP)
        facts = (parsed.title, parsed.kind, parsed.pages, chunks, parsed.author, parsed.published)
        return Reading(*facts, note=parsed.note)
