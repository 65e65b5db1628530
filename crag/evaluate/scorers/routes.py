"""Scores of the route of a run: its steps, its action, and whether it was right to refuse."""

from __future__ import annotations

from crag.evaluate.datasets.examples import Example
from crag.runs import Trace


def score_route(example: Example, trace: Trace) -> dict[str, float]:
    """Return `steps_match` (equal to an accepted trajectory) and `action_match`; no grading means no action."""
    scores: dict[str, float] = {}
    if example.steps:
        scores["steps_match"] = float(tuple(trace.trajectory) in example.steps)
    if example.action and trace.action:
        scores["action_match"] = float(trace.action == example.action)
    return scores


def score_refusal(example: Example, trace: Trace) -> dict[str, float]:
    """Return `refusal_right`, and `answered` or `refused`, if it is known whether the question is answerable."""
    answerable = is_answerable(example)
    if answerable is None:
        return {}
    refused = trace.outcome == "not_answered"
    kind, done = ("answered", not refused) if answerable else ("refused", refused)
    return {"refusal_right": float(refused != answerable), kind: float(done)}


def is_answerable(example: Example) -> bool | None:
    """Return whether the question is answerable, as labelled or because an answer is known; None if unknown.

    Also None if the documents are not expected to hold the answer, so that only a web search can find it: without a
    search a refusal is not wrong, with one an answer is not.
    """
    if example.answerable is not None or example.action == "incorrect":
        return example.answerable
    return True if example.can_be_right else None
