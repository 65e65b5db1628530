"""Graph nodes for the web: rewrite the query, ask for consent, search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from langgraph.types import interrupt

from crag.errors import WebSearchFailed
from crag.events import Noted, PassageGraded, PassagesFound, QueryWritten, WebQuerySent, WebSkipped
from crag.graph.nodes import grade_passages, graph_node
from crag.graph.state import Deps, GraphState, retrieval_question
from crag.protocols import MAX_QUERY_LENGTH, WebSearch
from crag.text.formatting import format_count
from crag.types import Passage

_JOINED_TITLE = "Web results"
_WIKIPEDIA_DEPTH = 2  # results to look through for pages of Wikipedia, as a multiple of those wanted


@dataclass(frozen=True, slots=True)
class ConsentDecision:
    """The user's reply to a query: the query to send, perhaps edited, or None with the reason to show."""

    query: str | None
    reason: str = ""


@graph_node("transform_query")
def transform_query(state: GraphState, deps: Deps) -> GraphState:
    """Write the web query from the question alone."""
    query = deps.engine.rewriter.rewrite(retrieval_question(state), deps.options, deps.stop)
    deps.emit(QueryWritten(query))
    return {"query": query}


@graph_node("web_search")
def web_search(state: GraphState, deps: Deps) -> GraphState:
    """Search the web with the user's consent and grade the results; after a failure the run continues without them.

    Results of an earlier version of the answer are reused, and nothing is sent for them.
    """
    held, web = tuple(state.get("web_passages", ())), deps.web
    if web is None or (held and not state.get("extra_query")):
        _replay_results(held, state, deps)
        return {} if held else _skip_search(f"{deps.web_missing}, so the web was not searched.", deps)
    consent = _request_consent(state, deps)
    _replay_results(held, state, deps)
    if consent.query is None:
        return _skip_search(consent.reason, deps) | {"search_web": bool(held)}
    found = _run_search(web, consent.query, state, deps)
    sought = consent.query if state.get("extra_query") else ""
    is_graded = deps.system is None or deps.system.grades_web
    verdicts = state.get("verdicts", {}) | (grade_passages(state, found, deps, sought) if is_graded else {})
    every = _search_texts(consent.query, found, state)
    return GraphState(query=consent.query, web_passages=held + found, verdicts=verdicts, sought=every)


def _search_texts(query: str, found: Sequence[Passage], state: GraphState) -> dict[int, str]:
    """Return the extra query that each web passage was found with, including those found now."""
    new = dict.fromkeys((passage.id for passage in found), query) if state.get("extra_query") else {}
    return state.get("sought", {}) | new


def _skip_search(reason: str, deps: Deps) -> GraphState:
    deps.emit(WebSkipped(reason))
    return {"search_web": False}


def _request_consent(state: GraphState, deps: Deps) -> ConsentDecision:
    """Return the query that may be sent. If consent is required, the run pauses here and later restarts this node."""
    extra = state.get("extra_query", "")
    query = (extra or state.get("query") or retrieval_question(state))[:MAX_QUERY_LENGTH]
    if deps.options.web != "ask" and not extra:
        return ConsentDecision(query)
    answer: dict[str, Any] = state.get("consent") or interrupt({"query": query, "from_answer": bool(extra)})
    return ConsentDecision(answer["query"], answer["reason"])


def _run_search(web: WebSearch, query: str, state: GraphState, deps: Deps) -> tuple[Passage, ...]:
    """Return the web results, numbered after those already held; empty when the search failed, which is reported."""
    held = tuple(state.get("web_passages", ()))
    deps.emit(WebQuerySent(query, web.name, web.host))
    try:
        results = _search(web, query, deps)
    except WebSearchFailed as failure:
        deps.emit(WebSkipped(str(failure)))
        used = "Only what was found before was used." if held else "Only your documents were used."
        deps.emit(Noted(f"{failure.message} {used}"))
        return ()
    results = _read_pages(retrieval_question(state), results, deps)
    found = (_join_results(results),) if deps.options.join_web and results else results
    numbered = tuple(replace(passage, id=-len(held) - number) for number, passage in enumerate(found, start=1))
    deps.emit(PassagesFound("web", held + numbered, len(results), sought=_search_texts(query, numbered, state)))
    return numbered


def _search(web: WebSearch, query: str, deps: Deps) -> list[Passage]:
    """Return the results of the search, with pages of Wikipedia first where the reference system prefers them."""
    limit = deps.options.web_results
    if not (deps.system and deps.system.prefers_wikipedia):
        return web.search(query, limit, deps.stop)
    found = web.search(query, _WIKIPEDIA_DEPTH * limit, deps.stop)
    return sorted(found, key=lambda passage: not _is_wikipedia(passage.location))[:limit]


def _is_wikipedia(location: str) -> bool:
    host = urlsplit(location).hostname or ""
    return host == "wikipedia.org" or host.endswith(".wikipedia.org")


def _read_pages(question: str, results: list[Passage], deps: Deps) -> list[Passage]:
    """Add the nearest parts of the full pages to the results, where the options ask for it."""
    if deps.pages is None or not results:
        return results
    read, unread = deps.pages.read(question, results, deps.stop)
    if unread:
        pages = format_count(unread, "page")
        deps.emit(Noted(f"{pages} on the web could not be read; the excerpts of the search were used instead."))
    return read


def _replay_results(held: Sequence[Passage], state: GraphState, deps: Deps) -> None:
    if held:
        deps.emit(PassagesFound("web", tuple(held), len(held), again=True, sought=state.get("sought", {})))
        for passage in held:
            if verdict := state.get("verdicts", {}).get(passage.id):
                deps.emit(PassageGraded(verdict))


def _join_results(results: Sequence[Passage]) -> Passage:
    text = "\n".join(result.text for result in results)
    return replace(results[0], title=_JOINED_TITLE, text=text, context=text)
