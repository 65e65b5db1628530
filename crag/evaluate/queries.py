"""Queries for evaluations and results, and the values made from their rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Row, Select, case, func, select, true

from crag.database.tables import evaluation_results, evaluations, runs
from crag.evaluate import bodies
from crag.evaluate.datasets.examples import Example
from crag.evaluate.values import Evaluation, Result

_results = evaluation_results.c
_SUMMARY = tuple(column for column in evaluations.c if column.name not in ("examples", "owner", "stopping"))


def visible(person: str | None) -> ColumnElement[bool]:
    """Return the condition for evaluations of this user and shared ones; None matches all."""
    return true() if person is None else evaluations.c.person.in_((person, ""))


def counted(condition: ColumnElement[bool]) -> Select[Any]:
    """Select evaluations with the numbers of their results, failed results and judgements."""
    failed = func.coalesce(func.sum(case((_results.state != "done", 1), else_=0)), 0)
    columns = (func.count(_results.number).label("done"), failed.label("failed"), func.count(_results.judged))
    joined = evaluations.outerjoin(evaluation_results, _results.evaluation_id == evaluations.c.id)
    query = select(*_SUMMARY, *columns[:2], columns[2].label("judgements")).select_from(joined)
    return query.where(condition).group_by(evaluations.c.id)


def read_evaluation(row: Row[Any]) -> Evaluation:
    """Convert a row of `select_evaluations`; the time left is extrapolated from the time spent."""
    values = dict(row._mapping)  # noqa: SLF001 — public in spite of its name
    total = row.size * row.repetitions * len(variants := bodies.load_variants(row.variants))
    left = row.seconds / row.done * (total - row.done) if row.state == "running" and row.done else None
    return Evaluation(**{**values, "variants": variants, "seconds_left": left})


def begun() -> Select[Any]:
    """Select results, each with the start time of its run."""
    began = runs.c.started_at.label("began")
    joined = evaluation_results.outerjoin(runs, runs.c.id == _results.run_id)
    return select(evaluation_results, began).select_from(joined)


def read_result(row: Row[Any], example: Example) -> Result:
    """Convert a row of `select_results`."""
    return Result(
        row.variant,
        row.number,
        row.repetition,
        example,
        row.run_id,
        row.state,
        row.error,
        bodies.load_scored(row.body),
        bodies.load_judgement(row.judged) if row.judged else None,
        None if row.label is None else bool(row.label),
        row.began or 0.0,
    )
