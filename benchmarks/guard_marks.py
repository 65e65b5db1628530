"""Plugin of pytest: note which test reaches which guard and how long each test that passes takes, or run chosen tests.

Notes go to the file that `GUARD_MARKS` names: a line for each, so that every process that a test starts can add to it.
The file that `GUARD_TESTS` names lists the tests to run, in this order; those that do not exist are left out.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

_noted: set[tuple[str, str]] = set()


def mark(guard: str) -> None:
    """Note that the current test reaches this guard."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (test, guard) not in _noted:
        _noted.add((test, guard))
        _append(guard, test)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the chosen tests."""
    if path := os.environ.get("GUARD_TESTS"):
        places = {test: place for place, test in enumerate(Path(path).read_text(encoding="utf-8").splitlines())}
        items[:] = sorted((one for one in items if one.nodeid in places), key=lambda one: places[one.nodeid])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the seconds of a test that has passed."""
    if report.when == "call" and report.passed:
        _append(f"{report.duration:.3f}", report.nodeid)


def _append(*values: str) -> None:
    if path := os.environ.get("GUARD_MARKS"):
        with suppress(OSError), open(path, "a", encoding="utf-8") as marks:  # noqa: PTH123 — before pathlib can be imported
            marks.write("\t".join(values) + "\n")
