"""Database rows of evaluations and their results, and the JSON stored in them."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Row, Select, case, delete, func, insert, select, true, update

from crag.errors import BadRequest, NotFound
from crag.evaluation.types import (
    ACTIVE_STATES,
    Environment,
    Evaluation,
    EvaluationKind,
    EvaluationPlan,
    EvaluationResult,
    EvaluationState,
    Example,
    Judgement,
    ScoredAnswer,
    Variant,
)
from crag.options import RunOptions, apply_changes, diff_options, dump_changes, load_changes
from crag.storage.engine import Database, is_owner_alive, replace_row
from crag.storage.tables import evaluation_results, evaluations, runs
from crag.storage.user_scope import UserScoped

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def dump_variants(variants: Sequence[Variant]) -> str:
    """Serialize variants; of the options only those that differ from the defaults."""
    return json.dumps([_variant_row(variant) for variant in variants], ensure_ascii=False)


def load_variants(text: str) -> tuple[Variant, ...]:
    """Parse variants."""
    return tuple(
        Variant(
            row["name"],
            apply_changes(RunOptions(), load_changes(json.dumps(row["options"]))),
            _type_adapter(Environment).validate_python(row["environment"]),
        )
        for row in json.loads(text)
    )


def _dump_value(value: ScoredAnswer | Judgement) -> str:
    kind: Any = type(value)
    return _type_adapter(kind).dump_json(value).decode()


def _variant_row(variant: Variant) -> dict[str, Any]:
    options = json.loads(dump_changes(diff_options(RunOptions(), variant.options)))
    return {"name": variant.name, "options": options, "environment": asdict(variant.environment)}


@cache
def _type_adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # imported late: pydantic is slow to import

    return TypeAdapter(kind)


_RESULT_COLUMNS = evaluation_results.c
_UNREAD_COLUMNS = ("examples", "owner", "stopping", "person")
_EVALUATION_COLUMNS = (
    *(column for column in evaluations.c if column.name not in _UNREAD_COLUMNS),
    evaluations.c.person.label("owner_id"),
)


def select_evaluations(condition: ColumnElement[bool]) -> Select[Any]:
    """Select evaluations with the numbers of their results, failed results and judgements."""
    failed = func.coalesce(func.sum(case((_RESULT_COLUMNS.state != "done", 1), else_=0)), 0)
    columns = (
        func.count(_RESULT_COLUMNS.number).label("done"),
        failed.label("failed"),
        func.count(_RESULT_COLUMNS.judged),
    )
    joined = evaluations.outerjoin(evaluation_results, _RESULT_COLUMNS.evaluation_id == evaluations.c.id)
    query = select(*_EVALUATION_COLUMNS, *columns[:2], columns[2].label("judgements")).select_from(joined)
    return query.where(condition).group_by(evaluations.c.id)


def evaluation_from_row(row: Row[Any]) -> Evaluation:
    """Convert a row of `select_evaluations`; the time left is extrapolated from the time spent."""
    values = dict(row._mapping)  # noqa: SLF001 — public in spite of its name
    total = row.size * row.repetitions * len(variants := load_variants(row.variants))
    left = row.seconds / row.done * (total - row.done) if row.state == "running" and row.done else None
    return Evaluation(**{**values, "variants": variants, "seconds_left": left})


def select_results() -> Select[Any]:
    """Select results, each with the start time of its run."""
    began = runs.c.started_at.label("began")
    joined = evaluation_results.outerjoin(runs, runs.c.id == _RESULT_COLUMNS.run_id)
    return select(evaluation_results, began).select_from(joined)


def result_from_row(row: Row[Any], example: Example) -> EvaluationResult:
    """Convert a row of `select_results`."""
    return EvaluationResult(
        row.variant,
        row.number,
        row.repetition,
        example,
        row.run_id,
        row.state,
        row.error,
        _type_adapter(ScoredAnswer).validate_json(row.body),
        _type_adapter(Judgement).validate_json(row.judged) if row.judged else None,
        None if row.label is None else bool(row.label),
        row.began or 0.0,
    )


ResultKey = tuple[int, int, int]  # variant, number of the example, repetition


class EvaluationRows(UserScoped):
    """All evaluations of one home. Those of a dead process count as interrupted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = database.owner_name()

    def open(self, plan: EvaluationPlan) -> str:
        """Store a plan with a copy of its examples; return its id.

        Raises `BadRequest` for pinned questions that any process is already asking.
        """
        examples = _type_adapter(tuple[Example, ...]).dump_json(tuple(plan.dataset.examples))
        row = {
            "id": uuid.uuid4().hex,
            "name": plan.name or plan.dataset.name,
            "kind": plan.kind,
            "dataset": plan.dataset.name,
            "dataset_id": plan.dataset.id,
            "digest": hashlib.sha256(examples).hexdigest()[:12],
            "size": len(plan.dataset.examples),
            "examples": zlib.compress(examples),
            "variants": dump_variants(plan.variants),
            "repetitions": plan.repetitions,
            "judge": plan.judge,
            "parallel": plan.parallel,
            "person": plan.owner_id if self._user is None else self._user,
            "state": "queued",
            "owner": self._owner,
            "started_at": time.time(),
        }
        with self._database.write() as connection:
            if plan.kind == "regression":
                _refuse_concurrent_regression(connection, plan.dataset.id)
            connection.execute(insert(evaluations).values(row))
        return str(row["id"])

    def list(self, limit: int, kind: EvaluationKind | None = None) -> list[Evaluation]:
        """Return the evaluations, optionally of one kind, newest first."""
        self.close_orphans()
        wanted = self._visible(evaluations) & (evaluations.c.kind == kind if kind else true())
        latest = evaluations.c.started_at.desc()
        listed = select(evaluations.c.id).where(wanted).order_by(latest).limit(limit)  # count the answers of these only
        query = select_evaluations(evaluations.c.id.in_(listed)).order_by(latest)
        with self._database.read() as connection:
            return [evaluation_from_row(row) for row in connection.execute(query)]

    def get(self, evaluation_id: str) -> Evaluation:
        """Return one evaluation. Raises `NotFound`, also for another user's."""
        self.close_orphans()
        with self._database.read() as connection:
            row = connection.execute(select_evaluations(self._named(evaluation_id))).first()
        if row is None:
            raise NotFound("This evaluation no longer exists.", "Choose another one.")
        return evaluation_from_row(row)

    def examples(self, evaluation_id: str) -> tuple[Example, ...]:
        """Return its examples in order. Raises `NotFound`."""
        query = select(evaluations.c.examples).where(self._named(evaluation_id))
        with self._database.read() as connection:
            body = connection.execute(query).scalar()
        if body is None:
            raise NotFound("This evaluation no longer exists.", "Choose another one.")
        examples: tuple[Example, ...] = _type_adapter(tuple[Example, ...]).validate_json(zlib.decompress(body))
        return examples

    def results(self, evaluation_id: str, variant: int | None = None) -> Sequence[EvaluationResult]:
        """Return the results so far, ordered by variant, example and repetition. Raises `NotFound`."""
        examples = self.examples(evaluation_id)
        query = select_results().where(_RESULT_COLUMNS.evaluation_id == evaluation_id)
        if variant is not None:
            query = query.where(_RESULT_COLUMNS.variant == variant)
        with self._database.read() as connection:
            rows = connection.execute(
                query.order_by(_RESULT_COLUMNS.variant, _RESULT_COLUMNS.number, _RESULT_COLUMNS.repetition)
            ).all()
        return [result_from_row(row, examples[row.number]) for row in rows]

    def labelled_results(self) -> Sequence[EvaluationResult]:
        """Return every answer with a human label, from all evaluations."""
        query = select_results().join(evaluations, evaluations.c.id == _RESULT_COLUMNS.evaluation_id)
        query = query.where(_RESULT_COLUMNS.label.is_not(None), self._visible(evaluations))
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        examples = {one: self.examples(one) for one in {row.evaluation_id for row in rows}}
        return [result_from_row(row, examples[row.evaluation_id][row.number]) for row in rows]

    def answered_keys(self, evaluation_id: str) -> set[ResultKey]:
        """Return the keys of existing answers, without the failed ones, which are to be retried."""
        query = select(_RESULT_COLUMNS.variant, _RESULT_COLUMNS.number, _RESULT_COLUMNS.repetition)
        answered = query.where(_RESULT_COLUMNS.evaluation_id == evaluation_id, _RESULT_COLUMNS.state == "done")
        with self._database.read() as connection:
            return {(row.variant, row.number, row.repetition) for row in connection.execute(answered)}

    def save_result(self, evaluation_id: str, result: EvaluationResult, seconds: float) -> bool:
        """Store a result, replacing an earlier one, and the time spent; return whether a stop was requested."""
        row = {
            "evaluation_id": evaluation_id,
            "variant": result.variant,
            "number": result.number,
            "repetition": result.repetition,
            "run_id": result.run_id,
            "state": result.state,
            "error": result.error,
            "body": _dump_value(result.scored),
            "judged": _dump_value(result.judged) if result.judged else None,
        }
        here = evaluations.c.id == evaluation_id
        spent = update(evaluations).where(here).values(seconds=seconds).returning(evaluations.c.stopping)
        with self._database.write() as connection:
            stopping = connection.execute(spent).scalar()
            if stopping is None:  # deleted in the meantime
                return True
            connection.execute(replace_row(connection, evaluation_results, row))
        return bool(stopping)

    def save_judgement(self, evaluation_id: str, key: ResultKey, judgement: Judgement) -> None:
        """Store the judgement of one answer, replacing an earlier one."""
        self._update_result(evaluation_id, key, judged=_dump_value(judgement))

    def label(self, evaluation_id: str, key: ResultKey, right: bool | None) -> None:
        """Store a user's label of one answer. Raises `NotFound`."""
        self._update_result(evaluation_id, key, label=None if right is None else int(right))

    def change(self, evaluation_id: str, **values: Any) -> None:
        """Update these columns. Raises `NotFound`."""
        with self._database.write() as connection:
            changed = connection.execute(update(evaluations).where(self._named(evaluation_id)).values(**values))
        if changed.rowcount == 0:
            raise NotFound("This evaluation no longer exists.", "Choose another one.")

    def set_variants(self, evaluation_id: str, variants: Sequence[Variant]) -> None:
        """Store the variants with their environments."""
        self.change(evaluation_id, variants=dump_variants(variants))

    def begin(self, evaluation_id: str) -> None:
        """Mark it as running in this process; a stop requested while it was queued still applies."""
        self.change(evaluation_id, state="running", owner=self._owner, fault="", ended_at=None)

    def is_wanted(self, evaluation_id: str) -> bool:
        """Return whether it still exists and no process requested a stop."""
        query = select(evaluations.c.stopping).where(evaluations.c.id == evaluation_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar() == 0

    def end(self, evaluation_id: str, state: EvaluationState, fault: str = "") -> None:
        """Mark the evaluation as ended; do nothing if it was deleted."""
        values = {"state": state, "fault": fault, "owner": "", "stopping": 0, "ended_at": time.time()}
        with self._database.write() as connection:
            connection.execute(update(evaluations).where(evaluations.c.id == evaluation_id).values(values))

    def queue(self, evaluation_id: str, **values: Any) -> bool:
        """Queue the evaluation for this process; return False if it is already active."""
        free = self._named(evaluation_id) & evaluations.c.state.not_in(ACTIVE_STATES)
        row = {"state": "queued", "owner": self._owner, "stopping": 0, "fault": "", **values}
        with self._database.write() as connection:
            return connection.execute(update(evaluations).where(free).values(row)).rowcount == 1

    def delete(self, evaluation_id: str) -> bool:
        """Delete it with its results and their runs; return whether it existed."""
        with self._database.write() as connection:
            return connection.execute(delete(evaluations).where(self._named(evaluation_id))).rowcount == 1

    def _named(self, evaluation_id: str) -> ColumnElement[bool]:
        return (evaluations.c.id == evaluation_id) & self._visible(evaluations)

    def _update_result(self, evaluation_id: str, key: ResultKey, **values: Any) -> None:
        with self._database.write() as connection:
            changed = connection.execute(
                update(evaluation_results)
                .where(_result_condition(evaluation_id, key), self._visible(evaluation_results))
                .values(**values)
            ).rowcount
        if not changed:
            raise NotFound("This answer no longer exists.", "Reload the page.")

    def close_orphans(self) -> None:
        """Mark the evaluations of dead processes as interrupted, so that they can be resumed."""
        busy = evaluations.c.state.in_(ACTIVE_STATES)
        with self._database.read() as connection:
            rows = connection.execute(select(evaluations.c.id, evaluations.c.owner).where(busy)).all()
            dead = [row for row in rows if not is_owner_alive(connection, row.owner)]
        for row in dead:
            self._interrupt(row.id, row.owner)

    def _interrupt(self, evaluation_id: str, owner: str) -> None:
        """Mark it as interrupted unless another process has resumed it in the meantime."""
        left = (evaluations.c.id == evaluation_id) & (evaluations.c.owner == owner)
        values = {"state": "interrupted", "fault": "", "owner": "", "stopping": 0, "ended_at": time.time()}
        with self._database.write() as connection:
            connection.execute(update(evaluations).where(left).values(values))


def _refuse_concurrent_regression(connection: Connection, dataset_id: str) -> None:
    busy = evaluations.c.state.in_(ACTIVE_STATES) & (evaluations.c.kind == "regression")
    same = select(evaluations.c.owner).where(busy, evaluations.c.dataset_id == dataset_id)
    if any(is_owner_alive(connection, owner) for owner in connection.execute(same).scalars().all()):
        raise BadRequest("Your test questions are already running.", "Wait until they are done, or stop them.")


def _result_condition(evaluation_id: str, key: ResultKey) -> ColumnElement[bool]:
    variant, number, repetition = key
    here = (_RESULT_COLUMNS.evaluation_id == evaluation_id) & (_RESULT_COLUMNS.variant == variant)
    return here & (_RESULT_COLUMNS.number == number) & (_RESULT_COLUMNS.repetition == repetition)
