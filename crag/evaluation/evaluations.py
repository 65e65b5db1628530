"""The evaluations of a home: started, followed, stopped and resumed, one at a time in a background queue."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.errors import BadRequest, CragError, HomeFault, Stopped
from crag.evaluation.agreement import fit_cutoffs
from crag.evaluation.records import EvaluationRows
from crag.evaluation.runner import EvaluationRunner, LookUpEnvironment, OpenJudge
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationKind, EvaluationPlan, EvaluationResult, EvaluationState
from crag.options import RunOptions
from crag.runs.service import RunService
from crag.storage.engine import Database
from crag.storage.outbound_log import SERVER_KEY, on_behalf_of
from crag.storage.user_scope import UserScoped
from crag.types import Progress, ProgressCallback, ignore_progress

MAX_REPETITIONS = 20
MAX_ANSWERS = 100_000
_PROGRESS_POLL_SECONDS = 0.3
_STOP_POLL_SECONDS = 0.5
_SAVE_AGAIN_SECONDS = 1.0
PrepareOptions = Callable[[RunOptions, str | None, ProgressCallback, Cancellation], None]
_log = logging.getLogger(__name__)


class Evaluations(UserScoped):
    """Queue and access to evaluations. Thread-safe; several processes may share a home."""

    def __init__(
        self,
        database: Database,
        runs: RunService,
        look_up_environment: LookUpEnvironment,
        open_judge: OpenJudge,
        prepare: PrepareOptions,
    ) -> None:
        """Take the parts of an evaluation; for `look_up_environment` and `open_judge` see `EvaluationRunner`.

        `prepare` makes everything available that some options need, such as rechunked documents. It may take minutes.
        """
        self._prepare = prepare
        self._rows = EvaluationRows(database)
        self._runs = runs
        self._runner = EvaluationRunner(self._rows, runs, look_up_environment, open_judge)
        self._queue: deque[str] = deque()
        self._unsaved_ends: dict[str, tuple[EvaluationState, str]] = {}
        self._worker = BackgroundWorker("evaluations", lambda _: self._run_queue(), _SAVE_AGAIN_SECONDS)
        self._worker.start()
        self._lock = threading.Lock()
        self._ended = threading.Condition()
        self._stops: dict[str, Cancellation] = {}
        self._preparing: dict[str, Progress] = {}
        self._closing = False
        self.check_limit: Callable[[str | None, int], object] = lambda _user, _answers: None  # raises `BadRequest`

    def begin(self, plan: EvaluationPlan) -> Evaluation:
        """Store the plan and run it in the background. Raises `BadRequest` for an invalid plan, or beyond the limit."""
        _validate_plan(plan)
        self.check_limit(self._user, plan.total)
        evaluation_id = self._rows.open(plan)
        self._submit(evaluation_id)
        return self._rows.get(evaluation_id)

    def close_orphans(self) -> None:
        """Mark the evaluations of processes that died as interrupted, before anybody looks at them."""
        self._rows.close_orphans()

    def list(self, limit: int = 50, kind: EvaluationKind | None = None) -> list[Evaluation]:
        """Return the evaluations, optionally of one kind, newest first."""
        return self._rows.list(limit, kind)

    def get(self, evaluation_id: str) -> Evaluation:
        """Return one evaluation. Raises `NotFound`, also for another user's."""
        return self._rows.get(evaluation_id)

    def results(self, evaluation_id: str, variant: int | None = None) -> Sequence[EvaluationResult]:
        """Return the answers so far, ordered by variant, example and repetition. Raises `NotFound`."""
        return self._rows.results(evaluation_id, variant)

    def preparation_progress(self, evaluation_id: str) -> Progress | None:
        """Return the progress of preparations, such as splitting documents; None once questions are asked."""
        return self._preparing.get(self._rows.get(evaluation_id).id)

    def wait(self, evaluation_id: str, report: ProgressCallback = ignore_progress) -> Evaluation:
        """Wait until it is no longer active, reporting its progress. Raises `NotFound`."""
        while (evaluation := self._rows.get(evaluation_id)).is_active:
            stage = "Waiting for its turn" if evaluation.state == "queued" else "Asking"
            report(self.preparation_progress(evaluation_id) or Progress(stage, evaluation.done, evaluation.total))
            with self._ended:
                self._ended.wait(_PROGRESS_POLL_SECONDS)  # not until notified: it may end in another process
        report(Progress("Asking", evaluation.done, evaluation.total))
        return evaluation

    def stop(self, evaluation_id: str) -> None:
        """Stop it, in whichever process it runs; its answers stay and it can be resumed.

        Does nothing if it has already ended.
        """
        self._rows.change(evaluation_id, stopping=1)
        with self._lock:
            stop = self._stops.get(evaluation_id)
        if stop:
            stop.cancel()

    def resume(self, evaluation_id: str) -> None:
        """Continue with missing and failed answers. Raises `BadRequest` while it is active, `NotFound`."""
        self._requeue(evaluation_id)

    def judge(self, evaluation_id: str, model: str) -> None:
        """Have a model judge existing and future answers. Raises the same errors as `resume`."""
        self._requeue(evaluation_id, judge=model)

    def delete(self, evaluation_id: str) -> None:
        """Delete it with all its answers, stopping it; does nothing if it is gone."""
        if not self._rows.delete(evaluation_id):
            return
        with self._lock:
            stop = self._stops.get(evaluation_id)
        if stop:
            stop.cancel()
        self._runs.delete_orphaned_data()

    def rename(self, evaluation_id: str, name: str) -> None:
        """Rename it. Raises `NotFound`, or `BadRequest` for an empty name."""
        if not name.strip():
            raise BadRequest("An evaluation needs a name.", "Write one and try again.")
        self._rows.change(evaluation_id, name=" ".join(name.split())[:200])

    def label(self, evaluation_id: str, result: EvaluationResult, right: bool | None) -> None:
        """Store a user's label of an answer: right, wrong, or none. Raises `NotFound`."""
        self._rows.label(evaluation_id, (result.variant, result.number, result.repetition), right)

    def cutoffs(self) -> Cutoffs:
        """Return the score cutoffs fitted to the human labels.

        They keep their defaults as long as `fit_cutoffs` finds nothing better.
        """
        return fit_cutoffs(self._rows.labelled_results())

    def close(self) -> None:
        """Interrupt the active evaluation and wait for it; it can be resumed."""
        with self._lock:
            self._closing = True
            stops = list(self._stops.values())
        for stop in stops:
            stop.cancel()
        self._worker.wait()
        self._worker.close()

    def _requeue(self, evaluation_id: str, **values: str) -> None:
        self._rows.get(evaluation_id)
        if not self._rows.queue(evaluation_id, **values):
            raise BadRequest("This evaluation is running.", "Wait for it, or stop it.")
        self._submit(evaluation_id)

    def _submit(self, evaluation_id: str) -> None:
        with self._lock:
            self._stops[evaluation_id] = Cancellation()
        self._queue.append(evaluation_id)
        self._worker.wake()

    def _run_queue(self) -> None:
        while self._queue:
            self._run_queued(self._queue.popleft())
        self._save_ends()

    def _run_queued(self, evaluation_id: str) -> None:
        stop = self._stops[evaluation_id]
        ended: tuple[EvaluationState, str] = ("interrupted", "Something went wrong. The log has the details.")
        try:
            ended = self._run(evaluation_id, stop)
        except Exception:  # noqa: BLE001 — nothing above this in the thread; logged and shown as a fault
            _log.exception("Unexpected error in an evaluation")
        finally:
            with self._lock:
                del self._stops[evaluation_id]
            self._unsaved_ends[evaluation_id] = ended
            with suppress(HomeFault):  # the others must not wait until there is room
                self._save_ends()

    def _save_ends(self) -> None:
        """Save how evaluations ended. Raises `HomeFault`; the next pass of the worker tries again."""
        for evaluation_id, ended in list(self._unsaved_ends.items()):
            self._rows.end(evaluation_id, *ended)
            del self._unsaved_ends[evaluation_id]
            with self._ended:
                self._ended.notify_all()

    def _run(self, evaluation_id: str, stop: Cancellation) -> tuple[EvaluationState, str]:
        try:
            self._poll_for_stop(evaluation_id, stop)
            stop.check()
            self._rows.begin(evaluation_id)
            with (
                on_behalf_of(self._rows.get(evaluation_id).owner_id or SERVER_KEY),
                self._watch_for_stop(evaluation_id, stop),
            ):
                self._prepare_all(evaluation_id, stop)
                self._runner.run(evaluation_id, stop)
        except Stopped:
            return "interrupted" if self._closing else "stopped", ""
        except CragError as error:
            return "failed", str(error)
        return "done", ""

    @contextmanager
    def _watch_for_stop(self, evaluation_id: str, stop: Cancellation) -> Iterator[None]:
        """Watch for a stop request from another process while the block runs, however long one question takes."""
        listener = BackgroundWorker(
            "evaluation-stop", lambda _: self._poll_for_stop(evaluation_id, stop), _STOP_POLL_SECONDS
        )
        listener.start()
        try:
            yield
        finally:
            listener.close()

    def _poll_for_stop(self, evaluation_id: str, stop: Cancellation) -> None:
        """Request a stop if a user stopped or deleted the evaluation, in whichever process."""
        if not self._rows.is_wanted(evaluation_id):
            stop.cancel()

    def _prepare_all(self, evaluation_id: str, stop: Cancellation) -> None:
        evaluation = self._rows.get(evaluation_id)
        if evaluation.is_answered:  # only judging is left
            return
        try:
            for variant in evaluation.variants:
                report = partial(self._preparing.__setitem__, evaluation_id)
                self._prepare(variant.options, evaluation.owner_id or None, report, stop)
        finally:
            self._preparing.pop(evaluation_id, None)


def _validate_plan(plan: EvaluationPlan) -> None:
    """Raise `BadRequest` for a plan that is invalid or too large."""
    if not plan.dataset.examples:
        raise BadRequest("This dataset has no questions.", "Choose another one, or add some.")
    if not plan.variants:
        raise BadRequest("There are no settings to try.", "Choose some.")
    if not 1 <= plan.repetitions <= MAX_REPETITIONS:
        raise BadRequest(f"{plan.repetitions} repetitions are not possible.", f"Choose from 1 to {MAX_REPETITIONS}.")
    if (answers := plan.total) > MAX_ANSWERS:
        raise BadRequest(f"That would be {answers:,} answers; the limit is {MAX_ANSWERS:,}.", "Ask for fewer.")
