"""The way that a run took: its steps, its action, and whether it was right to refuse."""

from __future__ import annotations

from crag.evaluate.datasets.examples import Example
from crag.runs import Trace


def score_route(example: Example, trace: Trace) -> dict[str, float]:
    """`steps_match`, exactly one of those accepted, and `action_match`; without grading there is no action."""
    scores: dict[str, float] = {}
    if example.steps:
        scores["steps_match"] = float(tuple(trace.trajectory) in example.steps)
    if example.action and trace.action:
        scores["action_match"] = float(trace.action == example.action)
    return scores


def score_refusal(example: Example, trace: Trace) -> dict[str, float]:
    """`refusal_right`, and `answered` or `refused`, where it is known whether there is an answer."""
    answerable = is_answerable(example)
    if answerable is None:
        return {}
    refused = trace.outcome == "not_answered"
    kind, done = ("answered", not refused) if answerable else ("refused", refused)
    return {"refusal_right": float(refused != answerable), kind: float(done)}


def is_answerable(example: Example) -> bool | None:
    """Whether there is an answer: as it says, or since one is known; None also where it is not in the documents.

    What the documents are expected not to hold can be answered by a web search alone: where none may be made, to refuse
    is not wrong, and with one, to answer is not.
    """
    if example.answerable is not None or example.action == "incorrect":
        return example.answerable
    return True if example.can_be_right else None
