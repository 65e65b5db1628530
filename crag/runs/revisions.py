"""Re-running an earlier run from any of its nodes with something changed: a verdict, the query, or an option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast, get_args

from crag.errors import BadRequest
from crag.events import ConsentAsked, ConsentGiven, Event, Node, NodeStarted, PassageGraded, RunEnded
from crag.graph.state import State
from crag.options import RunOptions, Thresholds, value_of
from crag.runs.trace import Trace
from crag.types import Passage, Ruling, Turn, Verdict

_TUNING = ("window", "answer_limit", "temperature")
_SETTINGS: dict[Node, tuple[str, ...]] = {
    "condense_question": ("rewriter_model", *(f"rewriting.{name}" for name in _TUNING)),
    "retrieve": ("k", "collection", "source_ids"),
    "grade_documents": ("grader", "grader_model", *(f"grading.{name}" for name in _TUNING)),
    "decide": ("policy", "thresholds"),
    "transform_query": ("rewrite", "rewriter_model", *(f"rewriting.{name}" for name in _TUNING)),
    "web_search": ("web", "web_results", "fetch_pages", "join_web"),
    "refine_knowledge": ("refine",),
    "generate": ("model", "thinking", "parent_context", *(f"answering.{name}" for name in _TUNING)),
}
_ORDER: tuple[Node, ...] = get_args(Node)
_LEADS_TO_QUERY: tuple[Node, ...] = ("transform_query", "web_search")


@dataclass(frozen=True, slots=True)
class Revision:
    """What the user changes before a re-run: rulings on passages, the web query, the options.

    `options` None are those of the earlier run; an empty `query` keeps the one that is written.
    """

    rulings: Mapping[int, Ruling] = field(default_factory=dict)
    query: str = ""
    options: RunOptions | None = None


def nodes_to_go_on_from(trace: Trace) -> list[Node]:
    """Return the nodes from which an earlier run can be re-run: those that it reached, in order."""
    if trace.state in ("running", "waiting"):
        return []
    came_to = {step.node for step in trace.steps}
    return [node for node in _SETTINGS if node in came_to]


def settings_from(node: Node) -> list[str]:
    """Return the names of the options that this node and later ones use; changing others would have no effect."""
    used = (name for later in _ORDER[_ORDER.index(node) :] for name in _SETTINGS.get(later, ()))
    return list(dict.fromkeys(used))


def check_revision(trace: Trace, node: Node, revision: Revision) -> None:
    """Raise `BadRequest` for a revision that is not possible: its node, the passages of its rulings, or its query."""
    if node not in nodes_to_go_on_from(trace):
        raise BadRequest("This answer never came to that step.", "Choose a step that it took.")
    if not trace.verdicts.keys() >= revision.rulings.keys():
        raise BadRequest("This passage has no verdict that could be overruled.", "Choose another one.")
    if revision.query and node not in _LEADS_TO_QUERY:
        raise BadRequest("From this step no query is written.", "Go on from the rewriting or the web search.")


def state_before(trace: Trace, history: tuple[Turn, ...], node: Node, revision: Revision) -> State:
    """Build the state before a node, with a revision applied, from the events, which survive a killed process.

    Web results are kept where they may be used and need not be searched again.
    """
    held = _held_of_web(trace, node, revision)
    earlier = {key: verdict.ruling for key, verdict in trace.verdicts.items() if verdict.ruling}
    every = {**earlier, **revision.rulings}
    rulings = {key: ruling for key, ruling in every.items() if key > 0 or held}
    state = State(question=trace.question, history=history, rulings=rulings, begin_at=node)
    at = _ORDER.index(node)
    if at > _ORDER.index("condense_question") and trace.condensed:
        state["standalone_question"] = trace.condensed
    if at > _ORDER.index("retrieve"):
        state["passages"] = tuple(trace.passages[found] for found in trace.found.get("library", ()))
    if at > _ORDER.index("grade_documents"):
        known = {key: verdict for key, verdict in trace.verdicts.items() if key > 0 or held}
        state |= _judged(known, rulings, _other_thresholds(trace, revision))
    if at > _ORDER.index("decide"):
        state["search_web"] = node in _LEADS_TO_QUERY or bool(held)
        state["query"] = revision.query or trace.query
    if revision.query:  # it needs no rewriting
        state["begin_at"] = "web_search"
    if held:
        state["web_passages"], state["sought"] = held, trace.sought
    if node == "generate" and trace.strips:
        state["strips"] = trace.strips
    return state


def kept_events(events: Sequence[Event], node: Node, state: State) -> list[Event]:
    """Select the events that also hold for a re-run from before a node, with the verdicts of its state."""
    nodes = [index for index, event in enumerate(events) if isinstance(event, NodeStarted)]
    first = nodes[0] if nodes else 0  # events before the first node are recorded again
    reached = (index for index in nodes if cast("NodeStarted", events[index]).node == node)
    held = events[first : next(reached, len(events))]  # the run may have been stopped just before it reached the node
    verdicts = state.get("verdicts", {})
    return [
        PassageGraded(verdicts.get(event.verdict.passage_id, event.verdict))
        if isinstance(event, PassageGraded)
        else event
        for event in held
        if not isinstance(event, RunEnded | ConsentAsked | ConsentGiven)
    ]


def _held_of_web(trace: Trace, node: Node, revision: Revision) -> tuple[Passage, ...]:
    """Return the web results of the earlier run that a re-run from this node may use."""
    after_search = _ORDER.index(node) > _ORDER.index("web_search")
    before, after = trace.options, revision.options or trace.options
    as_it_was = all(value_of(before, name) == value_of(after, name) for name in _SETTINGS["web_search"])
    if not after_search and not (node == "decide" and as_it_was):
        return ()
    return tuple(trace.passages[found] for found in trace.found.get("web", ()))


def _other_thresholds(trace: Trace, revision: Revision) -> Thresholds | None:
    """Return thresholds that were changed by hand; None if the scores keep their words."""
    after = revision.options.thresholds if revision.options else None
    return after if after != trace.options.thresholds else None


def _judged(verdicts: Mapping[int, Verdict], rulings: Mapping[int, Ruling], thresholds: Thresholds | None) -> State:
    """Return the verdicts with their words set by these thresholds and overridden by these rulings."""
    if not verdicts:
        return State()
    words = {key: replace(one, word=thresholds.word(one.score)) if thresholds else one for key, one in verdicts.items()}
    return State(verdicts={key: one.ruled(rulings[key]) if key in rulings else one for key, one in words.items()})
