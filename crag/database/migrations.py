"""Numbered steps from an empty file to the present schema; a file from the future is refused."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, text

from crag.database.tables import FULL_TEXT_INDEX, metadata
from crag.errors import HomeFault


def _first(connection: Connection) -> None:
    metadata.create_all(connection)
    for statement in FULL_TEXT_INDEX:
        connection.execute(text(statement))


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first,)


def migrate(connection: Connection) -> None:
    """Brings the schema up to date within the caller's transaction. Raises `HomeFault` when it is newer."""
    version: int = connection.execute(text("PRAGMA user_version")).scalar_one()
    if version > len(MIGRATIONS):
        raise HomeFault(
            "This folder was last used by a newer version of the application; it was left as it is.",
            "Update the application, or choose another folder with CRAG_HOME.",
        )
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        step(connection)
        connection.execute(text(f"PRAGMA user_version = {number}"))
