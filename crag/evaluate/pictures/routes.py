"""Confusion matrix of routes: expected against actual actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.routes import is_answerable
from crag.evaluate.values import Result
from crag.types import Action

_ANSWERABLE, _NOT_ANSWERABLE = "answerable", "not answerable"
_ACTIONS: tuple[str, ...] = get_args(Action)
# The right actions for each expectation.
_RIGHT = {action: (action,) for action in _ACTIONS} | {
    _ANSWERABLE: ("correct", "ambiguous"),
    _NOT_ANSWERABLE: ("incorrect",),
}


@dataclass(frozen=True, slots=True)
class RouteCount:
    """Number of answers that took a route; an empty `actual` means that no action was decided."""

    expected: str
    actual: str
    count: int

    @property
    def agrees(self) -> bool:
        """Whether the action is an expected one."""
        return self.actual in _RIGHT[self.expected]


def confusion(results: Sequence[Result]) -> list[RouteCount]:
    """Count every pair of an occurring expectation and an action, including pairs that never occurred.

    Expectations are the actions named in the dataset if there are any, otherwise whether the question is answerable.
    Empty if neither is known.
    """
    named = any(result.example.action for result in results)
    pairs: list[tuple[str, str]] = [
        (expected, result.scored.action or "") for result in results if (expected := _expected(result.example, named))
    ]
    counts = Counter(pairs)
    rows = [expected for expected in _RIGHT if any(expected == one for one, _ in pairs)]
    columns = [*_ACTIONS, *({""} & {actual for _, actual in pairs})]
    return [RouteCount(row, column, counts[row, column]) for row in rows for column in columns]


def _expected(example: Example, named: bool) -> str:
    if named:
        return example.action or ""
    answerable = is_answerable(example)
    return "" if answerable is None else _ANSWERABLE if answerable else _NOT_ANSWERABLE
