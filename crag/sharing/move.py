"""Copies a home from one database to another, SQLite or PostgreSQL, and compares the two row by row."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, TableClause, column, func, insert, select

from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault
from crag.storage.engine import Database, defer_foreign_keys, insert_into, store_of
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

_TERMS = TableClause("passage_terms", column("rowid"), column("terms"))  # the full-text index
_TABLES: tuple[TableClause, ...] = (*(table for table in metadata.sorted_tables if table is not file_pieces), _TERMS)
_ROWS_AT_ONCE = 500
_MARK = "move"  # preference that identifies the home from which a target is being filled

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MoveReport:
    """Numbers of copied rows and original files; `missing` originals were not in the source either."""

    rows: int
    originals: int
    missing: int


def move_home(source: Database, target: Database, report: ProgressCallback, stop: Cancellation) -> MoveReport:
    """Copy everything, then compare each row. The source stays unchanged; an interrupted move can be repeated.

    Nothing else may use the two databases meanwhile. Raises `BadRequest` if the target holds another home or the source
    is still working, `HomeFault` if a row differs in the end, `Stopped`.
    """
    _check_idle(source)
    _mark(source, target)
    with source.snapshot() as reading:
        for number, table in enumerate(_TABLES):
            report(Progress(f"Copying {table.name}", number, len(_TABLES)))
            _copy_table(reading, target, table, stop)
        _copy_counters(reading, target)
        originals, missing = _copy_files(source, target, report, stop)
        rows = 0
        for number, table in enumerate(_TABLES):
            report(Progress(f"Comparing {table.name}", number, len(_TABLES)))
            rows += _compare_table(reading, target, table, stop)
    return MoveReport(rows, originals, missing)


def _check_idle(source: Database) -> None:
    at_work = (runs, runs.c.state == "running"), (jobs, jobs.c.state.in_(("waiting", "working")))
    with source.read() as connection:
        for table, condition in at_work:
            if _count(connection, table, condition):
                raise BadRequest(
                    "An answer or a document is still being worked on.", "Stop the application, then try again."
                )


def _mark(source: Database, target: Database) -> None:
    """Mark both databases as one move, so that an interrupted move can continue and two homes never mix."""
    marked = select(preferences.c.value).where(preferences.c.name == _MARK)
    with source.write() as connection:
        if (mark := connection.scalar(marked)) is None:
            mark = secrets.token_hex(8)
            connection.execute(insert(preferences), {"name": _MARK, "value": mark})
    with target.write() as connection:
        found = connection.scalar(marked)
        if found is None and not any(_count(connection, table) for table in (sources, conversations, preferences)):
            connection.execute(insert(preferences), {"name": _MARK, "value": mark})
        elif found != mark:
            raise BadRequest(
                "The target already holds other data; nothing was copied.", "Choose an empty database or folder."
            )


def _count(connection: Connection, table: TableClause, *conditions: Any) -> int:
    return connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0


def _copy_table(reading: Connection, target: Database, table: TableClause, stop: Cancellation) -> None:
    columns = [found.name for found in table.c]
    batches = _read_batches(reading, table, RUN_ORDER if table is runs else None)
    if table is runs:  # an answer may refer to a later table
        batches = iter([[row for batch in batches for row in batch]])
    for batch in batches:
        stop.check()
        values = [dict(zip(columns, row, strict=True)) for row in batch]
        with target.write() as connection:
            defer_foreign_keys(connection)
            if table is _TERMS:
                known = {*connection.scalars(select(_TERMS.c.rowid).where(_TERMS.c.rowid.in_(row[0] for row in batch)))}
                if values := [row for row in values if row["rowid"] not in known]:
                    connection.execute(insert(_TERMS), values)
            elif values:
                connection.execute(
                    insert_into(connection, metadata.tables[table.name]).on_conflict_do_nothing(), values
                )


def _read_batches(connection: Connection, table: TableClause, order: Any = None) -> Iterator[list[Row]]:
    keys = [_TERMS.c.rowid] if table is _TERMS else [*metadata.tables[table.name].primary_key]
    query: Select[Any] = select(*table.c).order_by(*keys if order is None else [order])
    found = connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE))
    for batch in found.partitions():
        yield [tuple(row) for row in batch]


def _compare_table(reading: Connection, target: Database, table: TableClause, stop: Cancellation) -> int:
    """Return the number of rows. Raises `HomeFault` if any row differs."""
    with target.snapshot() as connection:
        (count, here), (_, there) = (_digest(where, table, stop) for where in (reading, connection))
    if here != there:
        raise HomeFault(f"The copy of “{table.name}” differs from its source.", "Empty the target, then move again.")
    return count


def _digest(connection: Connection, table: TableClause, stop: Cancellation) -> tuple[int, str]:
    count, digest = 0, hashlib.sha256()
    for batch in _read_batches(connection, table):
        stop.check()
        count += len(batch)
        for row in batch:
            digest.update(repr(row).encode())
    return count, digest.hexdigest()


def _copy_counters(reading: Connection, target: Database) -> None:
    """Continue ids where the source stopped: no id may be used twice."""
    with target.write() as connection:
        for table in metadata.sorted_tables:
            if table.dialect_kwargs.get("sqlite_autoincrement"):
                (key,) = table.primary_key
                last = store_of(reading).read_counter(reading, table) or reading.scalar(select(func.max(key))) or 0
                store_of(connection).write_counter(connection, table, last)


def _copy_files(source: Database, target: Database, report: ProgressCallback, stop: Cancellation) -> tuple[int, int]:
    """Copy the originals; return how many there are, and how many the source lacks."""
    here, there = (Originals(database.home, open_shared_files(database, "original")) for database in (source, target))
    with source.read() as connection:
        digests = sorted(
            {*connection.scalars(select(sources.c.sha256)), *connection.scalars(select(removed_sources.c.sha256))}
        )
    copied = 0
    for number, digest in enumerate(digests):
        stop.check()
        report(Progress("Copying originals", number, len(digests)))
        if path := here.path(digest):
            there.keep({digest: path.read_bytes()})
            copied += 1
    return copied, len(digests) - copied
