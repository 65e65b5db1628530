"""Notes by models on parts of documents, with which an interrupted summary resumes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

from sqlalchemy import delete, insert, select

from crag.errors import HomeFault
from crag.storage.engine import Database
from crag.storage.tables import summary_parts

_MAX_PARTS = 5_000  # a few hundred characters each


class SummaryParts:
    """The notes on each part, by the model's fingerprint and the digest of its prompt.

    They are deleted with any of the documents that they are about. The oldest give way to new ones.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, model: str, prompt: str) -> str | None:
        """Return the notes, or None if there are none."""
        its = summary_parts.c
        with self._database.read() as connection:
            return connection.scalar(select(its.notes).where(its.model == model, its.prompt == prompt))

    def put(self, model: str, prompt: str, notes: str, source_ids: Iterable[str]) -> None:
        """Store notes on these documents. Where they cannot be stored, the part is only read again."""
        values = {"model": model, "prompt": prompt, "notes": notes, "sources": " ".join(sorted(set(source_ids)))}
        same = (summary_parts.c.model == model) & (summary_parts.c.prompt == prompt)
        newest = select(summary_parts.c.added_at).order_by(summary_parts.c.added_at.desc())
        oldest_kept = newest.offset(_MAX_PARTS - 1).limit(1).scalar_subquery()
        with suppress(HomeFault), self._database.write() as connection:
            connection.execute(delete(summary_parts).where(same | (summary_parts.c.added_at < oldest_kept)))
            connection.execute(insert(summary_parts).values(**values, added_at=time.time()))
