"""Where pages begin in passages that were stored before this was recorded, from the original files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select, update

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.intake import IMPORTED_KIND
from crag.ingest.reader import DocumentReader, RawDocument
from crag.storage.engine import Database
from crag.storage.files import Originals
from crag.storage.passages import encode_page_starts
from crag.storage.tables import passages, sources
from crag.types import Chunk, PageStarts, ignore_progress


def fill_page_starts(database: Database, originals: Originals, read: DocumentReader, stop: Cancellation) -> None:
    """Record the page starts of all passages that lack them, document by document. Raises `Stopped`.

    A document whose file is gone or can no longer be read keeps the first page of each passage.
    """
    with database.read() as connection:
        lacking = select(passages.c.source_id).where(passages.c.page_starts.is_(None))
        found = connection.execute(select(sources).where(sources.c.id.in_(lacking))).all()
    for source in found:
        stop.check()
        chunks = _read_again(source, originals, read, stop) if _may_cross_pages(source) else []
        _record(database, source.id, chunks)


def _may_cross_pages(source: Row[Any]) -> bool:
    return (source.pages or 0) > 1 and source.kind != IMPORTED_KIND


def _read_again(source: Row[Any], originals: Originals, read: DocumentReader, stop: Cancellation) -> Sequence[Chunk]:
    path = originals.path(source.sha256)
    try:
        document = RawDocument(Path(source.location).name, path.read_bytes()) if path else None
        return read(document, ignore_progress, stop).chunks if document else []
    except (SourceRefused, OSError):
        return []


def _record(database: Database, source_id: str, chunks: Sequence[Chunk]) -> None:
    letters, pages = _letters_with_pages(chunks)
    with database.write() as connection:
        rows = connection.execute(
            select(passages.c.id, passages.c.text)
            .where(passages.c.source_id == source_id, passages.c.page_starts.is_(None))
            .order_by(passages.c.ordinal)
        ).all()
        last = 0
        for row in rows:
            own = [(offset, letter) for offset, sign in enumerate(row.text) for letter in _letters(sign)]
            wanted = "".join(letter for _, letter in own)
            at = next((found for begin in (last, 0) if (found := letters.find(wanted, begin)) >= 0), -1)
            starts = _find_page_starts([offset for offset, _ in own], pages[at : at + len(own)]) if at >= 0 else ()
            last = at + len(own) if at >= 0 else last
            connection.execute(
                update(passages).where(passages.c.id == row.id).values(page_starts=encode_page_starts(starts))
            )


def _letters_with_pages(chunks: Sequence[Chunk]) -> tuple[str, list[int | None]]:
    """Return the letters of a document, which no way of splitting it changes, and the page of each."""
    letters: list[str] = []
    pages: list[int | None] = []
    for chunk in chunks:
        starts = ((0, chunk.page), *(chunk.page_starts or ()))
        ends = (*(start for start, _ in starts[1:]), len(chunk.text))
        for (start, page), end in zip(starts, ends, strict=True):
            part = _letters(chunk.text[start:end])
            letters.append(part)
            pages += [page] * len(part)
    return "".join(letters), pages


def _find_page_starts(offsets: Sequence[int], pages: Sequence[int | None]) -> PageStarts:
    return tuple((offsets[n], page) for n, page in enumerate(pages) if n and page is not None and page != pages[n - 1])


def _letters(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
