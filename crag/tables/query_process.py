"""Run a statement that a model wrote in a separate process, which can be killed.

DuckDB enforces neither of its limits while a single text grows: a nested `replace` took 12 GB and four minutes under
limits of 256 MB and 5 seconds, and stopped the whole application.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import crag
from crag.cancellation import Cancellation
from crag.tables.data_table import DataTable, TableColumn, TableRow
from crag.tables.query import QueryRefused, QueryResult, run_query
from crag.types import Statement

_PROJECT_ROOT = Path(crag.__file__).parent.parent
_MEMORY = 2 << 30  # bytes of address space, of which libraries reserve most
_PROCESSOR_SECONDS = 15  # of all threads
_SECONDS = 20.0  # with the start of the process, on a busy machine


def run_written_query(sql: str, tables: Sequence[DataTable], stop: Cancellation) -> QueryResult:
    """Return the result of one SELECT over the tables. Raises `QueryRefused`, `Stopped`."""
    asked = json.dumps([sql, [asdict(table) for table in tables]]).encode()
    environment = {"PYTHONPATH": str(_PROJECT_ROOT), "PYTHONUTF8": "1", "PATH": os.defpath}
    environment |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # Windows needs it
    process = subprocess.Popen(
        [sys.executable, "-P", "-s", "-m", "crag.tables.query_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    reply = b""
    with process, stop.on_cancel(process.kill):
        try:
            reply, _ = process.communicate(asked, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    stop.check()
    try:
        found = json.loads(reply)
    except ValueError:  # it was killed, or ran out of memory
        raise QueryRefused("The query needs too much time or memory.") from None
    if isinstance(found, str):
        raise QueryRefused(found)
    return _read_result(found)


def _read_result(found: dict[str, Any]) -> QueryResult:
    used = tuple(map(_read_row, found["used"]))
    rows = tuple(map(tuple, found["rows"]))
    return QueryResult(**found | {"columns": tuple(found["columns"]), "rows": rows, "used": used})


def _read_row(row: dict[str, Any]) -> TableRow:
    parts = tuple(part and Statement(**part) for part in row["parts"])
    return TableRow(**row | {"values": tuple(row["values"]), "parts": parts})


def _read_table(table: dict[str, Any]) -> DataTable:
    columns = tuple(TableColumn(**column) for column in table["columns"])
    rows = tuple(map(_read_row, table["rows"]))
    return DataTable(**table | {"columns": columns, "rows": rows, "totals": ()})


def _limit_resources() -> None:
    with suppress(ImportError, ValueError, OSError):  # Windows has no limits, macOS rejects one; the deadline remains
        import resource

        for kind, value in (
            (resource.RLIMIT_CPU, _PROCESSOR_SECONDS),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_AS, _MEMORY),
        ):
            resource.setrlimit(kind, (value, value))


def _reply() -> None:
    """Read a statement and its tables from standard input; write the result, or why it was refused."""
    sql, tables = json.load(sys.stdin)
    _limit_resources()
    try:
        result: object = asdict(run_query(sql, [_read_table(table) for table in tables], Cancellation()))
    except QueryRefused as error:
        result = str(error)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    _reply()
