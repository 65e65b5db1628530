"""Database rows of evaluations and their results, written in short transactions."""

from __future__ import annotations

import time
import uuid
import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select, true, update

from crag.database import Database
from crag.database.tables import evaluation_results, evaluations
from crag.errors import BadRequest, NotFound
from crag.evaluate import bodies
from crag.evaluate.datasets.examples import Example
from crag.evaluate.queries import begun, counted, read_evaluation, read_result, visible
from crag.evaluate.values import (
    UNDER_WAY,
    Evaluation,
    EvaluationKind,
    EvaluationState,
    Judgement,
    Plan,
    Result,
    Variant,
)
from crag.processes import is_alive, this_process

Place = tuple[int, int, int]  # variant, number of the example, repetition

_results = evaluation_results.c


class EvaluationRows:
    """All evaluations of one home. Those of a dead process count as interrupted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = this_process()

    def open(self, plan: Plan) -> str:
        """Store a plan with a copy of its examples; return its id.

        Raises `BadRequest` for pinned questions that any process is already asking.
        """
        examples = bodies.dump_examples(plan.dataset.examples)
        row = {
            "id": uuid.uuid4().hex,
            "name": plan.name or plan.dataset.name,
            "kind": plan.kind,
            "dataset": plan.dataset.name,
            "dataset_id": plan.dataset.id,
            "digest": bodies.digest(examples),
            "size": len(plan.dataset.examples),
            "examples": zlib.compress(examples),
            "variants": bodies.dump_variants(plan.variants),
            "repetitions": plan.repetitions,
            "judge": plan.judge,
            "parallel": plan.parallel,
            "person": plan.person,
            "state": "queued",
            "owner": self._owner,
            "started_at": time.time(),
        }
        with self._database.write() as connection:
            if plan.kind == "regression":
                _refuse_while_asked(connection, plan.dataset.id)
            connection.execute(insert(evaluations).values(row))
        return str(row["id"])

    def list(self, person: str | None, limit: int, kind: EvaluationKind | None = None) -> list[Evaluation]:
        """Return the evaluations a user may see, optionally of one kind, newest first."""
        self._mark_orphans()
        wanted = visible(person) & (evaluations.c.kind == kind if kind else true())
        latest = evaluations.c.started_at.desc()
        listed = select(evaluations.c.id).where(wanted).order_by(latest).limit(limit)  # count the answers of these only
        query = counted(evaluations.c.id.in_(listed)).order_by(latest)
        with self._database.read() as connection:
            return [read_evaluation(row) for row in connection.execute(query)]

    def get(self, evaluation_id: str, person: str | None = None) -> Evaluation:
        """Return one evaluation. Raises `NotFound`, also for another user's."""
        self._mark_orphans()
        with self._database.read() as connection:
            row = connection.execute(counted((evaluations.c.id == evaluation_id) & visible(person))).first()
        if row is None:
            raise NotFound("This evaluation is no longer there.", "Choose another one.")
        return read_evaluation(row)

    def examples(self, evaluation_id: str) -> tuple[Example, ...]:
        """Return its examples in order. Raises `NotFound`."""
        query = select(evaluations.c.examples).where(evaluations.c.id == evaluation_id)
        with self._database.read() as connection:
            body = connection.execute(query).scalar()
        if body is None:
            raise NotFound("This evaluation is no longer there.", "Choose another one.")
        return bodies.load_examples(zlib.decompress(body))

    def results(self, evaluation_id: str, variant: int | None = None) -> Sequence[Result]:
        """Return the results so far, ordered by variant, example and repetition. Raises `NotFound`."""
        examples = self.examples(evaluation_id)
        query = begun().where(_results.evaluation_id == evaluation_id)
        if variant is not None:
            query = query.where(_results.variant == variant)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(_results.variant, _results.number, _results.repetition)).all()
        return [read_result(row, examples[row.number]) for row in rows]

    def labelled(self, person: str | None) -> Sequence[Result]:
        """Return every answer with a human label that a user may see, from all evaluations."""
        query = begun().join(evaluations, evaluations.c.id == _results.evaluation_id)
        query = query.where(_results.label.is_not(None), visible(person))
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        examples = {one: self.examples(one) for one in {row.evaluation_id for row in rows}}
        return [read_result(row, examples[row.evaluation_id][row.number]) for row in rows]

    def done(self, evaluation_id: str) -> set[Place]:
        """Return the keys of existing answers, without the failed ones, which are to be retried."""
        query = select(_results.variant, _results.number, _results.repetition)
        answered = query.where(_results.evaluation_id == evaluation_id, _results.state == "done")
        with self._database.read() as connection:
            return {(row.variant, row.number, row.repetition) for row in connection.execute(answered)}

    def keep(self, evaluation_id: str, result: Result, seconds: float) -> bool:
        """Store a result, replacing an earlier one, and the time spent; return whether a stop was requested."""
        row = {
            "evaluation_id": evaluation_id,
            "variant": result.variant,
            "number": result.number,
            "repetition": result.repetition,
            "run_id": result.run_id,
            "state": result.state,
            "error": result.error,
            "body": bodies.dump_scored(result.scored),
            "judged": bodies.dump_judgement(result.judged) if result.judged else None,
        }
        here = evaluations.c.id == evaluation_id
        spent = update(evaluations).where(here).values(seconds=seconds).returning(evaluations.c.stopping)
        with self._database.write() as connection:
            stopping = connection.execute(spent).scalar()
            if stopping is None:  # deleted in the meantime
                return True
            connection.execute(insert(evaluation_results).prefix_with("OR REPLACE").values(row))
        return bool(stopping)

    def judged(self, evaluation_id: str, place: Place, judgement: Judgement) -> None:
        """Store the judgement of one answer, replacing an earlier one."""
        self._update_result(evaluation_id, place, judged=bodies.dump_judgement(judgement))

    def label(self, evaluation_id: str, place: Place, right: bool | None) -> None:
        """Store a user's label of one answer. Raises `NotFound`."""
        self._update_result(evaluation_id, place, label=None if right is None else int(right))

    def change(self, evaluation_id: str, **values: Any) -> None:
        """Update these columns. Raises `NotFound`."""
        with self._database.write() as connection:
            changed = connection.execute(
                update(evaluations).where(evaluations.c.id == evaluation_id).values(**values)
            ).rowcount
        if not changed:
            raise NotFound("This evaluation is no longer there.", "Choose another one.")

    def set_variants(self, evaluation_id: str, variants: Sequence[Variant]) -> None:
        """Store the variants with their environments."""
        self.change(evaluation_id, variants=bodies.dump_variants(variants))

    def begin(self, evaluation_id: str) -> None:
        """Mark it as running in this process; a stop requested while it was queued still applies."""
        self.change(evaluation_id, state="running", owner=self._owner, fault="", ended_at=None)

    def is_wanted(self, evaluation_id: str) -> bool:
        """Return whether it still exists and no process requested a stop."""
        query = select(evaluations.c.stopping).where(evaluations.c.id == evaluation_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar() == 0

    def end(self, evaluation_id: str, state: EvaluationState, fault: str = "") -> None:
        """Mark it as ended; does nothing if it was deleted."""
        values = {"state": state, "fault": fault, "owner": "", "stopping": 0, "ended_at": time.time()}
        with self._database.write() as connection:
            connection.execute(update(evaluations).where(evaluations.c.id == evaluation_id).values(values))

    def queue(self, evaluation_id: str, **values: Any) -> bool:
        """Queue it for this process; False if it is already active."""
        free = (evaluations.c.id == evaluation_id) & evaluations.c.state.not_in(UNDER_WAY)
        row = {"state": "queued", "owner": self._owner, "stopping": 0, "fault": "", **values}
        with self._database.write() as connection:
            return connection.execute(update(evaluations).where(free).values(row)).rowcount == 1

    def delete(self, evaluation_id: str) -> None:
        """Delete it with its results and their runs, if it exists."""
        with self._database.write() as connection:
            connection.execute(delete(evaluations).where(evaluations.c.id == evaluation_id))

    def _update_result(self, evaluation_id: str, place: Place, **values: Any) -> None:
        with self._database.write() as connection:
            changed = connection.execute(
                update(evaluation_results).where(_at(evaluation_id, place)).values(**values)
            ).rowcount
        if not changed:
            raise NotFound("This answer is no longer there.", "Reload the page.")

    def _mark_orphans(self) -> None:
        """Mark the evaluations of dead processes as interrupted, so that they can be resumed."""
        busy = evaluations.c.state.in_(UNDER_WAY)
        with self._database.read() as connection:
            rows = connection.execute(select(evaluations.c.id, evaluations.c.owner).where(busy)).all()
        for row in rows:
            if not is_alive(row.owner):
                self._interrupt(row.id, row.owner)

    def _interrupt(self, evaluation_id: str, owner: str) -> None:
        """Mark it as interrupted unless another process has resumed it in the meantime."""
        left = (evaluations.c.id == evaluation_id) & (evaluations.c.owner == owner)
        values = {"state": "interrupted", "fault": "", "owner": "", "stopping": 0, "ended_at": time.time()}
        with self._database.write() as connection:
            connection.execute(update(evaluations).where(left).values(values))


def _refuse_while_asked(connection: Connection, dataset_id: str) -> None:
    busy = evaluations.c.state.in_(UNDER_WAY) & (evaluations.c.kind == "regression")
    same = select(evaluations.c.owner).where(busy, evaluations.c.dataset_id == dataset_id)
    if any(map(is_alive, connection.execute(same).scalars())):
        raise BadRequest("Your pinned questions are being asked already.", "Wait for them, or stop that.")


def _at(evaluation_id: str, place: Place) -> ColumnElement[bool]:
    variant, number, repetition = place
    here = (_results.evaluation_id == evaluation_id) & (_results.variant == variant)
    return here & (_results.number == number) & (_results.repetition == repetition)
