"""Copies a home from one database to another, SQLite or PostgreSQL, and compares the two row by row."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, TableClause, column, func, insert, select, table, text

from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault
from crag.storage.engine import Database, defer_foreign_keys, insert_into
from crag.storage.files import Originals
from crag.storage.shared_files import open_shared_files
from crag.storage.tables import (
    RUN_ORDER,
    conversations,
    file_pieces,
    jobs,
    metadata,
    preferences,
    removed_sources,
    runs,
    sources,
)
from crag.types import Progress, ProgressCallback

_TERMS = table("passage_terms", column("rowid"), column("terms"))  # the full-text index
_TABLES: tuple[TableClause, ...] = (*(one for one in metadata.sorted_tables if one is not file_pieces), _TERMS)
_ROWS_AT_ONCE = 500
_MARK = "move"  # name of the preference that says which home a target is being filled from

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What was copied: rows of all tables, and original files. `missing`: originals that the source itself lacked."""

    rows: int
    originals: int
    missing: int


def move_home(source: Database, target: Database, report: ProgressCallback, stop: Cancellation) -> MoveReport:
    """Copy everything, then compare each row. The source stays as it is; what is copied again is copied once.

    Nothing else may use either of them meanwhile. Raises `BadRequest` if the target holds another home or the source is
    at work, `HomeFault` if a row differs in the end, `Stopped`.
    """
    _check_idle(source)
    _mark(source, target)
    with source.snapshot() as reading:
        for number, one in enumerate(_TABLES):
            report(Progress(f"Copying {one.name}", number, len(_TABLES)))
            _copy_table(reading, target, one, stop)
        _copy_counters(reading, target)
        originals, missing = _copy_files(source, target, report, stop)
        rows = 0
        for number, one in enumerate(_TABLES):
            report(Progress(f"Comparing {one.name}", number, len(_TABLES)))
            rows += _compare_table(reading, target, one, stop)
    return MoveReport(rows, originals, missing)


def _check_idle(source: Database) -> None:
    at_work = (runs, runs.c.state == "running"), (jobs, jobs.c.state.in_(("waiting", "working")))
    with source.read() as connection:
        for one, condition in at_work:
            if connection.scalar(select(func.count()).select_from(one).where(condition)):
                raise BadRequest(
                    "An answer or a document is still being worked on.", "Stop the application, then try again."
                )


def _mark(source: Database, target: Database) -> None:
    """Note in both what is being moved, so that an interrupted move goes on and two homes never mix."""
    marked = select(preferences.c.value).where(preferences.c.name == _MARK)
    with source.write() as connection:
        if (mark := connection.scalar(marked)) is None:
            mark = secrets.token_hex(8)
            connection.execute(insert(preferences), {"name": _MARK, "value": mark})
    with target.write() as connection:
        found = connection.scalar(marked)
        if found is None and all(not _count(connection, one) for one in (sources, conversations, preferences)):
            connection.execute(insert(preferences), {"name": _MARK, "value": mark})
        elif found != mark:
            raise BadRequest("The target already holds other data; nothing was copied.", "Choose an empty one.")


def _count(connection: Connection, one: TableClause) -> int:
    return connection.scalar(select(func.count()).select_from(one)) or 0


def _copy_table(reading: Connection, target: Database, one: TableClause, stop: Cancellation) -> None:
    columns = [found.name for found in one.c]
    batches = _read_batches(reading, one, RUN_ORDER if one is runs else None)
    if one is runs:  # an answer may refer to a later one
        batches = iter([[row for batch in batches for row in batch]])
    for batch in batches:
        stop.check()
        values = [dict(zip(columns, row, strict=True)) for row in batch]
        with target.write() as connection:
            defer_foreign_keys(connection)
            if one is _TERMS:
                known = set(
                    connection.scalars(select(_TERMS.c.rowid).where(_TERMS.c.rowid.in_([row[0] for row in batch])))
                )
                if values := [row for row in values if row["rowid"] not in known]:
                    connection.execute(insert(_TERMS), values)
            elif values:
                connection.execute(insert_into(connection, metadata.tables[one.name]).on_conflict_do_nothing(), values)


def _read_batches(connection: Connection, one: TableClause, order: Any = None) -> Iterator[list[Row]]:
    query: Select[Any] = select(*one.c).order_by(*_keys(one) if order is None else [order])
    found = connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE))
    for batch in found.partitions():
        yield [tuple(row) for row in batch]


def _keys(one: TableClause) -> list[Any]:
    return [_TERMS.c.rowid] if one is _TERMS else [one.c[key.name] for key in metadata.tables[one.name].primary_key]


def _compare_table(reading: Connection, target: Database, one: TableClause, stop: Cancellation) -> int:
    """Return the number of rows. Raises `HomeFault` if any row differs."""
    with target.snapshot() as connection:
        (count, here), (_, there) = (_digest(where, one, stop) for where in (reading, connection))
    if here != there:
        raise HomeFault(f"The copy of “{one.name}” differs from its source.", "Empty the target, then move again.")
    return count


def _digest(connection: Connection, one: TableClause, stop: Cancellation) -> tuple[int, str]:
    count, digest = 0, hashlib.sha256()
    for batch in _read_batches(connection, one):
        stop.check()
        count += len(batch)
        for row in batch:
            digest.update(repr(row).encode())
    return count, digest.hexdigest()


def _copy_counters(reading: Connection, target: Database) -> None:
    """Let ids go on where the source would have: none may be used again."""
    with target.write() as connection:
        for one in metadata.sorted_tables:
            if one.dialect_kwargs.get("sqlite_autoincrement"):
                (key,) = one.primary_key
                last = _read_counter(reading, one.name) or reading.scalar(select(func.max(key))) or 0
                _write_counter(connection, one.name, key.name, last)


def _read_counter(connection: Connection, name: str) -> int | None:
    if connection.dialect.name == "sqlite":
        read = text("SELECT seq FROM sqlite_sequence WHERE name = :name").bindparams(name=name)
    else:
        read = text(
            "SELECT last_value FROM pg_sequences WHERE schemaname = current_schema() AND sequencename LIKE :pattern"
        ).bindparams(pattern=f"{name}\\_%\\_seq")
    found: int | None = connection.scalar(read)
    return found


def _write_counter(connection: Connection, name: str, key: str, last: int) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT setval(:counter, :last)"), {"counter": f"{name}_{key}_seq", "last": max(1, last)}
        )
    elif last:
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": name})
        connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), {"name": name, "last": last}
        )


def _copy_files(source: Database, target: Database, report: ProgressCallback, stop: Cancellation) -> tuple[int, int]:
    """Copy the originals; return how many there are, and how many the source lacks."""
    here, there = (Originals(one.home, open_shared_files(one, "original")) for one in (source, target))
    with source.read() as connection:
        digests = sorted(
            {*connection.scalars(select(sources.c.sha256)), *connection.scalars(select(removed_sources.c.sha256))}
        )
    copied = 0
    for number, digest in enumerate(digests):
        stop.check()
        report(Progress("Copying originals", number, len(digests)))
        if path := here.path(digest):
            there.keep(digest, path.read_bytes())
            copied += 1
    return copied, len(digests) - copied
