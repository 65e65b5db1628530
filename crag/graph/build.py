"""Compiled graph: nodes, edges and their conditions."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import get_args

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from crag.graph import answer_nodes, nodes, parts_node, route_nodes, table_node, talk_node, web_nodes
from crag.graph.state import Deps, GraphState, fitted_question
from crag.text.language import extract_terms
from crag.text.questions import is_long_question
from crag.text.small_talk import detect_small_talk
from crag.types import NodeName, Route

Graph = CompiledStateGraph[GraphState, Deps, GraphState, GraphState]


_ROUTE_NODES: dict[Route, NodeName] = {
    "document": "read_documents",
    "list": "list_matches",
    "table": "query_table",
    "steps": "answer_parts",
}
"""The nodes that answer questions of other kinds than facts."""


def build_graph(checkpointer: BaseCheckpointSaver[str] | None) -> Graph:
    """Return the graph. `checkpointer` stores its state so that runs can wait for the user; None stores nothing."""
    return _compile_graph().copy({"checkpointer": checkpointer})


@cache
def _compile_graph() -> Graph:
    """Compile the graph. At most one rewrite and one web round: no cycle, so no recursion limit to run into."""
    graph = StateGraph(GraphState, context_schema=Deps)
    for function in (
        talk_node.reply,
        nodes.condense_question,
        route_nodes.read_documents,
        route_nodes.list_matches,
        table_node.query_table,
        parts_node.answer_parts,
        nodes.retrieve,
        nodes.grade_documents,
        nodes.decide,
        web_nodes.transform_query,
        web_nodes.web_search,
        nodes.refine_knowledge,
        answer_nodes.generate,
        answer_nodes.check_answer,
    ):
        graph.add_node(function.__name__, function)  # type: ignore[call-overload]
    graph.add_conditional_edges(START, _after_start, _edge_targets(*get_args(NodeName)))
    graph.add_edge("reply", END)
    graph.add_conditional_edges(
        "condense_question", _after_understanding, _edge_targets("retrieve", *_ROUTE_NODES.values())
    )
    graph.add_conditional_edges("read_documents", _check_or_retrieve, _edge_targets("check_answer", "retrieve"))
    for name in ("list_matches", "query_table"):  # they copy and calculate: there is nothing to check
        targets = _edge_targets(END, "retrieve", "answer_parts", "list_matches")
        graph.add_conditional_edges(name, _end_or_go_on, targets)
    graph.add_conditional_edges("retrieve", _after_retrieve, _edge_targets("grade_documents", "decide"))
    graph.add_edge("grade_documents", "decide")
    after_decide = ("transform_query", "web_search", "refine_knowledge", "generate")
    graph.add_conditional_edges("decide", _after_decide, _edge_targets("answer_parts", *after_decide))
    graph.add_conditional_edges("answer_parts", _after_parts, _edge_targets("check_answer", "retrieve", *after_decide))
    graph.add_edge("transform_query", "web_search")
    graph.add_conditional_edges("web_search", _towards_answer, _edge_targets("refine_knowledge", "generate"))
    graph.add_edge("refine_knowledge", "generate")
    graph.add_edge("generate", "check_answer")
    graph.add_edge("check_answer", END)
    return graph.compile()


def _edge_targets(*names: str) -> dict[Hashable, str]:
    return {name: name for name in names}


def _after_start(state: GraphState, runtime: Runtime[Deps]) -> str:
    if "begin_at" in state:
        return state["begin_at"]
    if runtime.context.system:
        return "retrieve"
    if not state.get("extra_query") and _is_small_talk(state["question"], runtime.context):
        return "reply"
    question = fitted_question(state)
    choice = route_nodes.select_route(state, runtime.context)
    names_all = choice.route in ("document", "list", "steps") or (
        choice.route == "table" and (choice.parts or choice.topic)
    )
    stands_alone = not (
        runtime.context.engine.find_corrections(question)
        or nodes.find_meant_documents(question, state.get("history", ()), runtime.context)
    )
    if names_all and stands_alone:
        return _ROUTE_NODES[choice.route]
    is_clear = not (
        is_long_question(question)
        or runtime.context.engine.find_corrections(question)
        or nodes.is_route_open(state, runtime.context)
    )
    return "condense_question" if state.get("history") or not is_clear else _after_understanding(state, runtime)


def _is_small_talk(message: str, deps: Deps) -> bool:
    """Return whether a message is small talk and, if it is no set phrase, no passage found holds all its words.

    "Time off" and "quick start" resemble small talk.
    """
    if not detect_small_talk(message):
        return False
    words = set(extract_terms(message))
    if not words or detect_small_talk(message, by_resemblance=False):
        return True
    found = deps.retriever.retrieve(message, deps.options, deps.stop).passages
    return not any(words.issubset(extract_terms(f"{passage.heading} {passage.text}")) for passage in found)


def _after_understanding(state: GraphState, runtime: Runtime[Deps]) -> str:
    return _ROUTE_NODES.get(route_nodes.select_route(state, runtime.context).route, "retrieve")


def _check_or_retrieve(state: GraphState) -> str:
    return "retrieve" if state.get("is_fact") else "check_answer"


def _end_or_go_on(state: GraphState, runtime: Runtime[Deps]) -> str:
    if state.get("no_table_answers") and "answer" not in state and not state.get("is_fact"):
        return _ROUTE_NODES[route_nodes.select_route(state, runtime.context).route]
    return "retrieve" if state.get("is_fact") else END


def _after_retrieve(_state: GraphState, runtime: Runtime[Deps]) -> str:
    return "decide" if runtime.context.options.policy == "off" else "grade_documents"


def _after_parts(state: GraphState, runtime: Runtime[Deps]) -> str:
    return _check_or_retrieve(state) if "answer" in state or "passages" not in state else _after_decide(state, runtime)


def _after_decide(state: GraphState, runtime: Runtime[Deps]) -> str:
    if state.get("steps"):
        return "answer_parts"
    if not state.get("search_web"):
        return _towards_answer(state, runtime)
    written = state.get("extra_query") or state.get("web_passages") or runtime.context.options.rewrite == "none"
    return "web_search" if written else "transform_query"


def _towards_answer(state: GraphState, runtime: Runtime[Deps]) -> str:
    return (
        "refine_knowledge"
        if runtime.context.options.refine and nodes.usable_passages(state, runtime.context)
        else "generate"
    )
