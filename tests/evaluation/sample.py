"""A small evaluation whose figures can be counted by hand: three questions, two variants, two repetitions."""

from __future__ import annotations

from crag.evaluation.types import (
    Environment,
    Evaluation,
    EvaluationResult,
    Example,
    GradedPassage,
    Judgement,
    NodeCost,
    ScoredAnswer,
    Variant,
)
from crag.options import RunOptions, apply_changes

STEPS = ("retrieve_documents", "grade_document_retrieval", "generate_answer")
EXAMPLES = (
    Example("bridge", "When was the bridge opened?", ("1931",), (STEPS,), "correct", True, ("towns",)),
    Example("mayor", "Who is the mayor?", ("Ada Alder",), (STEPS,), "correct", True, phrases=("the mayor",)),
    Example("moon", "Who owns the moon?", action="incorrect", answerable=False),
)
ENVIRONMENT = Environment("builtin", "f1", "builtin@1", "builtin:wordllama", "s1", "library-digest", 40, 1_284, "0.1.0")


def evaluation(count: int = 2, **changed: object) -> Evaluation:
    """The evaluation with so many variants, which differ in k; whatever else is to be otherwise by its name."""
    values = {
        "id": "e1",
        "name": "Towns",
        "kind": "grid" if count > 1 else "plain",
        "dataset": "towns",
        "dataset_id": "d1",
        "digest": "abc",
        "size": len(EXAMPLES),
        "variants": tuple(
            Variant(f"k {k}", apply_changes(RunOptions(), {"k": k}), environment=ENVIRONMENT)
            for k in range(1, count + 1)
        ),
        "repetitions": 2,
        "judge": "",
        "parallel": 1,
        "owner_id": "browser-key",
        "state": "done",
        "fault": "",
        "started_at": 1_800_000_000.0,
        "ended_at": 1_800_000_060.0,
        "seconds": 60.0,
        "done": 6 * count,
    }
    return Evaluation(**(values | changed))  # type: ignore[arg-type]


def results(variants: int = 2) -> list[EvaluationResult]:
    """In the first variant the mayor is not known, in the second all is right; the last question is always refused."""
    return [
        _result(variant, number, repetition)
        for variant in range(variants)
        for number in range(len(EXAMPLES))
        for repetition in (1, 2)
    ]


def _result(variant: int, number: int, repetition: int) -> EvaluationResult:
    run = f"run-{variant}-{number}-{repetition}"
    example = EXAMPLES[number]
    if not example.answerable:
        return EvaluationResult(variant, number, repetition, example, run, "done", scored=_refusal())
    right = number == 0 or variant == 1
    return EvaluationResult(variant, number, repetition, example, run, "done", scored=_answer(example, right))


def _answer(example: Example, right: bool) -> ScoredAnswer:
    return ScoredAnswer(
        answer=f"It is {example.references[0]}. [1]" if right else "It is somebody else. [1]",
        action="correct",
        outcome="documents",
        steps=STEPS,
        best=0.91,
        text_score=1.0 if right else 0.0,
        scores={"contained": float(right), "steps_match": 1.0, "refusal_right": 1.0, "answered": 1.0},
        grades=(GradedPassage(0.91, True, right), GradedPassage(0.2, False, False)),
        nodes={"retrieve": NodeCost(0.01), "generate": NodeCost(0.5, 300, 20)},
        seconds=0.6,
        tokens=320,
    )


def _refusal() -> ScoredAnswer:
    scores = {"refusal_right": 1.0, "refused": 1.0, "action_match": 1.0}
    return ScoredAnswer(
        "", "incorrect", "not_answered", STEPS, 0.1, None, scores, (), {"retrieve": NodeCost(0.01)}, 0.2
    )


def judged(result: EvaluationResult, score: float | None, reason: str) -> EvaluationResult:
    """The result with the word of a judge."""
    from dataclasses import replace

    return replace(result, judged=Judgement("ollama:judge", score, reason))
