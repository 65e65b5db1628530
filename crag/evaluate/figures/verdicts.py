"""Rules that call an answer right, wrong, refused or failed."""

from __future__ import annotations

from typing import Literal

from crag.evaluate.values import Cutoffs, Result

AnswerVerdict = Literal["right", "wrong", "refused", "failed", "unknown"]


def right(result: Result, cutoffs: Cutoffs) -> bool | None:
    """Return whether an answer is right, by the judge if it was judged, otherwise by comparing texts.

    None if no right answer is known. A failed or refused answer is wrong.
    """
    if not result.example.can_be_right:
        return None
    if result.state != "done" or result.scored.outcome == "not_answered":
        return False
    if result.judged and result.judged.score is not None:
        return result.judged.score >= cutoffs.judge
    return (result.scored.text_score or 0.0) >= cutoffs.text


def verdict(result: Result, cutoffs: Cutoffs) -> AnswerVerdict:
    """Return the verdict on one answer; `refused` is a wrong refusal, or one that cannot be judged."""
    if result.state != "done":
        return "failed"
    refusal = result.scored.scores.get("refusal_right")
    if result.scored.outcome == "not_answered":
        return "right" if refusal == 1.0 else "refused"
    is_right = right(result, cutoffs)
    if is_right is None:
        return "wrong" if refusal == 0.0 else "unknown"
    return "right" if is_right else "wrong"
