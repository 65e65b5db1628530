"""Comparison of a database from elsewhere with the one that this application creates."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import Any

from sqlalchemy import Connection, create_engine

from crag.storage.migrations import migrate

# Clauses that the facts below do not show. Some change what a statement does: with ON CONFLICT REPLACE, an insert
# deletes other rows.
_CLAUSES = re.compile(r"\b(?:check|collate|conflict|strict|without)\b")
_TABLE_FACTS = (
    "SELECT * FROM pragma_table_xinfo(?)",
    "SELECT * FROM pragma_foreign_key_list(?)",
    "SELECT * FROM pragma_index_list(?)",
)


def has_own_schema(connection: Connection) -> bool:
    """Return whether the database, at the latest version, has exactly the tables, keys and indexes of a new home.

    Triggers and views, which a new home lacks, may run statements of their own; foreign keys may delete rows.
    """
    return describe_schema(_driver_connection(connection)) == _new_schema()


def describe_schema(connection: sqlite3.Connection) -> dict[str, list[Any]]:
    """Return the facts of every table, index, trigger and view by name; not how a table's statement is spelled."""
    objects = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {name: [kind, *_describe_object(connection, kind, name, sql)] for kind, name, sql in objects}


def _describe_object(connection: sqlite3.Connection, kind: str, name: str, sql: str | None) -> list[Any]:
    if kind == "index":  # an index of a UNIQUE constraint has no statement
        columns = connection.execute("SELECT name, desc, coll FROM pragma_index_xinfo(?)", (name,)).fetchall()
        return [columns, _normalize(sql)]
    if kind == "table" and not _normalize(sql).startswith("create virtual"):
        facts = (connection.execute(fact, (name,)) for fact in _TABLE_FACTS)
        return [_CLAUSES.findall(_normalize(sql)), *(sorted((row[1:] for row in rows), key=repr) for rows in facts)]
    return [_normalize(sql)]


def _normalize(sql: str | None) -> str:
    return " ".join((sql or "").lower().replace('"', "").split())


@cache
def _new_schema() -> dict[str, list[Any]]:
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            migrate(connection)
            return describe_schema(_driver_connection(connection))
    finally:
        engine.dispose()


def _driver_connection(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 — the only database that this application uses
    return driver
