"""Labels of runs and steps: badges, names, counts and outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from crag.models.model_choice import model_label
from crag.options import GRADERS, OPTIONS
from crag.runs.trace import Step, Trace
from crag.text.formatting import format_count, format_duration, format_score
from crag.text.sanitization import to_one_line
from crag.types import Action, Outcome, Ruling, SupportStrength, Thresholds, Verdict, VerdictWord

Colour = Literal["green", "orange", "red", "blue", "gray"]


@dataclass(frozen=True, slots=True)
class Badge:
    """One badge; `number` is shown next to the word, where there is one."""

    colour: Colour
    icon: str
    word: str
    number: str = ""


VERDICT_BADGES: dict[VerdictWord, Badge] = {
    "relevant": Badge("green", "check_circle", "relevant"),
    "ambiguous": Badge("orange", "contrast", "ambiguous"),
    "irrelevant": Badge("red", "cancel", "irrelevant"),
    "unknown": Badge("gray", "help", "unknown"),
}
STRENGTH_BADGES: dict[SupportStrength, Badge] = {
    "supported": Badge("green", "check_circle", "supported"),
    "weak": Badge("gray", "contrast", "weak source"),
    "unsupported": Badge("orange", "link_off", "no source"),
}
RULING_BADGES: dict[Ruling, Badge] = {
    "use": Badge("green", "person_check", "you use it"),
    "drop": Badge("red", "person_remove", "you dropped it"),
}
ACTION_BADGES: dict[Action | None, Badge] = {
    "correct": Badge("green", "task_alt", "correct"),
    "ambiguous": Badge("orange", "contrast", "ambiguous"),
    "incorrect": Badge("red", "travel_explore", "incorrect"),
    None: Badge("gray", "remove_circle_outline", "policy off"),
}
OUTCOME_BADGES: dict[Outcome, Badge] = {
    "documents": Badge("green", "task_alt", "from your documents"),
    "documents_and_web": Badge("orange", "contrast", "documents and web"),
    "web": Badge("blue", "travel_explore", "from the web"),
    "not_answered": Badge("gray", "block", "not in your documents"),
}


def verdict_badge(verdict: Verdict | None) -> Badge:
    """Return the badge of a verdict with the grader's score; an override shows the user's ruling with that score."""
    if verdict is None:
        return Badge("gray", "pending", "not graded")
    badge = RULING_BADGES[verdict.ruling] if verdict.ruling else VERDICT_BADGES[verdict.word]
    return badge if verdict.score is None else replace(badge, number=f"{verdict.score:.2f}")


def answer_badge(trace: Trace) -> Badge:
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
    return OUTCOME_BADGES[trace.outcome or "not_answered"]


def answer_facts(trace: Trace) -> list[str]:
    """Return the facts next to an answer's badge: how retrieval was judged, how much was used, how long it took.

    They contain no text from documents or the web.
    """
    if trace.waiting and trace.waiting.from_answer:
        return ["a sentence of the answer rests on nothing that was found"]
    told = [f"retrieval {trace.action}"] if trace.action else []
    told += [used] if (used := _passages_used(trace)) else []
    if trace.seconds is not None and trace.outcome != "not_answered":
        told.append(format_duration(trace.seconds))
    return told


def _passages_used(trace: Trace) -> str:
    library, web = trace.found.get("library", ()), trace.found.get("web", ())
    used = {cited.passage_id for cited in trace.citations}
    refused = trace.outcome == "not_answered" or (trace.waiting and trace.action == "incorrect")
    dropped = sum(trace.verdicts[found].ruling == "drop" for found in library if found in trace.verdicts)
    if refused and dropped:
        return f"you dropped {dropped} of {format_count(len(library), 'passage')}"
    if refused and library:
        nearest = f"none of the {len(library)} nearest passages answers" if len(library) > 1 else "it does not answer"
        return f"{nearest} this"
    if used & set(web):
        return f"{len(used & set(web))} of {format_count(len(web), 'result')} used"
    return f"{len(used)} of {format_count(len(library), 'passage')} used" if library and trace.outcome else ""


_CHANGE_LABELS = {"same settings": "asked again", "model builtin": "model Built-in engine"} | {
    option.describe(value): f"{option.describe(value).removesuffix(value)}{label}"
    for option in OPTIONS.values()
    for value, (label, _) in option.values.items()
}


def format_option_value(name: str, value: Any) -> str:
    """Return the value of an option in words, with the display names of models; plain text."""
    shown = OPTIONS[name].format(value)
    return model_label(shown) if OPTIONS[name].kind == "model" else shown


def describe_option(name: str, value: Any) -> str:
    """Describe an option with a value in display names, such as “policy Strict”."""
    return describe_change(OPTIONS[name].describe(value))


def describe_change(change: str) -> str:
    """Describe a version's change with the display names of policies, graders and models."""
    return ", ".join(_CHANGE_LABELS.get(part) or _describe_model_change(part) for part in change.split(", "))


def version_label(number: int, total: int, change: str) -> str:
    """Return “Version 2 of 3” and how the version differs, on one line."""
    described = to_one_line(describe_change(change)) if change else ""
    return " · ".join(part for part in (f"Version {number} of {total}", described) if part)


def describe_grader(name: str) -> tuple[str, str]:
    """Return the display name of a grader's kind, and its model; an unknown name is returned as the kind."""
    kind, _, rest = name.partition(":")
    if kind not in GRADERS:
        return name, ""
    last = rest.rpartition("+")[2]  # in a cascade: the grader for passages that the built-in one leaves open
    model = last.partition("@")[0].rpartition("ollama:")[2]
    return GRADERS[kind][0], "" if kind == "builtin" else model


def _describe_model_change(change: str) -> str:
    """Replace the name of a model in a change by its display name."""
    role, found, name = change.partition("model ")
    return f"{role}model {model_label(name)}" if found and ":" in name else change


_UNFINISHED_LABELS = {
    "running": "running",
    "waiting": "waiting for you",
    "stopped": "stopped here",
    "failed": "failed here",
    "interrupted": "interrupted here",
}


def step_count_label(step: Step, trace: Trace) -> str:
    """Return how many passages, results, strips, tokens or sentences a node has processed; empty without a count."""
    found = trace.found.get("library", ())
    match step.node:
        case "retrieve" if "library" in trace.found:
            return f"{len(found)} of {format_count(trace.searched, 'passage')}"
        case "grade_documents":
            return f"{sum(item in trace.verdicts for item in found)} of {len(found)}"
        case "web_search" if "web" in trace.found:
            return format_count(len(trace.found["web"]), "result")
        case "refine_knowledge" if trace.strips:
            strips = [strip for cut in trace.strips.values() for strip in cut]
            return f"{sum(strip.kept for strip in strips)} of {format_count(len(strips), 'strip')} kept"
        case "generate" if trace.prompt and (trace.pieces or trace.usage.answer_tokens):
            return format_count(trace.usage.answer_tokens or trace.pieces, "token")
        case "generate" if step.state == "done" and trace.prompt is None:
            return "nothing to write from"
        case "check_answer" if trace.sentences:
            held = sum(sentence.strength != "unsupported" for sentence in trace.sentences)
            return f"{held} of {format_count(len(trace.sentences), 'sentence')} supported"
        case "check_answer" if step.state == "done":
            return "nothing to check"
    return ""


def step_outcome(step: Step, trace: Trace) -> str:
    """Return the outcome of a node: its count, the relevant passages for grading, the best score for the decision."""
    found = trace.found.get("library", ())
    if step.node == "grade_documents" and step.state == "done":
        relevant = sum(item in trace.verdicts and trace.verdicts[item].word == "relevant" for item in found)
        return f"{relevant} of {len(found)} relevant"
    return _best_score_label(trace) if step.node == "decide" else step_count_label(step, trace)


def describe_thresholds(thresholds: Thresholds) -> str:
    """Describe the scores at which verdicts change."""
    return f"relevant from {format_score(thresholds.upper)}, irrelevant below {format_score(thresholds.lower)}"


def unfinished_label(step: Step) -> str:
    """Return the state of an unfinished node; empty for a finished one."""
    return _UNFINISHED_LABELS.get(step.state, "")


def _best_score_label(trace: Trace) -> str:
    """Return the grader's best score with the threshold it is above or below."""
    verdicts = (trace.verdicts.get(item) for item in trace.found.get("library", ()))
    scores = [one.score for one in verdicts if one and one.ruling is None and one.score is not None]
    held = trace.thresholds
    if not scores or held is None:
        return ""
    best = max(scores)
    if best >= held.upper:
        return f"best {best:.2f} ≥ {format_score(held.upper)}"
    if best < held.lower:
        return f"best {best:.2f} < {format_score(held.lower)}"
    return f"best {best:.2f}, between {format_score(held.lower)} and {format_score(held.upper)}"
