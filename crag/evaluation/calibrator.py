"""Calibration: measures a grader on a collection, stores the chosen thresholds, and replays past runs under them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker, run_in_background
from crag.errors import BadRequest, CragError, Stopped
from crag.evaluation.calibration_probes import Probe, ProbeMaker, QuestionWriter
from crag.evaluation.calibration_rows import CalibrationRows
from crag.evaluation.threshold_proposal import (
    Calibration,
    ProbeScore,
    ProvidedQuestion,
    ReplayResult,
    propose_thresholds,
)
from crag.graph.policy import choose_action
from crag.options import RunOptions
from crag.protocols import ChatModel, Grader
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.runs.worker import RunResourceBuilder, RunResources
from crag.storage.engine import Database
from crag.storage.outbound_log import SERVER_KEY, on_behalf_of
from crag.storage.row_security import document_owner
from crag.storage.user_scope import UserScoped
from crag.types import Passage, Progress, ProgressCallback, Thresholds, Verdict, ignore_progress

_REPLAYED_RUNS = 200
_MAX_REPLAY_RESULTS = 50


def _replay_run(run_id: str, trace: Trace, collection: str, grader: str, thresholds: Thresholds) -> ReplayResult | None:
    if trace.grader != grader or trace.options.collection != collection or trace.action is None:
        return None
    verdicts = list(_apply_thresholds(trace, thresholds))
    best = max((verdict.score for verdict in verdicts if verdict.score is not None), default=None)
    now = choose_action(trace.options.policy, verdicts, thresholds).action
    return ReplayResult(run_id, trace.question, best, trace.action, now)


def _apply_thresholds(trace: Trace, thresholds: Thresholds) -> Iterator[Verdict]:
    """Yield the verdicts on library passages under these thresholds; a user's ruling is kept."""
    for passage_id in trace.found.get("library", ()):
        if verdict := trace.verdicts.get(passage_id):
            word = verdict.word if verdict.ruling else thresholds.verdict_for(verdict.score)
            yield replace(verdict, word=word)


DEFAULT_PROBES, DEFAULT_MODEL_PROBES = 200, 30  # each probe and its unanswerable twin takes k model calls
MAX_PROBES = 2_000
_RETRIEVAL_DEPTH = 24  # passages per question, so that enough remain when its document is hidden
_BUILTIN_PREFIX = "builtin:"

OpenModel = Callable[[RunOptions], ChatModel | None]


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """What to measure with: the user's `questions`, otherwise `count` generated ones of each kind (0: the default).

    `by_rules` generates them without the chat model, even if there is one. The same `seed` samples the same passages.
    """

    questions: Sequence[ProvidedQuestion] = ()
    count: int = 0
    by_rules: bool = False
    seed: int = 0


class Calibrator(UserScoped):
    """Calibrations of one home; thread-safe.

    `saved` holds the thresholds in use instead of the graders' own; `job` is the calibration in the background.
    """

    def __init__(
        self, database: Database, open_resources: RunResourceBuilder, open_model: OpenModel, runs: RunService
    ) -> None:
        """Take `open_model`, which returns the chat model for some options, None for the built-in engine."""
        self._database = database
        self.saved = CalibrationRows(database)
        self.job = CalibrationJob()
        self._open_resources = open_resources
        self._open_model = open_model
        self._runs = runs

    def run(
        self,
        options: RunOptions,
        plan: CalibrationPlan | None = None,
        report: ProgressCallback = ignore_progress,
        stop: Cancellation | None = None,
    ) -> Calibration:
        """Score answerable and unanswerable questions with the grader of the options, within their collection.

        Verdicts that users changed count too. Raises `ModelFault`, `Stopped`, or `BadRequest` for an empty collection.
        """
        plan, stop = plan or CalibrationPlan(), stop or Cancellation()
        resources = self._open_resources(replace(options, web="off"), self._user)
        if not resources.retriever.size(options):
            raise BadRequest("There are no documents to calibrate on.", "Add some, or choose another collection.")
        grader = resources.engine.grader
        total = len(plan.questions) or 2 * (
            plan.count or (DEFAULT_PROBES if grader.name.startswith(_BUILTIN_PREFIX) else DEFAULT_MODEL_PROBES)
        )
        scored: list[ProbeScore] = []
        for number, probe in enumerate(self._probes(resources, options, plan, total // 2, stop)):
            report(Progress("Asking and grading", number, total))
            best = _best_passage_score(grader, probe.question, probe.passages, stop)
            if best is not None:
                scored.append(ProbeScore(probe.question, probe.kind, probe.answerable, best))
        with on_behalf_of(SERVER_KEY):  # rulings contain users' questions
            scored += self._score_rulings(grader, options.collection, report, stop)
        return Calibration(
            options.collection,
            grader.name,
            grader.thresholds,
            scored,
            propose_thresholds(scored, grader.thresholds),
            time.time(),
        )

    def save(self, calibration: Calibration, thresholds: Thresholds | None = None) -> Thresholds:
        """Have the grader use these thresholds from now on, by default the proposed ones.

        Raises `BadRequest` if there are none or they are out of order, `NotFound` if the collection is gone.
        """
        chosen = thresholds or calibration.proposal.thresholds
        if chosen is None:
            raise BadRequest(
                "No thresholds could be proposed, so nothing was saved.", " ".join(calibration.proposal.remarks)
            )
        if not 0 <= chosen.lower <= chosen.upper <= 1:
            raise BadRequest("The lower threshold is above the upper one.", "Change one of them.")
        self.saved.save(calibration.collection, calibration.grader, chosen, calibration)
        return chosen

    def replay_past_runs(self, collection: str, grader: str, thresholds: Thresholds) -> list[ReplayResult]:
        """Replay at most 50 of the last 200 runs: those on this collection with this grader, newest first.

        The actions come from stored scores; no model is called.
        """
        latest = self._runs.recent(_REPLAYED_RUNS)
        found = (_replay_run(run_id, self._runs.trace(run_id), collection, grader, thresholds) for run_id in latest)
        return [past for past in found if past is not None][:_MAX_REPLAY_RESULTS]

    def _probes(
        self, resources: RunResources, options: RunOptions, plan: CalibrationPlan, count: int, stop: Cancellation
    ) -> Iterator[Probe]:
        def find(question: str, depth: int = _RETRIEVAL_DEPTH) -> list[Passage]:
            return resources.retriever.retrieve(question, replace(options, k=max(depth, options.k)), stop)[0]

        if plan.questions:
            for given in plan.questions:
                found = tuple(find(given.question, options.k))
                yield Probe(given.question, "given", given.answerable, found)
            return
        model = None if plan.by_rules else self._open_model(options)
        writer = QuestionWriter(model) if model else None
        maker = ProbeMaker(self._database, find, options.k, writer, plan.seed, self._user)
        yield from maker.make(options.collection, count, stop)

    def _score_rulings(
        self, grader: Grader, collection: str, report: ProgressCallback, stop: Cancellation
    ) -> Iterator[ProbeScore]:
        """Grade the passages that users ruled on, once more, with this grader."""
        labels = self.saved.labels(collection)
        for number, (question, ruled) in enumerate(labels.items()):
            report(Progress("Grading the passages whose verdict you changed", number, len(labels)))
            for index, grade in grader.grade(question, [passage for passage, _ in ruled], stop):
                if grade.score is not None:
                    yield ProbeScore(question, "ruling", ruled[index][1], grade.score)


def _best_passage_score(grader: Grader, question: str, passages: Sequence[Passage], stop: Cancellation) -> float | None:
    """Return the best score among the passages; 0 if there are none, None if none could be graded."""
    stop.check()
    if not passages:
        return 0.0
    scores = [grade.score for _, grade in grader.grade(question, passages, stop) if grade.score is not None]
    return max(scores, default=None)


MeasureGrader = Callable[[ProgressCallback, Cancellation], Calibration]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Measurement:
    """The current measurement of this process, or the last one; `owner` is the account that began it."""

    owner: str = ""
    worker: BackgroundWorker | None = None
    stop: Cancellation = field(default_factory=Cancellation)
    progress: Progress | None = None
    result: Calibration | None = None
    fault: str = ""


class CalibrationJob(UserScoped):
    """The current measurement of this process, or the last one. Thread-safe.

    Its result is for the account that began it, or for all browsers.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = _Measurement()

    @property
    def progress(self) -> Progress | None:
        """Progress of the measurement of any user; None if none is running."""
        return self._last.progress

    @property
    def result(self) -> Calibration | None:
        """Result of the last measurement; None before the first and while one is running."""
        return self._last.result if self._is_own else None

    @property
    def fault(self) -> str:
        """Why the last measurement did not complete, as shown to the user."""
        return self._last.fault if self._is_own else ""

    def begin(self, measure: MeasureGrader) -> bool:
        """Start a measurement; return False if another is running."""
        with self._lock:
            last = self._last
            if last.progress is not None:
                return False
            last.owner, last.stop, last.result, last.fault = document_owner(self._user), Cancellation(), None, ""
            last.progress = Progress("Opening the grader")
            last.worker = run_in_background("calibration", partial(self._measure, measure, last.stop))
        return True

    def cancel(self) -> None:
        """Request a stop; does nothing if none is running, or another account began it."""
        if self._is_own:
            self._last.stop.cancel()

    def close(self) -> None:
        """Stop the running measurement and wait for it."""
        self.cancel()
        if self._last.worker:
            self._last.worker.wait()

    @property
    def _is_own(self) -> bool:
        return self._user is None or self._last.owner == document_owner(self._user)

    def _measure(self, measure: MeasureGrader, stop: Cancellation) -> None:
        try:
            self._last.result = measure(self._report_progress, stop)
        except Stopped:
            self._last.fault = "Stopped by you. Nothing was saved."
        except CragError as error:
            self._last.fault = str(error)
        except Exception:  # noqa: BLE001 — nothing above this in the thread; logged and shown as a fault
            _log.exception("Unexpected error while calibrating")
            self._last.fault = "Something went wrong in the app. Try again. The log has the details."
        finally:
            self._last.progress = None

    def _report_progress(self, progress: Progress) -> None:
        self._last.progress = progress
