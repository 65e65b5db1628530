"""From bytes to chunks: parsed in the guarded child, then cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from crag.library.adding.cutters import Cutters
from crag.library.adding.split import Chunk
from crag.progress import Report
from crag.protocols import Vectors
from crag.stopping import Stop
from crag.types import Progress


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
    `terms` are the search terms of each chunk; empty, they are still to be cut. Passages that were cut elsewhere name
    their `chunker`, and may bring the vectors of the space with the id `space`.
    """

    title: str
    kind: str
    pages: int | None
    chunks: Sequence[Chunk]
    terms: Sequence[str] = ()
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
    """Parses in a child process that can be killed, then cuts by tokens."""

    def __init__(self, cutters: Cutters, limit_bytes: int) -> None:
        self._cutters = cutters
        self._limit_bytes = limit_bytes

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
        done = self._cutters.cut(parsed, stop)
        return Reading(
            parsed.title, parsed.kind, parsed.pages, done.chunks, done.terms, parsed.author, parsed.published
        )
