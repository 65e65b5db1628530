"""Finished runs and results, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

from crag.evaluation.scorers import score_run
from crag.evaluation.types import EvaluationResult, Example, Judgement, ScoredAnswer
from crag.runs.trace import Step, Trace
from crag.types import Outcome, Passage, RunState, Verdict, VerdictWord

REFUSAL = "**I found no answer in your documents.** The nearest passage says: Paris is the capital of France."


def answered(text: str, outcome: Outcome = "documents", **known: object) -> Trace:
    return Trace(text=text, outcome=outcome, state="done", seconds=2.0, **known)  # type: ignore[arg-type]


def refused() -> Trace:
    return answered(REFUSAL, "not_answered")


def found(*passages: Passage, words: Sequence[VerdictWord] = (), scores: Sequence[float | None] = ()) -> Trace:
    """A run that found these passages in this order, with the verdicts on the first of them."""
    verdicts = {
        one.id: Verdict(one.id, word, value, "Because.")
        for one, word, value in zip(passages, words, scores, strict=False)
    }
    held = {one.id: one for one in passages}
    return answered("So it is.", passages=held, found={"library": tuple(held)}, verdicts=verdicts)


def steps(*taken: tuple[str, float]) -> list[Step]:
    return [Step(node, 0.0, "done", seconds) for node, seconds in taken]  # type: ignore[arg-type]


def result(
    key: str,
    text: float | None = None,
    *,
    judged: float | None = None,
    repetition: int = 1,
    state: RunState = "done",
    example: Example | None = None,
    scored: ScoredAnswer | None = None,
) -> EvaluationResult:
    """A result whose text agrees with the reference by `text`; `run_id` tells key, repetition and that."""
    example = example or Example(key, f"Question {key}?", references=("Paris",), answerable=True)
    judgement = None if judged is None else Judgement("judge", judged, "Because.")
    scored = scored or ScoredAnswer(outcome="documents", text_score=text, scores={"contained": text or 0.0})
    return EvaluationResult(0, 0, repetition, example, f"{key}/{repetition}/{text}", state, "", scored, judgement)


def scored_result(example: Example, trace: Trace, repetition: int = 1) -> EvaluationResult:
    return EvaluationResult(0, 0, repetition, example, "run", "done", "", score_run(example, trace))
