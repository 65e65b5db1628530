"""Revisions: re-run a finished run from any node with changes, and describe those changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from crag.errors import BadRequest
from crag.events import NODES, ConsentAsked, ConsentGiven, Event, NodeStarted, PassageGraded, RunEnded
from crag.graph.state import GraphState
from crag.options import OPTIONS, RunOptions, diff_options, get_option
from crag.runs.trace import Trace
from crag.translation import ENGLISH, use_language
from crag.types import NodeName, Passage, Ruling, Thresholds, Turn, Verdict

_NODE_ORDER = tuple(NODES)
_QUERY_NODES: tuple[NodeName, ...] = ("transform_query", "web_search")


@dataclass(frozen=True, slots=True)
class Revision:
    """What the user changes before a re-run: rulings on passages, the web query, the options.

    `options` None are those of the earlier run; an empty `query` keeps the one that is written.
    """

    rulings: Mapping[int, Ruling] = field(default_factory=dict)
    query: str = ""
    options: RunOptions | None = None


def resumable_nodes(trace: Trace) -> list[NodeName]:
    """Return the nodes that a run reached, in order: it can be re-run from each of them."""
    if trace.state in ("running", "waiting"):
        return []
    came_to = {step.node for step in trace.steps}
    return [node for node in _NODE_ORDER if node in came_to and _option_names(node)]


def options_used_from(node: NodeName) -> list[str]:
    """Return the names of the options that this node and later ones use; changing others would have no effect."""
    used = (name for later in _NODE_ORDER[_NODE_ORDER.index(node) :] for name in _option_names(later))
    return list(dict.fromkeys(used))


def _option_names(node: NodeName) -> list[str]:
    """Return the names of the options that this node uses."""
    return [name for name, option in OPTIONS.items() if node in option.nodes]


def check_revision(trace: Trace, node: NodeName, revision: Revision) -> None:
    """Raise `BadRequest` for a revision that is not possible: its node, the passages of its rulings, or its query."""
    if node not in resumable_nodes(trace):
        raise BadRequest("This answer did not reach that step.", "Choose a step that it ran.")
    if not trace.verdicts.keys() >= revision.rulings.keys():
        raise BadRequest("This passage has no verdict to change.", "Choose another passage.")
    if revision.query and node not in _QUERY_NODES:
        raise BadRequest("This step does not write a query.", "Continue from Rewrite query or Search the web.")


def state_before(trace: Trace, history: tuple[Turn, ...], node: NodeName, revision: Revision) -> GraphState:
    """Build the state before a node, with a revision applied, from the events, which survive a killed process.

    Web results are kept where they may be used and need not be searched again.
    """
    held = _reusable_web_passages(trace, node, revision)
    earlier = {key: verdict.ruling for key, verdict in trace.verdicts.items() if verdict.ruling}
    every = {**earlier, **revision.rulings}
    rulings = {key: ruling for key, ruling in every.items() if key > 0 or held}
    state = GraphState(question=trace.question, history=history, rulings=rulings, begin_at=node)
    at = _NODE_ORDER.index(node)
    if at > _NODE_ORDER.index("condense_question") and trace.condensed:
        state["standalone_question"], state["meant_documents"] = trace.condensed, trace.meant_documents
    if at > _NODE_ORDER.index("retrieve"):
        state["passages"] = tuple(trace.passages[found] for found in trace.found.get("library", ()))
    if at > _NODE_ORDER.index("grade_documents"):
        known = {key: verdict for key, verdict in trace.verdicts.items() if key > 0 or held}
        state |= _verdict_state(known, rulings, _changed_thresholds(trace, revision))
        state["assessment"] = trace.assessment
    if at > _NODE_ORDER.index("decide"):
        state["search_web"] = node in _QUERY_NODES or bool(held)
        state["query"] = revision.query or trace.query
    if revision.query:  # it needs no rewriting
        state["begin_at"] = "web_search"
    if held:
        state["web_passages"], state["sought"] = held, trace.sought
    if node == "generate" and trace.strips:
        state["strips"] = trace.strips
    return state


def reusable_events(events: Sequence[Event], node: NodeName, state: GraphState) -> list[Event]:
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


def _reusable_web_passages(trace: Trace, node: NodeName, revision: Revision) -> tuple[Passage, ...]:
    """Return the web results of the earlier run that a re-run from this node may use."""
    after_search = _NODE_ORDER.index(node) > _NODE_ORDER.index("web_search")
    before, after = trace.options, revision.options or trace.options
    as_it_was = all(get_option(before, name) == get_option(after, name) for name in _option_names("web_search"))
    if not after_search and not (node == "decide" and as_it_was):
        return ()
    return tuple(trace.passages[found] for found in trace.found.get("web", ()))


def _changed_thresholds(trace: Trace, revision: Revision) -> Thresholds | None:
    """Return thresholds that were changed by hand; None if the scores keep their words."""
    after = revision.options.thresholds if revision.options else None
    return after if after != trace.options.thresholds else None


def _verdict_state(
    verdicts: Mapping[int, Verdict], rulings: Mapping[int, Ruling], thresholds: Thresholds | None
) -> GraphState:
    """Return the verdicts with their words set by these thresholds and overridden by these rulings."""
    if not verdicts:
        return GraphState()
    words = {
        key: replace(one, word=thresholds.verdict_for(one.score)) if thresholds else one
        for key, one in verdicts.items()
    }
    return GraphState(
        verdicts={key: one.with_ruling(rulings[key]) if key in rulings else one for key, one in words.items()}
    )


_RULING_VERBS = {"use": "you used", "drop": "you left out"}


def describe_revision(trace: Trace, node: NodeName, revision: Revision) -> str:
    """Describe how a revised version differs; if nothing was changed, from which node it was re-run."""
    parts = [describe_rulings(trace, revision.rulings)]
    if revision.options and revision.options != trace.options:
        parts.append(describe_option_changes(trace.options, revision.options))
    if revision.query:
        parts.append("you wrote the query")
    return ", ".join(part for part in parts if part) or f"again from {NODES[node].restart}"


def describe_rulings(trace: Trace, rulings: Mapping[int, Ruling]) -> str:
    """Describe rulings, such as “you left out p. 5”."""
    return ", ".join(
        f"{_RULING_VERBS[ruling]} {_passage_place(trace, passage_id)}" for passage_id, ruling in rulings.items()
    )


def describe_option_changes(before: RunOptions, after: RunOptions) -> str:
    """Describe how two sets of options differ, such as “policy any, k 6”. A preset is only a name for its options."""
    changed = diff_options(before, after)
    words = [OPTIONS[name].describe(value) for name, value in changed.items() if OPTIONS[name].changes_answers]
    return ", ".join(words) or "same settings"


def _passage_place(trace: Trace, passage_id: int) -> str:
    passage = trace.passages[passage_id]
    with use_language(ENGLISH):  # the description is stored
        return passage.locator or f"“{passage.title[:40]}”"
