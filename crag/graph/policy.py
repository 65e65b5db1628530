"""Policy: combine verdicts into an action and a route (CRAG, arXiv 2401.15884, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.options import PolicyName
from crag.text.formatting import describe_best_score, format_best_score, format_count
from crag.types import Action, Sufficiency, Thresholds, Verdict

_NO_ANSWER = "no answer found in your documents"


@dataclass(frozen=True, slots=True)
class Decision:
    """Combined verdicts. `action` is None under the policy `off`; `reason` is one sentence with figures."""

    action: Action | None
    wants_web: bool
    reason: str


def choose_action(
    policy: PolicyName,
    verdicts: Sequence[Verdict],
    thresholds: Thresholds,
    sufficiency: Sufficiency | None = None,
) -> Decision:
    """Choose the action and whether to search the web. An `unknown` verdict counts as ambiguous, never as irrelevant.

    `paper`: any relevant and complete → correct, all irrelevant → incorrect, else ambiguous; the web unless correct. If
    the passages are *insufficient* together, the action is not correct, unless the user chose to use one of them.
    `any`: the web as soon as one passage is not relevant. `none`: the web only when no passage is relevant. `off`: no
    grading, no web.
    """
    if policy == "off":
        return Decision(None, False, "Grading is off: every passage that was found is used.")
    action = _combine_verdicts(policy, verdicts)
    lacks_answer = action != "incorrect" and is_insufficient(policy, verdicts, sufficiency)
    action = "ambiguous" if lacks_answer else action
    reason = _explain_decision(policy, action, verdicts, thresholds, lacks_answer=lacks_answer)
    return Decision(action, action != "correct", reason)


def is_insufficient(policy: PolicyName, verdicts: Sequence[Verdict], sufficiency: Sufficiency | None) -> bool:
    """Return whether passages may not be answered from alone: judged insufficient, and none is used by the user's wish.

    Only `paper` asks for that assessment.
    """
    is_overruled = any(verdict.ruling == "use" for verdict in verdicts)
    return policy == "paper" and sufficiency == "insufficient" and not is_overruled


def _combine_verdicts(policy: PolicyName, verdicts: Sequence[Verdict]) -> Action:
    if all(verdict.word == "irrelevant" for verdict in verdicts):
        return "incorrect"
    relevant = [verdict for verdict in verdicts if verdict.word == "relevant"]
    if policy == "any":
        return "correct" if len(relevant) == len(verdicts) else "ambiguous"
    if policy == "paper":
        relevant = [verdict for verdict in relevant if verdict.complete is not False or verdict.ruling == "use"]
    return "correct" if relevant else "ambiguous"


def _explain_decision(
    policy: PolicyName, action: Action, verdicts: Sequence[Verdict], thresholds: Thresholds, *, lacks_answer: bool
) -> str:
    if not verdicts:
        return f"No passages found: {_NO_ANSWER}."
    explained = _explain_verdicts(policy, action, verdicts, thresholds, lacks_answer=lacks_answer)
    return " ".join(filter(None, (_describe_rulings(verdicts), explained)))


def _explain_verdicts(
    policy: PolicyName, action: Action, verdicts: Sequence[Verdict], thresholds: Thresholds, *, lacks_answer: bool
) -> str:
    own = [verdict for verdict in verdicts if verdict.ruling is None]
    relevant = sum(verdict.word == "relevant" for verdict in verdicts)
    passages = format_count(len(verdicts), "passage")
    is_one = 1 in (relevant, len(verdicts))
    counted = f"{relevant} of {passages} is relevant" if is_one else f"{relevant} of {passages} are relevant"
    is_overruled = len(own) < len(verdicts)
    if is_overruled and action == "incorrect":
        return f"{counted}: {_NO_ANSWER}."
    if is_overruled and action == "correct" and not any(one.word == "relevant" for one in own):
        return f"{counted}."
    if lacks_answer:
        return f"{counted}, but together they do not answer your question."
    best = max((verdict.score for verdict in own if verdict.score is not None), default=None)
    if best is None:
        return "No passage could be graded, so all count as partly relevant."
    return _explain_scores(policy, action, counted, best, thresholds)


def _describe_rulings(verdicts: Sequence[Verdict]) -> str:
    """Describe the user's overrides, as the start of the reason."""
    used, dropped = (sum(verdict.ruling == ruling for verdict in verdicts) for ruling in ("use", "drop"))
    if used and dropped:
        return f"You used {used} and left out {dropped}."
    if used or dropped:
        return f"You used {used}." if used else f"You left out {dropped}."
    return ""


def _explain_scores(policy: PolicyName, action: Action, counted: str, best: float, thresholds: Thresholds) -> str:
    compared = describe_best_score(best, thresholds)
    if action == "correct":
        return f"{counted}, {compared}."
    if action == "incorrect":
        return f"{counted}, {compared}: {_NO_ANSWER}."
    if policy == "any" and best >= thresholds.upper:
        return f"{counted}, but strict grading requires all of them: your documents cover this in part."
    if best >= thresholds.upper:
        return f"{counted}, but no single sentence names everything you ask for: your documents may cover this in part."
    if best < thresholds.lower:
        shown = format_best_score(best, thresholds)
        return f"{counted}, best {shown}, and some passages could not be graded: your documents may cover this in part."
    return f"{compared.capitalize()}: your documents may cover this."


SEARCH_DECLINED = "You chose to answer from your documents only."
NOBODY_TO_ASK = "Nobody could allow the search, so the web was not searched."
