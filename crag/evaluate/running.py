"""The runner of one evaluation: answers missing questions, several at once, and scores each answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace

from crag.errors import BadRequest, CragError, Stopped
from crag.evaluate.datasets.examples import Example
from crag.evaluate.judging import Judge
from crag.evaluate.rows import EvaluationRows, Place
from crag.evaluate.scorers.scoring import score
from crag.evaluate.values import Environment, Evaluation, Judgement, Result
from crag.graph.consent import NOBODY
from crag.options import RunOptions
from crag.runs import RunService, Trace
from crag.stopping import Stop

AT_ONCE = 2  # one question waits for the disk or a model while the other is processed
_FAILURES_IN_A_ROW = 3

LookUp = Callable[[RunOptions], Environment]
OpenJudge = Callable[[str], Judge]


class TooManyFailures(CragError):
    """Too many consecutive questions failed; the cause would fail the others too."""

    code = "too_many_failures"


class Runner:
    """Runs one evaluation at a time."""

    def __init__(self, rows: EvaluationRows, runs: RunService, look_up: LookUp, open_judge: OpenJudge) -> None:
        """Take `look_up`, which returns the environment behind options, and `open_judge`, which opens a judge model."""
        self._rows = rows
        self._runs = runs
        self._look_up = look_up
        self._open_judge = open_judge

    def run(self, evaluation_id: str, stop: Stop) -> None:
        """Answer everything unanswered, then judge everything unjudged.

        Raises `Stopped`, or `CragError` if the evaluation cannot continue.
        """
        evaluation = self._rows.get(evaluation_id)
        judge = self._open_judge(evaluation.judge) if evaluation.judge else None
        work = _Work(evaluation, self._rows.examples(evaluation_id), judge, stop)
        if not evaluation.is_answered:
            self._answer_rest(work)
        if judge:
            self._judge_rest(work, judge)

    def _answer_rest(self, work: _Work) -> None:
        work.evaluation = self._look_around(work.evaluation)
        done = self._rows.done(work.evaluation.id)
        self._work_off(work, [place for place in _places(work.evaluation) if place not in done], self._answer)
        self._look_around(work.evaluation)

    def _look_around(self, evaluation: Evaluation) -> Evaluation:
        """Store the environment of each variant; it must stay the same until the last answer."""
        found = [replace(one, environment=self._look_up(one.options)) for one in evaluation.variants]
        for before, now in zip(evaluation.variants, found, strict=True):
            if before.environment not in (Environment(), now.environment):
                raise BadRequest(
                    "The model or the documents are not those that it was begun with.",
                    "Its figures would mix the two: start a new evaluation instead.",
                )
        self._rows.set_variants(evaluation.id, found)
        return replace(evaluation, variants=tuple(found))

    def _judge_rest(self, work: _Work, judge: Judge) -> None:
        """Judge answers given before this judge was requested, and those judged by another model."""
        results = {_place(result): result for result in self._rows.results(work.evaluation.id)}
        unjudged = [place for place, one in results.items() if _is_unjudged(one, judge)]

        def ask(work: _Work, place: Place) -> Result:
            result = results[place]
            judgement = judge.judge(result.example, result.scored.answer, work.stop)
            self._rows.judged(work.evaluation.id, place, judgement)
            return result

        self._work_off(work, unjudged, ask)

    def _work_off(self, work: _Work, places: Sequence[Place], do: Callable[[_Work, Place], Result]) -> None:
        """Process all keys in order, a few in parallel; on an error the tasks in progress are stopped."""
        at_once = work.evaluation.parallel or AT_ONCE
        with ThreadPoolExecutor(at_once, thread_name_prefix="evaluation") as pool, work.broken_off():
            under_way: set[Future[Result]] = set()
            for place in places:
                if len(under_way) == at_once:
                    ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    work.check(ended)
                work.stop.check()
                # The copied context holds the user it runs for.
                under_way.add(pool.submit(copy_context().run, do, work, place))
            while under_way:
                ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                work.check(ended)

    def _answer(self, work: _Work, place: Place) -> Result:
        variant, number, repetition = place
        example = work.examples[number]
        unanswered = Result(variant, number, repetition, example, "", "failed")
        try:
            result = self._ask(work, unanswered)
        except CragError as error:
            result = replace(unanswered, error=str(error))
        if self._rows.keep(work.evaluation.id, result, work.seconds()):
            work.stop.request()
        return result

    def _ask(self, work: _Work, unanswered: Result) -> Result:
        """Answer and score one question. Raises `Stopped`, `CragError`."""
        example, evaluation = unanswered.example, work.evaluation
        options = evaluation.variants[unanswered.variant].options
        run = self._runs.start(None, example.question, options, evaluation_id=evaluation.id)
        with work.stop.breaking(lambda: self._runs.stop(run.id)):
            trace = self._follow(run.id)
        if trace.state == "stopped":
            raise Stopped
        result = replace(unanswered, run_id=run.id, state=trace.state, error=f"{trace.error} {trace.remedy}".strip())
        if trace.state != "done":
            return result
        result = replace(result, scored=score(example, trace, self._runs.calls(run.id)))
        return replace(result, judged=_judgement(work, result))

    def _follow(self, run_id: str) -> Trace:
        """Return the final trace of a run; consent is declined, since nobody can be asked."""
        while True:
            trace = Trace().apply_all(event for _, event in self._runs.attach(run_id).follow())
            if not trace.waiting:
                return trace
            self._runs.answer_consent(run_id, None, NOBODY)


class _Work:
    """State shared by all threads of one evaluation; `stop` may come from a user, a fault or another process."""

    def __init__(self, evaluation: Evaluation, examples: Sequence[Example], judge: Judge | None, stop: Stop) -> None:
        self.evaluation = evaluation
        self.examples = examples
        self.judge = judge
        self.stop = stop
        self._began = time.monotonic() - evaluation.seconds
        self._failed = 0
        self._lock = threading.Lock()

    def seconds(self) -> float:
        """Return the time spent on it so far, earlier processes included."""
        return time.monotonic() - self._began

    def check(self, ended: set[Future[Result]]) -> None:
        """Raise the error of a finished task, such as `Stopped`, or `TooManyFailures`."""
        for future in ended:
            result = future.result()
            with self._lock:
                self._failed = self._failed + 1 if result.state != "done" else 0
                if self._failed >= _FAILURES_IN_A_ROW:
                    raise TooManyFailures(f"{self._failed} questions in a row could not be answered: {result.error}")

    @contextmanager
    def broken_off(self) -> Iterator[None]:
        """Request a stop of the tasks in progress if the block raises."""
        try:
            yield
        except BaseException:
            self.stop.request()
            raise


def _places(evaluation: Evaluation) -> list[Place]:
    """Return the keys of all wanted answers, variant by variant, so that no model is loaded twice."""
    return [
        (variant, number, repetition)
        for variant in range(len(evaluation.variants))
        for repetition in range(1, evaluation.repetitions + 1)
        for number in range(evaluation.size)
    ]


def _place(result: Result) -> Place:
    return result.variant, result.number, result.repetition


def _judgement(work: _Work, result: Result) -> Judgement | None:
    if work.judge is None or not _can_be_judged(result):
        return None
    return work.judge.judge(result.example, result.scored.answer, work.stop)


def _is_unjudged(result: Result, judge: Judge) -> bool:
    by_it = result.judged is not None and result.judged.model == judge.name
    return _can_be_judged(result) and not by_it


def _can_be_judged(result: Result) -> bool:
    """Return whether there is an answer, which a refusal is not, and a reference to judge it by."""
    answered = result.state == "done" and result.scored.outcome != "not_answered"
    return answered and result.example.has_reference
