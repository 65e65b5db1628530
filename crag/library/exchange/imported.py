"""Conversion of one source's passage lines to ingest input: its bytes, chunks, and vectors if given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crag.library.adding.ingest import Incoming
from crag.library.adding.intake import IMPORTED, without_password
from crag.library.adding.reading import CHUNK_OVERLAP, CHUNK_TOKENS, Bytes, Reading
from crag.library.adding.split import Chunk, CountTokens, split
from crag.library.exchange.lines import Json, Line, encode
from crag.library.parse.document import Block, Document
from crag.progress import Report
from crag.protocols import Vectors
from crag.stopping import Stop
from crag.types import Progress, Space

_CHUNKER = "imported"
_LONGEST_PASSAGE = 8_000  # characters; longer texts are whole documents rather than passages
_WIDEST_CONTEXT = 50  # passages; untrusted lines may not claim a wider context
_NEARLY_ONE = 1e-3


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """One imported source. Its lines serve as the original, because the file itself was not exported.

    `space` is the embedding space whose vectors can be used.
    """

    lines: Sequence[Line]
    space: Space
    count_tokens: CountTokens

    @property
    def sha256(self) -> str:
        """SHA-256 of the file the passages were cut from, as the lines state it; empty if they do not."""
        return self.lines[0].sha256

    def incoming(self, collection: str) -> Incoming:
        """Return the ingest input.

        The location does not identify the source, so it never replaces a source added from there.
        """
        first = self.lines[0]
        location = without_password(first.location)
        return Incoming(location, location, False, collection, Bytes(first.title, self._original()), first.found_by)

    def read(self, document: Bytes, report: Report, stop: Stop) -> Reading:
        """Return the passages unchanged, except that overlong ones are split (see `DocumentReader`)."""
        report(Progress("Splitting"))
        first = self.lines[0]
        pages = [line.page for line in self.lines if line.page]
        chunks = [chunk for line in self.lines for chunk in self._chunks(line, stop)]
        whole = len(chunks) == len(self.lines) and all(len(line.text) <= _LONGEST_PASSAGE for line in self.lines)
        contexts = [line.context for line in self.lines] if whole else [None] * len(chunks)
        vectors = self._vectors() if whole else None
        return Reading(
            title=document.name,
            kind=IMPORTED,
            pages=max(pages, default=None),
            chunks=[_placed(chunk, n, contexts[n], len(chunks)) for n, chunk in enumerate(chunks)],
            author=first.author,
            published=first.published,
            chunker=_CHUNKER,
            space=self.space.id,
            vectors=vectors,
        )

    def _vectors(self) -> Vectors | None:
        """Return one row per line, or None unless every line has a unit vector of this space."""
        import numpy as np

        given = [line.vector for line in self.lines if line.vector and line.space == self.space.id]
        if len(given) < len(self.lines) or any(len(vector) != self.space.dimension for vector in given):
            return None
        rows = np.array(given, dtype=np.float32)
        sound = bool((np.abs(np.linalg.norm(rows, axis=1) - 1) < _NEARLY_ONE).all())
        return rows if sound else None

    def _original(self) -> bytes:
        return b"".join(encode(line.text, _metadata(line)) for line in self.lines)

    def _chunks(self, line: Line, stop: Stop) -> list[Chunk]:
        if len(line.text) <= _LONGEST_PASSAGE:
            return [Chunk(line.text, line.page, line.heading, 0, 0, 0)]

        def count(text: str) -> int:
            stop.check()
            return self.count_tokens(text)

        blocks = tuple(Block(part.strip(), page=line.page) for part in line.text.split("\n\n") if part.strip())
        parts = split(Document(line.title, "text", None, blocks), count, CHUNK_TOKENS, CHUNK_OVERLAP)
        return [replace(part, heading=line.heading) for part in parts]


def pages_from_one(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines with pages numbered from 1.

    LangChain's PDF loaders number from 0. A page 0 or a page label reveals this.
    """
    if not any(line.from_zero for line in lines):
        return lines
    return [line if line.page is None else replace(line, page=line.page + 1) for line in lines]


def _placed(chunk: Chunk, ordinal: int, context: tuple[int, int] | None, count: int) -> Chunk:
    start, end = context or (ordinal, ordinal)
    if not (0 <= start <= ordinal <= end <= start + _WIDEST_CONTEXT):
        start = end = ordinal
    end = min(end, count - 1)
    return replace(chunk, ordinal=ordinal, context_start=start, context_end=end)


def _metadata(line: Line) -> Json:
    metadata: Json = {"source": line.location, "title": line.title, "page": line.page, "heading": line.heading}
    metadata |= {"author": line.author, "published": line.published, "found_by": line.found_by, "context": line.context}
    return {name: value for name, value in metadata.items() if value}
