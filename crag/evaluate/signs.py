"""What became of an evaluation and of each of its answers: an icon with its word, the colour only repeats it."""

from __future__ import annotations

from typing import Literal

from crag.evaluate.figures.statistics import right
from crag.evaluate.values import Cutoffs, EvaluationState, Result
from crag.inspection.badges import Badge

AnswerVerdict = Literal["right", "wrong", "refused", "failed", "unknown"]

STATES: dict[EvaluationState, Badge] = {
    "queued": Badge("gray", "schedule", "waits its turn"),
    "running": Badge("blue", "pending", "running"),
    "stopped": Badge("gray", "stop_circle", "stopped"),
    "failed": Badge("red", "error", "failed"),
    "interrupted": Badge("gray", "stop_circle", "interrupted"),
    "done": Badge("green", "check", "done"),
}
VERDICTS: dict[AnswerVerdict, Badge] = {
    "right": Badge("green", "check_circle", "right"),
    "wrong": Badge("red", "cancel", "wrong"),
    "refused": Badge("orange", "block", "refused"),
    "failed": Badge("red", "error", "failed"),
    "unknown": Badge("gray", "help", "not known"),
}


def verdict(result: Result, cutoffs: Cutoffs) -> AnswerVerdict:
    """What became of one answer; `refused` is one that should have been given, or where nobody knows."""
    if result.state != "done":
        return "failed"
    refusal = result.scored.scores.get("refusal_right")
    if result.scored.outcome == "not_answered":
        return "right" if refusal == 1.0 else "refused"
    is_right = right(result, cutoffs)
    if is_right is None:
        return "wrong" if refusal == 0.0 else "unknown"
    return "right" if is_right else "wrong"
