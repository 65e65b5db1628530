"""Statements of models: the same answers as in this process, and an end to those that would take it with them."""

import resource
import threading
import time

import pytest

from crag.cancellation import Cancellation, Stopped
from crag.tables import query_process
from crag.tables.query import QueryRefused, run_query
from crag.tables.query_process import run_written_query
from tests.tables.test_query import BOATS


def chain(first: str, following: str) -> str:
    """Return a query of many parts, each made from the one before it."""
    parts = [f"a0 AS ({first})", *(f"a{at} AS ({following.replace('before', f'a{at - 1}')})" for at in range(1, 60))]
    return f"WITH {', '.join(parts)} SELECT count(*) FROM a59"  # noqa: S608


GROWING = """
    WITH a AS (SELECT 'xxxxxxxxxx' AS s), b AS (SELECT replace(s, 'x', s) AS s FROM a),
    c AS (SELECT replace(s, 'x', s) AS s FROM b), d AS (SELECT replace(s, 'x', s) AS s FROM c),
    e AS (SELECT replace(s, 'x', s) AS s FROM d) SELECT length(replace(s, 'x', s)) FROM e
"""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM table_1 ORDER BY price",
        "SELECT sum(price) FROM table_1 WHERE since > '2020-01-01'",
        "SELECT price > 500, NULL, 'é' FROM table_1",
    ],
)
def test_the_result_is_the_same_as_in_this_process(sql: str) -> None:
    assert run_written_query(sql, [BOATS], Cancellation()) == run_query(sql, [BOATS], Cancellation())


@pytest.mark.parametrize("sql", ["DROP TABLE table_1", "SELECT * FROM read_text('/etc/passwd')", "SELECT"])
def test_what_is_refused_says_why(sql: str) -> None:
    with pytest.raises(QueryRefused) as here:
        run_query(sql, [BOATS], Cancellation())
    with pytest.raises(QueryRefused) as there:
        run_written_query(sql, [BOATS], Cancellation())
    assert str(there.value) == str(here.value)


def test_a_text_that_grows_without_end_takes_bounded_memory() -> None:
    with pytest.raises(QueryRefused):
        run_written_query(GROWING, [BOATS], Cancellation())
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 << 20  # kilobytes


@pytest.mark.parametrize(
    "sql",
    [
        chain("SELECT 1 AS s", "SELECT row(s, s) AS s FROM before"),
        chain("SELECT 1 AS s", "SELECT *, * FROM before"),
        chain("SELECT 1 AS s", "SELECT x.s FROM before x, before y"),
    ],
    ids=["nested rows", "columns", "joins"],
)
def test_a_query_that_is_never_planned_is_killed(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_process, "_SECONDS", 0.5)
    with pytest.raises(QueryRefused, match="too much time or memory"):
        run_written_query(sql, [BOATS], Cancellation())


def test_stop_kills_it() -> None:
    stop, began = Cancellation(), time.monotonic()
    timer = threading.Timer(0.2, stop.cancel)
    timer.start()
    with pytest.raises(Stopped):
        run_written_query(chain("SELECT 1 AS s", "SELECT row(s, s) AS s FROM before"), [BOATS], stop)
    timer.cancel()
    assert time.monotonic() - began < query_process._SECONDS / 2
