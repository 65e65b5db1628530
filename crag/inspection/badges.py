"""Badges of a run: a colour, a Material Symbols icon and a word. The colour only repeats the word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from crag.amounts import count, duration
from crag.runs import Trace
from crag.types import Action, Outcome, Ruling, Strength, Verdict, VerdictWord

Colour = Literal["green", "orange", "red", "blue", "gray"]


@dataclass(frozen=True, slots=True)
class Badge:
    """One badge; `number` is shown next to the word, where there is one."""

    colour: Colour
    icon: str
    word: str
    number: str = ""


VERDICTS: dict[VerdictWord, Badge] = {
    "relevant": Badge("green", "check_circle", "relevant"),
    "ambiguous": Badge("orange", "contrast", "ambiguous"),
    "irrelevant": Badge("red", "cancel", "irrelevant"),
    "unknown": Badge("gray", "help", "unknown"),
}
STRENGTHS: dict[Strength, Badge] = {
    "supported": Badge("green", "check_circle", "supported"),
    "weak": Badge("gray", "contrast", "weak source"),
    "unsupported": Badge("orange", "link_off", "no source"),
}
RULINGS: dict[Ruling, Badge] = {
    "use": Badge("green", "person_check", "you use it"),
    "drop": Badge("red", "person_remove", "you dropped it"),
}
ACTIONS: dict[Action | None, Badge] = {
    "correct": Badge("green", "task_alt", "correct"),
    "ambiguous": Badge("orange", "contrast", "ambiguous"),
    "incorrect": Badge("red", "travel_explore", "incorrect"),
    None: Badge("gray", "remove_circle_outline", "policy off"),
}
OUTCOMES: dict[Outcome, Badge] = {
    "documents": Badge("green", "task_alt", "from your documents"),
    "documents_and_web": Badge("orange", "contrast", "documents and web"),
    "web": Badge("blue", "travel_explore", "from the web"),
    "not_answered": Badge("gray", "block", "not in your documents"),
}


def of_verdict(verdict: Verdict | None) -> Badge:
    """Return the badge of a verdict with the grader's score; an override shows the user's ruling with that score."""
    if verdict is None:
        return Badge("gray", "pending", "not graded")
    badge = RULINGS[verdict.ruling] if verdict.ruling else VERDICTS[verdict.word]
    return badge if verdict.score is None else replace(badge, number=f"{verdict.score:.2f}")


def of_answer(trace: Trace) -> Badge:
    """Return the badge of an answer: where it comes from, or why there is none."""
    if trace.error_code == "consent_needed":
        return Badge("orange", "cloud_upload", "nothing was sent")
    if trace.state == "failed":
        return Badge("red", "error", "broken off" if trace.text else "not answered")
    if trace.state in {"stopped", "interrupted"}:
        return Badge("gray", "stop_circle", trace.state)
    if trace.waiting and trace.waiting.from_answer:
        return Badge("orange", "link_off", "no source")
    if trace.waiting and trace.action == "ambiguous":
        return Badge("orange", "contrast", "partly in your documents")
    return OUTCOMES[trace.outcome or "not_answered"]


def facts(trace: Trace) -> list[str]:
    """Return the facts next to an answer's badge: how retrieval was judged, how much was used, how long it took.

    They contain no text from documents or the web.
    """
    if trace.waiting and trace.waiting.from_answer:
        return ["a sentence of the answer rests on nothing that was found"]
    told = [f"retrieval {trace.action}"] if trace.action else []
    told += [used] if (used := _used(trace)) else []
    if trace.seconds is not None and trace.outcome != "not_answered":
        told.append(duration(trace.seconds))
    return told


def _used(trace: Trace) -> str:
    library, web = trace.found.get("library", ()), trace.found.get("web", ())
    used = {cited.passage_id for cited in trace.citations}
    refused = trace.outcome == "not_answered" or (trace.waiting and trace.action == "incorrect")
    dropped = sum(trace.verdicts[found].ruling == "drop" for found in library if found in trace.verdicts)
    if refused and dropped:
        return f"you dropped {dropped} of {count(len(library), 'passage')}"
    if refused and library:
        nearest = f"none of the {len(library)} nearest passages answers" if len(library) > 1 else "it does not answer"
        return f"{nearest} this"
    if used & set(web):
        return f"{len(used & set(web))} of {count(len(web), 'result')} used"
    return f"{len(used)} of {count(len(library), 'passage')} used" if library and trace.outcome else ""
