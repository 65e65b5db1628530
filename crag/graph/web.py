"""Graph nodes for the web: writing the query and searching, which first pauses for consent where required."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from crag.amounts import count
from crag.errors import WebSearchFailed
from crag.events import Noted, PassageGraded, PassagesFound, QueryWritten, WebQuerySent, WebSkipped
from crag.graph.nodes import grade, node
from crag.graph.state import Deps, State, standalone
from crag.protocols import QUERY_LIMIT, WebSearch
from crag.types import Passage

_JOINED_TITLE = "Web results"


@dataclass(frozen=True, slots=True)
class Consent:
    """The user's reply to a query: the query to send, perhaps edited, or None with the reason to show."""

    query: str | None
    reason: str = ""


@node("transform_query")
def transform_query(state: State, runtime: Runtime[Deps]) -> State:
    """Write the web query from the question alone."""
    deps = runtime.context
    query = deps.engine.rewriter.rewrite(standalone(state), deps.options, deps.stop)
    runtime.stream_writer(QueryWritten(query))
    return {"query": query}


@node("web_search")
def web_search(state: State, runtime: Runtime[Deps]) -> State:
    """Search the web with the user's consent and grade the results; after a failure the run continues without them.

    Results of an earlier version of the answer are reused, and nothing is sent for them.
    """
    held, web = tuple(state.get("web_passages", ())), runtime.context.web
    if web is None or (held and not state.get("extra_query")):
        _tell_again(held, state, runtime)
        return {} if held else _skip(f"{runtime.context.web_missing}, so the web was not searched.", runtime)
    consent = _ask(state, runtime.context)
    _tell_again(held, state, runtime)
    if consent.query is None:
        return _skip(consent.reason, runtime) | {"search_web": bool(held)}
    found = _search(web, consent.query, state, runtime)
    sought = consent.query if state.get("extra_query") else ""
    verdicts = state.get("verdicts", {}) | grade(state, found, runtime, sought)
    every = _sought(consent.query, found, state)
    return State(query=consent.query, web_passages=held + found, verdicts=verdicts, sought=every)


def _sought(query: str, found: Sequence[Passage], state: State) -> dict[int, str]:
    """Return the extra query that each web passage was found with, including those found now."""
    new = dict.fromkeys((passage.id for passage in found), query) if state.get("extra_query") else {}
    return state.get("sought", {}) | new


def _skip(reason: str, runtime: Runtime[Deps]) -> State:
    runtime.stream_writer(WebSkipped(reason))
    return {"search_web": False}


def _ask(state: State, deps: Deps) -> Consent:
    """Return the query that may be sent. If consent is required, the run pauses here and later restarts this node."""
    extra = state.get("extra_query", "")
    query = (extra or state.get("query") or standalone(state))[:QUERY_LIMIT]
    if deps.options.web != "ask" and not extra:
        return Consent(query)
    answer: dict[Literal["query", "reason"], Any] = interrupt({"query": query, "from_answer": bool(extra)})
    return Consent(answer["query"], answer["reason"])


def _search(web: WebSearch, query: str, state: State, runtime: Runtime[Deps]) -> tuple[Passage, ...]:
    """Return the web results, numbered after those already held; empty when the search failed, which is reported."""
    held = tuple(state.get("web_passages", ()))
    deps, tell = runtime.context, runtime.stream_writer
    tell(WebQuerySent(query, web.name, web.host))
    try:
        results = web.search(query, deps.options.web_results, deps.stop)
    except WebSearchFailed as failure:
        tell(WebSkipped(str(failure)))
        tell(Noted(f"{failure.message} Only {'what was found before was' if held else 'your documents were'} used."))
        return ()
    results = _read_pages(standalone(state), results, runtime)
    found = (_joined(results),) if deps.options.join_web and results else results
    numbered = tuple(replace(passage, id=-len(held) - number) for number, passage in enumerate(found, start=1))
    tell(PassagesFound("web", held + numbered, len(results), sought=_sought(query, numbered, state)))
    return numbered


def _read_pages(question: str, results: list[Passage], runtime: Runtime[Deps]) -> list[Passage]:
    """Add the nearest parts of the full pages to the results, where the options ask for it."""
    deps = runtime.context
    if deps.pages is None or not results:
        return results
    read, unread = deps.pages.read(question, results, deps.stop)
    if unread:
        pages = count(unread, "page")
        runtime.stream_writer(Noted(f"{pages} of the web could not be read; the short excerpt was used instead."))
    return read


def _tell_again(held: Sequence[Passage], state: State, runtime: Runtime[Deps]) -> None:
    if held:
        runtime.stream_writer(PassagesFound("web", tuple(held), len(held), again=True, sought=state.get("sought", {})))
        for passage in held:
            if verdict := state.get("verdicts", {}).get(passage.id):
                runtime.stream_writer(PassageGraded(verdict))


def _joined(results: Sequence[Passage]) -> Passage:
    text = "\n".join(result.text for result in results)
    return replace(results[0], title=_JOINED_TITLE, text=text, context=text)
