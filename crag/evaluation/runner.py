"""The runner of one evaluation: asks questions in parallel, scores each answer, and has an LLM judge grade it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from typing import Any

from crag.cancellation import Cancellation
from crag.errors import BadRequest, CragError, ModelFault, Stopped
from crag.evaluation.records import EvaluationRows, ResultKey
from crag.evaluation.scorers import score_run
from crag.evaluation.types import Environment, Evaluation, EvaluationResult, Example, Judgement
from crag.grading.model_replies import (
    ask_with_retry,
    fence_text,
    raise_unless_transient,
    remaining_tokens,
    shorten_reason,
    truncate_to_tokens,
)
from crag.graph.policy import NOBODY_TO_ASK
from crag.options import RunOptions
from crag.prompts import compose_prompt, find_json_object, strip_thoughts
from crag.protocols import ChatModel
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.text.language import detect_language
from crag.types import Prompt

_MAX_POINTS = 10  # points: coarse enough for a model to use consistently, fine enough to fit a cutoff
# The reason comes first: a model that writes its points first only rationalizes them.
JUDGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "points": {"type": "integer", "minimum": 0, "maximum": _MAX_POINTS},
    },
    "required": ["reason", "points"],
}
_POINTS_PATTERN = re.compile(
    rf"\s*(\d+)(?:\.0+)?(?:\s*/\s*{_MAX_POINTS})?\s*"
)  # 0.9 is rejected: the scale of a fraction is unknown
_SCORE_KEYS = ("points", "score")
_UNREADABLE_REPLY = "The judge's reply could not be read."
_CLIPPED_NOTE = "(It was shown only the beginning of the answer.)"


class Judge:
    """Has `model` judge one answer at a time; thread-safe."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The exact model, such as `ollama:llama3.1:8b@365c0bd3c000`."""
        return self._model.fingerprint

    def judge(self, example: Example, answer: str, stop: Cancellation) -> Judgement:
        """Return its score and reason.

        The score is None if the reply was unreadable twice, or after a temporary fault. Without a reference or an
        answer the model is not asked. Raises `Stopped`, or `ModelFault` if the user must act.
        """
        if not example.has_reference:
            return Judgement(self.name, None, "There is no reference answer to compare with.")
        if not answer.strip():
            return Judgement(self.name, 0.0, "There is no answer.")
        part = self._clip_answer(example, answer.strip())
        marked = fence_text("answer", part, example.question)
        try:
            found, _ = ask_with_retry(
                self._model, _compose_judge_prompts(example, marked), JUDGE_SCHEMA, parse_judge_reply, stop
            )
        except ModelFault as fault:
            raise_unless_transient(fault)
            return Judgement(self.name, None, f"Could not be judged: {fault.message}")
        score, reason = found or (None, _UNREADABLE_REPLY)
        return Judgement(self.name, score, reason if part == answer.strip() else f"{reason} {_CLIPPED_NOTE}".strip())

    def _clip_answer(self, example: Example, answer: str) -> str:
        around = (prompt.text for prompt in _compose_judge_prompts(example, ""))
        return truncate_to_tokens(answer, remaining_tokens(self._model, *around), self._model)


def _compose_judge_prompts(example: Example, answer: str) -> tuple[Prompt, ...]:
    return compose_prompt(
        "judge",
        detect_language(example.question),
        question=example.question,
        references=_bullet_list(example.references),
        must_mention=_bullet_list(example.must_mention),
        answer=answer,
    )


def _bullet_list(texts: tuple[str, ...]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or "-"


def parse_judge_reply(reply: str) -> tuple[float, str] | None:
    """Parse the score in 0..1 and the reason from a reply or a bare number; None without a score."""
    written = strip_thoughts(reply)
    found = find_json_object(written)
    if found is None:
        score = _score_from_points(written)
        return None if score is None else (score, "")
    score = _score_from_points(next((found[key] for key in _SCORE_KEYS if key in found), None))
    return None if score is None else (score, shorten_reason(str(found.get("reason") or "")))


def _score_from_points(points: object) -> float | None:
    """Convert points to a score in 0..1; None for anything else, such as `true`, `maybe` or 85."""
    match = None if isinstance(points, bool) else _POINTS_PATTERN.fullmatch(str(points))
    score = float(match[1]) / _MAX_POINTS if match else 2.0
    return score if score <= 1 else None


DEFAULT_PARALLEL_QUESTIONS = 2  # one question waits for the disk or a model while the other is processed
_MAX_CONSECUTIVE_FAILURES = 3

LookUpEnvironment = Callable[[RunOptions, str | None], Environment]
OpenJudge = Callable[[str], Judge]


class TooManyFailures(CragError):
    """Too many consecutive questions failed; the cause would fail the others too."""

    code = "too_many_failures"


class EvaluationRunner:
    """Runs one evaluation at a time."""

    def __init__(
        self, rows: EvaluationRows, runs: RunService, look_up_environment: LookUpEnvironment, open_judge: OpenJudge
    ) -> None:
        """Create the runner.

        `look_up_environment` returns the environment of some options for a user; `open_judge` opens a judge model by
        name.
        """
        self._rows = rows
        self._runs = runs
        self._look_up_environment = look_up_environment
        self._open_judge = open_judge

    def run(self, evaluation_id: str, stop: Cancellation) -> None:
        """Answer everything unanswered, then judge everything unjudged.

        Raises `Stopped`, or `CragError` if the evaluation cannot continue.
        """
        evaluation = self._rows.get(evaluation_id)
        judge = self._open_judge(evaluation.judge) if evaluation.judge else None
        work = _SharedWork(evaluation, self._rows.examples(evaluation_id), judge, stop)
        if not evaluation.is_answered:
            self._answer_missing(work)
        if judge:
            self._judge_missing(work, judge)

    def _answer_missing(self, work: _SharedWork) -> None:
        work.evaluation = self._record_environments(work.evaluation)
        done = self._rows.answered_keys(work.evaluation.id)
        self._run_parallel(work, [key for key in _wanted_result_keys(work.evaluation) if key not in done], self._answer)
        self._record_environments(work.evaluation)

    def _record_environments(self, evaluation: Evaluation) -> Evaluation:
        """Store the environment of each variant; it must stay the same until the last answer."""
        user = evaluation.owner_id or None
        found = [replace(one, environment=self._look_up_environment(one.options, user)) for one in evaluation.variants]
        for before, now in zip(evaluation.variants, found, strict=True):
            if before.environment not in (Environment(), now.environment):
                raise BadRequest(
                    "The model or the documents have changed since it started.",
                    "Start a new evaluation instead of mixing the two.",
                )
        self._rows.set_variants(evaluation.id, found)
        return replace(evaluation, variants=tuple(found))

    def _judge_missing(self, work: _SharedWork, judge: Judge) -> None:
        """Judge answers given before this judge was requested, and those judged by another model."""
        results = {_result_key(result): result for result in self._rows.results(work.evaluation.id)}
        unjudged = [key for key, one in results.items() if _needs_judging(one, judge)]

        def ask(work: _SharedWork, key: ResultKey) -> EvaluationResult:
            result = results[key]
            judgement = judge.judge(result.example, result.scored.answer, work.stop)
            self._rows.save_judgement(work.evaluation.id, key, judgement)
            return result

        self._run_parallel(work, unjudged, ask)

    def _run_parallel(
        self,
        work: _SharedWork,
        keys: Sequence[ResultKey],
        process: Callable[[_SharedWork, ResultKey], EvaluationResult],
    ) -> None:
        """Process all keys in order, a few in parallel; on an error the tasks in progress are stopped."""
        at_once = work.evaluation.parallel or DEFAULT_PARALLEL_QUESTIONS
        with ThreadPoolExecutor(at_once, thread_name_prefix="evaluation") as pool, work.stop_on_error():
            under_way: set[Future[EvaluationResult]] = set()
            for key in keys:
                if len(under_way) == at_once:
                    ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    work.check(ended)
                work.stop.check()
                # The copied context holds the user it runs for.
                under_way.add(pool.submit(copy_context().run, process, work, key))
            while under_way:
                ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                work.check(ended)

    def _answer(self, work: _SharedWork, key: ResultKey) -> EvaluationResult:
        variant, number, repetition = key
        example = work.examples[number]
        unanswered = EvaluationResult(variant, number, repetition, example, "", "failed")
        try:
            result = self._ask(work, unanswered)
        except CragError as error:
            result = replace(unanswered, error=str(error))
        if self._rows.save_result(work.evaluation.id, result, work.seconds()):
            work.stop.cancel()
        return result

    def _ask(self, work: _SharedWork, unanswered: EvaluationResult) -> EvaluationResult:
        """Answer and score one question. Raises `Stopped`, `CragError`."""
        example, evaluation = unanswered.example, work.evaluation
        options = evaluation.variants[unanswered.variant].options
        run = self._runs.start(None, example.question, options, evaluation_id=evaluation.id)
        with work.stop.on_cancel(lambda: self._runs.stop(run.id)):
            trace = self._wait_for_trace(run.id)
        if trace.state == "stopped":
            raise Stopped
        result = replace(unanswered, run_id=run.id, state=trace.state, error=f"{trace.error} {trace.remedy}".strip())
        if trace.state != "done":
            return result
        result = replace(result, scored=score_run(example, trace, self._runs.calls(run.id)))
        return replace(result, judged=_judge_result(work, result))

    def _wait_for_trace(self, run_id: str) -> Trace:
        """Return the final trace of a run; consent is declined, since nobody can be asked."""
        while True:
            trace = Trace().apply_all(event for _, event in self._runs.attach(run_id).follow())
            if not trace.waiting:
                return trace
            self._runs.answer_consent(run_id, None, NOBODY_TO_ASK)


class _SharedWork:
    """State shared by all threads of one evaluation; `stop` may come from a user, a fault or another process."""

    def __init__(
        self, evaluation: Evaluation, examples: Sequence[Example], judge: Judge | None, stop: Cancellation
    ) -> None:
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

    def check(self, ended: set[Future[EvaluationResult]]) -> None:
        """Raise the error of a finished task, such as `Stopped`, or `TooManyFailures`."""
        for future in ended:
            result = future.result()
            with self._lock:
                self._failed = self._failed + 1 if result.state != "done" else 0
                if self._failed >= _MAX_CONSECUTIVE_FAILURES:
                    raise TooManyFailures(f"{self._failed} questions in a row could not be answered: {result.error}")

    @contextmanager
    def stop_on_error(self) -> Iterator[None]:
        """Request a stop of the tasks in progress if the block raises."""
        try:
            yield
        except BaseException:
            self.stop.cancel()
            raise


def _wanted_result_keys(evaluation: Evaluation) -> list[ResultKey]:
    """Return the keys of all wanted answers, variant by variant, so that no model is loaded twice."""
    return [
        (variant, number, repetition)
        for variant in range(len(evaluation.variants))
        for repetition in range(1, evaluation.repetitions + 1)
        for number in range(evaluation.size)
    ]


def _result_key(result: EvaluationResult) -> ResultKey:
    return result.variant, result.number, result.repetition


def _judge_result(work: _SharedWork, result: EvaluationResult) -> Judgement | None:
    if work.judge is None or not _can_be_judged(result):
        return None
    return work.judge.judge(result.example, result.scored.answer, work.stop)


def _needs_judging(result: EvaluationResult, judge: Judge) -> bool:
    by_it = result.judged is not None and result.judged.model == judge.name
    return _can_be_judged(result) and not by_it


def _can_be_judged(result: EvaluationResult) -> bool:
    """Return whether there is an answer, which a refusal is not, and a reference to judge it by."""
    answered = result.state == "done" and result.scored.outcome != "not_answered"
    return answered and result.example.has_reference
