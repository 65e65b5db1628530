"""Files in pieces in the PostgreSQL database, for processes on several machines."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Literal

from sqlalchemy import delete, func, select

from crag.storage.engine import Database, insert_into
from crag.storage.tables import file_pieces

FileKind = Literal["original", "upload", "key"]
_PIECE_BYTES = 1 << 20
_RECENT_SECONDS = 3600.0


class SharedFiles:
    """The files of one kind by name. Every method raises `HomeFault`."""

    def __init__(self, database: Database, kind: FileKind) -> None:
        self._database = database
        self._own = file_pieces.c.kind == kind
        self._kind = kind

    def put(self, name: str, data: bytes) -> None:
        """Store a file in one commit, unless there is one of this name."""
        with self._database.write(alone=False) as connection:  # the caller may hold the lock of writers
            for number, start in enumerate(range(0, max(1, len(data)), _PIECE_BYTES)):
                values = {"number": number, "piece": data[start : start + _PIECE_BYTES], "added_at": time.time()}
                row = insert_into(connection, file_pieces).values(kind=self._kind, name=name, **values)
                connection.execute(row.on_conflict_do_nothing())

    def get(self, name: str) -> bytes | None:
        """Return the bytes of a file, or None if it does not exist."""
        query = select(file_pieces.c.piece).where(self._own, file_pieces.c.name == name).order_by(file_pieces.c.number)
        with self._database.snapshot() as connection:
            pieces = connection.scalars(query).all()
        return b"".join(pieces) if pieces else None

    def holds(self, name: str) -> bool:
        """Return whether there is a file of this name."""
        query = select(func.count()).where(self._own, file_pieces.c.name == name)
        with self._database.read() as connection:
            return bool(connection.scalar(query))

    def remove(self, name: str) -> None:
        """Delete a file."""
        with self._database.write(alone=False) as connection:
            connection.execute(delete(file_pieces).where(self._own, file_pieces.c.name == name))

    def keep_only(self, names: Collection[str]) -> None:
        """Delete other files, except recent ones, which nothing may refer to yet."""
        unused = self._own & file_pieces.c.name.not_in(names) & (file_pieces.c.added_at < time.time() - _RECENT_SECONDS)
        with self._database.write(alone=False) as connection:
            connection.execute(delete(file_pieces).where(unused))


def open_shared_files(database: Database, kind: FileKind) -> SharedFiles | None:
    """Return the files that processes on other machines can read; None where all processes use one folder."""
    return None if database.is_one_file else SharedFiles(database, kind)
