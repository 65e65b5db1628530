"""Descriptions of the steps of a trace for an exported page: what each reported and the passages it judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crag.amounts import count, duration
from crag.foreign_text import one_line
from crag.inspection import badges
from crag.inspection.badges import Badge
from crag.inspection.facts import NODES, bounds, counted
from crag.inspection.names import grader_in_words
from crag.runs import Step, Trace
from crag.types import Passage, RunState, Strip

_ICONS: dict[RunState, str] = {
    "running": "pending",
    "waiting": "pending",
    "stopped": "stop_circle",
    "interrupted": "stop_circle",
    "failed": "error",
}


@dataclass(frozen=True, slots=True)
class PassageView:
    """A judged passage, with its strips where it was cut."""

    badge: Badge
    place: str
    title: str
    reason: str
    text: str
    strips: Sequence[Strip]


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of the trace: its name, counts and duration, its lines, the passages it judged."""

    name: str
    facts: str
    badge: Badge | None
    lines: Sequence[str]
    passages: Sequence[PassageView]
    meter: tuple[int, int] | None
    opened: bool
    state: RunState
    icon: str


def view_step(step: Step, trace: Trace) -> StepView:
    """Describe one step of the trace."""
    decided = step.node == "decide" and bool(trace.action_reason)
    facts = [] if step.node == "decide" else [counted(step, trace)]
    if step.seconds is not None and step.node not in ("decide", "check_answer"):
        facts.append(duration(step.seconds))
    prompt = trace.prompt if step.node == "generate" else None
    return StepView(
        name=NODES[step.node],
        facts=" · ".join(fact for fact in facts if fact),
        badge=badges.ACTIONS[trace.action] if decided else None,
        lines=[line for line in _lines(step, trace) if line],
        passages=_passages(step, trace),
        meter=(min(prompt.tokens, prompt.window), prompt.window) if prompt and prompt.window else None,
        opened=step.node in ("grade_documents", "decide", "web_search"),
        state=step.state,
        icon=_ICONS.get(step.state, "check_circle"),
    )


def _lines(step: Step, trace: Trace) -> Iterable[str]:
    """Yield the lines that a step reported; empty ones are dropped by the caller."""
    match step.node:
        case "condense_question":
            yield f"“{one_line(trace.condensed)}”" if trace.condensed else ""
        case "retrieve" if trace.found.get("library"):
            yield f"Nearest by meaning and by words, with {one_line(trace.embedder)}."
        case "decide":
            yield one_line(trace.action_reason)
            yield _judged(trace)
            yield "" if trace.step("web_search") else one_line(trace.web_skipped)
        case "transform_query":
            yield f"“{one_line(trace.query)}”" if trace.query else ""
        case "web_search":
            yield f"Sent to {one_line(trace.web_provider)}: “{one_line(trace.query_sent)}”" if trace.query_sent else ""
            yield one_line(trace.web_skipped)
        case "generate":
            yield _prompt(trace)
        case "check_answer":
            yield from (
                f"{'No source' if one.strength == 'unsupported' else 'Weak source'}: {one_line(one.sentence)}"
                for one in trace.sentences
                if one.strength != "supported"
            )


def _judged(trace: Trace) -> str:
    held = trace.thresholds
    if held is None or not trace.verdicts:
        return ""
    grader = one_line(", ".join(part for part in grader_in_words(trace.grader) if part))
    return f"Graded by {grader} · {bounds(held)}"


def _prompt(trace: Trace) -> str:
    prompt = trace.prompt
    if prompt is None:
        return ""
    if prompt.window == 0:
        return "Quoted from the passages; no language model was running."
    left_out = f"{count(prompt.left_out, 'strip')} left out" if prompt.left_out else "nothing left out"
    return f"Prompt {prompt.tokens:,} of {prompt.window:,} tokens · {left_out}"


def _passages(step: Step, trace: Trace) -> list[PassageView]:
    """Return the passages that a step judged or cut into strips."""
    if step.node == "refine_knowledge":
        return [_passage(trace.passages[number], trace, cut) for number, cut in trace.strips.items()]
    origin = {"grade_documents": "library", "web_search": "web"}.get(step.node)
    found = trace.found.get(origin, ()) if origin else ()  # type: ignore[call-overload]
    return [_passage(trace.passages[number], trace, ()) for number in found]


def _passage(passage: Passage, trace: Trace, cut: Sequence[Strip]) -> PassageView:
    verdict = trace.verdicts.get(passage.id)
    page = "" if passage.page is None else f"p. {passage.page} · "
    return PassageView(
        badge=badges.of_verdict(verdict),
        place=f"{page}{one_line(passage.title)}",
        title=one_line(passage.title),
        reason=one_line(verdict.reason) if verdict else "",
        text=one_line(passage.text),
        strips=[Strip(one_line(strip.text), strip.score, strip.kept) for strip in cut],
    )
