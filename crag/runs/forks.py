"""Going on from a run that was graded: which state and which events its next version begins with, and its change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from crag.errors import BadRequest
from crag.events import Event, Node, NodeStarted, PassageGraded, RunEnded
from crag.graph.state import State
from crag.options import RunOptions, Thresholds, changes_between
from crag.runs.trace import Trace
from crag.types import Ruling, Turn, Verdict

_NAMES = {"use": "you used", "drop": "you dropped"}
_OPTION_NAMES = {
    "model": "model",
    "k": "k",
    "policy": "policy",
    "web": "web",
    "refine": "refinement",
    "rewrite": "rewriting",
    "web_results": "web results",
    "join_web": "web results as one passage",
    "parent_context": "wider context",
    "grader": "grader",
    "grader_model": "grader model",
    "rewriter_model": "rewriter model",
    "thinking": "thinking",
    "answering.window": "window",
    "answering.answer_limit": "longest answer",
    "answering.temperature": "temperature",
    "grading.window": "grader's window",
    "grading.answer_limit": "grader's longest reply",
    "grading.temperature": "grader's temperature",
    "rewriting.window": "rewriter's window",
    "rewriting.answer_limit": "rewriter's longest reply",
    "rewriting.temperature": "rewriter's temperature",
    "thresholds": "thresholds",
    "fetch_pages": "whole pages",
    "collection": "collection",
    "source_ids": "documents",
}
_LEFT_OPEN = {
    "grader_model": "automatic",
    "rewriter_model": "automatic",
    "thresholds": "automatic",
    "collection": "all",
    "source_ids": "all",
}


def ruled(graded: State, trace: Trace, rulings: Mapping[int, Ruling]) -> State:
    """The graded state of a run under these rulings, with what its web search has found since."""
    every = {**graded.get("rulings", {}), **rulings}
    verdicts = {key: _under(verdict, every.get(key)) for key, verdict in trace.verdicts.items()}
    web = tuple(trace.passages[found] for found in trace.found.get("web", ()))
    searched = State(web_passages=web) if web else State()
    return graded | searched | State(verdicts=verdicts, rulings=every)


def begun_state(trace: Trace, history: tuple[Turn, ...]) -> State:
    """The state in which the answer of a run was begun, with what it had come to: all that is needed to go on writing.

    Taken from its events, which are there also when its process was killed. Raises `BadRequest` for one that has no
    text, or is whole.
    """
    if not trace.text or trace.outcome == "not_answered":
        raise BadRequest("There is no text yet that could be gone on with.", "Ask the question again.")
    if not trace.unfinished:
        raise BadRequest("This answer is whole.", "Ask a new question to go further.")
    library, web = (
        tuple(trace.passages[found] for found in trace.found.get(origin, ())) for origin in ("library", "web")
    )
    state = State(
        question=trace.question,
        history=history,
        standalone_question=trace.condensed,
        passages=library,
        web_passages=web,
        search_web=bool(web),
        verdicts=trace.verdicts,
        rulings={key: verdict.ruling for key, verdict in trace.verdicts.items() if verdict.ruling},
        begun_answer=trace.text,
    )
    return state | State(strips=trace.strips) if trace.strips else state


def kept_events(events: Sequence[Event], state: State, until: Node = "decide") -> list[Event]:
    """What of a run's events holds for the version that goes on from before a node, with the verdicts of `state`."""
    nodes = [index for index, event in enumerate(events) if isinstance(event, NodeStarted)]
    first = nodes[0] if nodes else 0  # what was told before it is told anew
    reached = (index for index in nodes if cast("NodeStarted", events[index]).node == until)
    held = events[first : next(reached, len(events))]  # it may have been stopped just before it came there
    return [_ruled_event(event, state) for event in held if not isinstance(event, RunEnded)]


def _ruled_event(event: Event, state: State) -> Event:
    if isinstance(event, PassageGraded):
        return PassageGraded(state["verdicts"][event.verdict.passage_id])
    return event


def words_of_rulings(trace: Trace, rulings: Mapping[int, Ruling]) -> str:
    """In what a version differs, such as “you dropped p. 5”."""
    return ", ".join(f"{_NAMES[ruling]} {_place(trace, passage_id)}" for passage_id, ruling in rulings.items())


def changed(before: RunOptions, after: RunOptions) -> str:
    """In what two settings differ, such as “policy any, k 6”; a preset is but a name for others."""
    words = [
        f"{_OPTION_NAMES[name]} {_value(name, value)}"
        for name, value in changes_between(before, after).items()
        if name in _OPTION_NAMES
    ]
    return ", ".join(words) or "same settings"


def _value(name: str, value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case None | "" | ():
            return _LEFT_OPEN[name]
        case Thresholds():
            return f"{value.lower:g} and {value.upper:g}"
        case tuple():
            return str(len(value))
    return str(value)


def _place(trace: Trace, passage_id: int) -> str:
    passage = trace.passages[passage_id]
    return f"p. {passage.page}" if passage.page is not None else f"“{passage.title[:40]}”"


def _under(verdict: Verdict, ruling: Ruling | None) -> Verdict:
    return verdict.ruled(ruling) if ruling else replace(verdict, ruling=None)
