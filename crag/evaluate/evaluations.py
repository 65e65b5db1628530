"""Evaluations of one home: begun, followed, stopped, gone on with; one is worked on at a time, the others wait."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial

from crag.database import Database
from crag.errors import BadRequest, CragError, HomeFault, Stopped
from crag.evaluate.figures.agreement import fit_cutoffs
from crag.evaluate.rows import EvaluationRows
from crag.evaluate.running import LookUp, OpenJudge, Runner
from crag.evaluate.values import Cutoffs, Evaluation, EvaluationKind, EvaluationState, Plan, Result
from crag.ledger import SERVER, on_behalf_of
from crag.options import RunOptions
from crag.progress import Report, silent
from crag.runs import RunService
from crag.stopping import Stop
from crag.types import Progress

MOST_REPETITIONS = 20
MOST_ANSWERS = 100_000
_LOOK_AGAIN_SECONDS = 0.3
_LISTEN_AGAIN_SECONDS = 0.5
Prepare = Callable[[RunOptions, Report, Stop], None]
_log = logging.getLogger(__name__)


class Evaluations:
    """Safe to use from several threads; several processes may work on one home."""

    def __init__(
        self, database: Database, runs: RunService, look_up: LookUp, open_judge: OpenJudge, prepare: Prepare
    ) -> None:
        """`look_up` and `open_judge`: see `Runner`. `prepare` sees to what options need, which may take minutes."""
        self._prepare = prepare
        self._rows = EvaluationRows(database)
        self._runs = runs
        self._runner = Runner(self._rows, runs, look_up, open_judge)
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="evaluations")
        self._lock = threading.Lock()
        self._stops: dict[str, Stop] = {}
        self._preparing: dict[str, Progress] = {}
        self._closing = False

    def begin(self, plan: Plan) -> Evaluation:
        """Keeps what is to be run, and runs it in the background. Raises `BadRequest` for a plan that cannot be."""
        _check(plan)
        evaluation_id = self._rows.open(plan)
        self._submit(evaluation_id)
        return self._rows.get(evaluation_id)

    def list(self, person: str | None = None, limit: int = 50, kind: EvaluationKind | None = None) -> list[Evaluation]:
        """Those that a person may see (None: all), of one kind or of all, the latest first."""
        return self._rows.list(person, limit, kind)

    def get(self, evaluation_id: str, person: str | None = None) -> Evaluation:
        """One of them. Raises `NotFound`, also for one of another person."""
        return self._rows.get(evaluation_id, person)

    def results(self, evaluation_id: str, variant: int | None = None) -> Sequence[Result]:
        """The answers that are there, in the order of variants, examples and repetitions. Raises `NotFound`."""
        return self._rows.results(evaluation_id, variant)

    def preparing(self, evaluation_id: str) -> Progress | None:
        """How far is what must be there before its first question, such as documents cut anew; None when it is."""
        return self._preparing.get(evaluation_id)

    def wait(self, evaluation_id: str, report: Report = silent) -> Evaluation:
        """Returns when it is worked on no longer, telling how far it is meanwhile. Raises `NotFound`."""
        pause = threading.Event()
        while (evaluation := self._rows.get(evaluation_id)).is_under_way:
            stage = "Waiting for its turn" if evaluation.state == "queued" else "Asking"
            report(self.preparing(evaluation_id) or Progress(stage, evaluation.done, evaluation.total))
            pause.wait(_LOOK_AGAIN_SECONDS)
        report(Progress("Asking", evaluation.done, evaluation.total))
        return evaluation

    def stop(self, evaluation_id: str) -> None:
        """Stops it, of whichever process; what is answered stays, and it can be gone on with. Too late is harmless."""
        self._rows.change(evaluation_id, stopping=1)
        with self._lock:
            stop = self._stops.get(evaluation_id)
        if stop:
            stop.request()

    def resume(self, evaluation_id: str) -> None:
        """Goes on with what is not answered yet, or failed. Raises `BadRequest` when it is worked on, `NotFound`."""
        self._again(evaluation_id)

    def judge(self, evaluation_id: str, model: str) -> None:
        """Has a model judge the answers that are there, and those to come. Raises as `resume`."""
        self._again(evaluation_id, judge=model)

    def delete(self, evaluation_id: str) -> None:
        """Deletes it with all its answers; one that is worked on is stopped. One that is not there is left alone."""
        with self._lock:
            stop = self._stops.get(evaluation_id)
        if stop:
            stop.request()
        self._rows.delete(evaluation_id)
        self._runs.forget_deleted()

    def rename(self, evaluation_id: str, name: str) -> None:
        """Gives it another name. Raises `BadRequest` for an empty one, `NotFound`."""
        if not name.strip():
            raise BadRequest("An evaluation needs a name.", "Write one and try again.")
        self._rows.change(evaluation_id, name=" ".join(name.split())[:200])

    def label(self, evaluation_id: str, result: Result, right: bool | None) -> None:
        """Keeps a person's word on an answer: right, wrong, or none. Raises `NotFound`."""
        self._rows.label(evaluation_id, (result.variant, result.number, result.repetition), right)

    def cutoffs(self, person: str | None = None) -> Cutoffs:
        """From which scores on an answer counts as right: fitted to what a person may see of people's words on answers.

        They are the usual ones as long as `fit_cutoffs` finds no better.
        """
        return fit_cutoffs(self._rows.labelled(person))

    def close(self) -> None:
        """Breaks off what is worked on; it can be gone on with."""
        with self._lock:
            self._closing = True
            stops = list(self._stops.values())
        for stop in stops:
            stop.request()
        self._queue.shutdown(wait=True)

    def _again(self, evaluation_id: str, **values: str) -> None:
        self._rows.get(evaluation_id)
        if not self._rows.queue(evaluation_id, **values):
            raise BadRequest("This evaluation is being worked on.", "Wait for it, or stop it.")
        self._submit(evaluation_id)

    def _submit(self, evaluation_id: str) -> None:
        with self._lock:
            self._stops[evaluation_id] = Stop()
        self._queue.submit(self._work, evaluation_id)

    def _work(self, evaluation_id: str) -> None:
        stop = self._stops[evaluation_id]
        ended: tuple[EvaluationState, str] = ("interrupted", "Something went wrong; the log has the details.")
        try:
            ended = self._run(evaluation_id, stop)
        except Exception:  # noqa: BLE001 — the last line of defence of a thread; logged, and shown as a fault
            _log.exception("An evaluation failed in a way nobody foresaw")
        finally:
            with self._lock:
                del self._stops[evaluation_id]
            self._rows.end(evaluation_id, *ended)

    def _run(self, evaluation_id: str, stop: Stop) -> tuple[EvaluationState, str]:
        try:
            self._listen(evaluation_id, stop)
            stop.check()
            self._rows.begin(evaluation_id)
            with on_behalf_of(self._rows.get(evaluation_id).person or SERVER), self._listening(evaluation_id, stop):
                self._prepare_all(evaluation_id, stop)
                self._runner.run(evaluation_id, stop)
        except Stopped:
            return "interrupted" if self._closing else "stopped", ""
        except CragError as error:
            return "failed", str(error)
        return "done", ""

    @contextmanager
    def _listening(self, evaluation_id: str, stop: Stop) -> Iterator[None]:
        """Meanwhile a stop by another process is heard, however long the question takes that is asked now."""
        ended = threading.Event()

        def listen() -> None:
            while not ended.wait(_LISTEN_AGAIN_SECONDS):
                with suppress(HomeFault):  # a database that is busy for long: the next look may hear it
                    self._listen(evaluation_id, stop)

        listener = threading.Thread(target=listen, name="evaluation-stop", daemon=True)
        listener.start()
        try:
            yield
        finally:
            ended.set()
            listener.join()

    def _listen(self, evaluation_id: str, stop: Stop) -> None:
        """Stops what a person stopped or deleted, in whichever process."""
        if not self._rows.is_wanted(evaluation_id):
            stop.request()

    def _prepare_all(self, evaluation_id: str, stop: Stop) -> None:
        evaluation = self._rows.get(evaluation_id)
        if evaluation.is_answered:  # it is only to be judged
            return
        try:
            for variant in evaluation.variants:
                self._prepare(variant.options, partial(self._preparing.__setitem__, evaluation_id), stop)
        finally:
            self._preparing.pop(evaluation_id, None)


def _check(plan: Plan) -> None:
    """Raises `BadRequest` for what cannot be run, or would never end."""
    if not plan.dataset.examples:
        raise BadRequest("This dataset has no questions.", "Choose another one, or add some.")
    if not plan.variants:
        raise BadRequest("There are no settings to try.", "Choose some.")
    if not 1 <= plan.repetitions <= MOST_REPETITIONS:
        raise BadRequest(f"{plan.repetitions} repetitions cannot be.", f"Choose from 1 to {MOST_REPETITIONS}.")
    answers = len(plan.dataset.examples) * plan.repetitions * len(plan.variants)
    if answers > MOST_ANSWERS:
        raise BadRequest(f"That would be {answers:,} answers; at most {MOST_ANSWERS:,} can be.", "Ask for fewer.")
