"""Step descriptions: the steps of a run in words, with the passages they judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crag.events import NODES
from crag.inspection import run_labels
from crag.inspection.run_labels import Badge, describe_grader, describe_thresholds, step_count_label
from crag.runs.trace import Step, Trace
from crag.text.formatting import format_count, format_duration, format_place
from crag.text.sanitization import to_one_line
from crag.types import Passage, RunState, Strip

_STATE_ICONS: dict[RunState, str] = {
    "running": "pending",
    "waiting": "pending",
    "stopped": "stop_circle",
    "interrupted": "stop_circle",
    "failed": "error",
}


@dataclass(frozen=True, slots=True)
class PassageDescription:
    """A judged passage, with its strips where it was cut."""

    badge: Badge
    place: str
    title: str
    reason: str
    text: str
    strips: Sequence[Strip]


@dataclass(frozen=True, slots=True)
class StepDescription:
    """One step of the trace: its name, counts and duration, its lines, the passages it judged."""

    name: str
    facts: str
    badge: Badge | None
    lines: Sequence[str]
    passages: Sequence[PassageDescription]
    meter: tuple[int, int] | None
    opened: bool
    state: RunState
    icon: str


def describe_step(step: Step, trace: Trace) -> StepDescription:
    """Describe one step of the trace."""
    decided = step.node == "decide" and bool(trace.action_reason)
    facts = [] if step.node == "decide" else [step_count_label(step, trace)]
    if step.seconds is not None and step.node not in ("decide", "check_answer"):
        facts.append(format_duration(step.seconds))
    prompt = trace.prompt if step.node == "generate" else None
    return StepDescription(
        name=NODES[step.node].title,
        facts=" · ".join(fact for fact in facts if fact),
        badge=run_labels.ACTION_BADGES[trace.action] if decided else None,
        lines=[line for line in _step_lines(step, trace) if line],
        passages=_step_passages(step, trace),
        meter=(min(prompt.tokens, prompt.window), prompt.window) if prompt and prompt.window else None,
        opened=step.node in ("grade_documents", "decide", "web_search"),
        state=step.state,
        icon=_STATE_ICONS.get(step.state, "check_circle"),
    )


def describe_sent_query(trace: Trace) -> str:
    """Return which query was sent to which web search; empty if none was."""
    sent = f"Sent to {to_one_line(trace.web_provider)}: “{to_one_line(trace.query_sent)}”"
    return sent if trace.query_sent else ""


def _step_lines(step: Step, trace: Trace) -> Iterable[str]:
    """Yield the lines that a step reported; empty ones are dropped by the caller."""
    match step.node:
        case "condense_question":
            yield f"“{to_one_line(trace.condensed)}”" if trace.condensed else ""
        case "retrieve" if trace.found.get("library"):
            yield f"Nearest by meaning and by words, with {to_one_line(trace.embedder)}."
        case "decide":
            yield to_one_line(trace.action_reason)
            yield _grading_line(trace)
            yield "" if trace.step("web_search") else to_one_line(trace.web_skipped)
        case "transform_query":
            yield f"“{to_one_line(trace.query)}”" if trace.query else ""
        case "web_search":
            yield describe_sent_query(trace)
            yield to_one_line(trace.web_skipped)
        case "generate":
            yield _prompt_line(trace)
        case "check_answer":
            yield from (
                f"{'No source' if one.strength == 'unsupported' else 'Weak source'}: {to_one_line(one.sentence)}"
                for one in trace.sentences
                if one.strength != "supported"
            )


def _grading_line(trace: Trace) -> str:
    held = trace.thresholds
    if held is None or not trace.verdicts:
        return ""
    grader = to_one_line(", ".join(part for part in describe_grader(trace.grader) if part))
    return f"Graded by {grader} · {describe_thresholds(held)}"


def _prompt_line(trace: Trace) -> str:
    prompt = trace.prompt
    if prompt is None:
        return ""
    if prompt.window == 0:
        return "Quoted from the passages; no language model was running."
    left_out = f"{format_count(prompt.left_out, 'strip')} left out" if prompt.left_out else "nothing left out"
    return f"Prompt {prompt.tokens:,} of {prompt.window:,} tokens · {left_out}"


def _step_passages(step: Step, trace: Trace) -> list[PassageDescription]:
    """Return the passages that a step judged or cut into strips."""
    if step.node == "refine_knowledge":
        return [_describe_passage(trace.passages[number], trace, cut) for number, cut in trace.strips.items()]
    origin = {"grade_documents": "library", "web_search": "web"}.get(step.node)
    found = trace.found.get(origin, ()) if origin else ()  # type: ignore[call-overload]
    return [_describe_passage(trace.passages[number], trace, ()) for number in found]


def _describe_passage(passage: Passage, trace: Trace, cut: Sequence[Strip]) -> PassageDescription:
    verdict = trace.verdicts.get(passage.id)
    return PassageDescription(
        badge=run_labels.verdict_badge(verdict),
        place=format_place(to_one_line(passage.title), passage.page, page_first=True),
        title=to_one_line(passage.title),
        reason=to_one_line(verdict.reason) if verdict else "",
        text=to_one_line(passage.text),
        strips=[Strip(to_one_line(strip.text), strip.score, strip.kept) for strip in cut],
    )
