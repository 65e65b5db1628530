"""The nodes of the graph: each reads the state, does one thing, says what happened as events, returns what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps

from langgraph.runtime import Runtime

from crag.errors import WebSearchFailed
from crag.events import (
    ActionDecided,
    Event,
    Node,
    NodeEnded,
    NodeStarted,
    Noted,
    PassageGraded,
    PassagesFound,
    QueryWritten,
    QuestionCondensed,
    StripsScored,
    WebQuerySent,
    WebSkipped,
)
from crag.graph.policy import decide as decide_action
from crag.graph.state import Deps, State, standalone
from crag.protocols import QUERY_LIMIT
from crag.types import Knowledge, Passage, Strip, Verdict

NodeFunction = Callable[[State, Runtime[Deps]], State]
_JOINED_WEB_TITLE = "Web results"


def node(name: Node) -> Callable[[NodeFunction], NodeFunction]:
    """Marks the start and the end of a node in the trace, and stops before it when the run was stopped."""

    def decorate(function: NodeFunction) -> NodeFunction:
        @wraps(function)
        def run(state: State, runtime: Runtime[Deps]) -> State:
            runtime.context.stop.check()
            runtime.stream_writer(NodeStarted(name, runtime.context.elapsed()))
            changed = function(state, runtime)
            runtime.stream_writer(NodeEnded(name, runtime.context.elapsed()))
            return changed

        return run

    return decorate


@node("condense_question")
def condense_question(state: State, runtime: Runtime[Deps]) -> State:
    """Makes a follow-up question stand without the conversation before it."""
    deps = runtime.context
    question = deps.engine.rewriter.condense(state["question"], state["history"], deps.stop)
    runtime.stream_writer(QuestionCondensed(question))
    return {"standalone_question": question}


@node("retrieve")
def retrieve(state: State, runtime: Runtime[Deps]) -> State:
    """Finds the nearest passages of the library."""
    deps = runtime.context
    passages = tuple(deps.retriever.retrieve(standalone(state), deps.options))
    runtime.stream_writer(PassagesFound("library", passages, deps.retriever.size(deps.options)))
    if notice := deps.retriever.notice():
        runtime.stream_writer(Noted(notice))
    return {"passages": passages}


@node("grade_documents")
def grade_documents(state: State, runtime: Runtime[Deps]) -> State:
    """Judges each passage; every verdict is told as soon as it is known."""
    return {"verdicts": _grade(standalone(state), state["passages"], runtime)}


@node("decide")
def decide(state: State, runtime: Runtime[Deps]) -> State:
    """Adds the verdicts up to an action, and says when the web would be needed but cannot be had."""
    deps = runtime.context
    verdicts = list(state.get("verdicts", {}).values())
    decision = decide_action(deps.options.policy, verdicts, deps.engine.grader.thresholds)
    runtime.stream_writer(ActionDecided(decision.action, decision.reason, decision.wants_web))
    if decision.wants_web and deps.web is None:
        runtime.stream_writer(WebSkipped(f"{deps.web_missing}, so the web was not searched."))
        if decision.action == "ambiguous":
            runtime.stream_writer(Noted(f"{deps.web_missing}, so only your documents were used."))
    return {"search_web": decision.wants_web and deps.web is not None}


@node("transform_query")
def transform_query(state: State, runtime: Runtime[Deps]) -> State:
    """Writes the query for the web from the question alone."""
    deps = runtime.context
    query = deps.engine.rewriter.rewrite(standalone(state), deps.options, deps.stop)
    runtime.stream_writer(QueryWritten(query))
    return {"query": query}


@node("web_search")
def web_search(state: State, runtime: Runtime[Deps]) -> State:
    """Searches the web when the person lets it, and grades what comes back; a failure is told and gone on without."""
    deps, tell = runtime.context, runtime.stream_writer
    query = (state.get("query") or standalone(state))[:QUERY_LIMIT]
    if deps.web is None:
        return {}
    allowed = _consented(query, deps)
    if allowed is None:
        nobody = "Nobody could be asked, so the web was not searched."
        tell(WebSkipped("You chose to answer from your documents only." if deps.consent else nobody))
        return {}
    tell(WebQuerySent(allowed, deps.web.name))
    try:
        results = deps.web.search(allowed, deps.options.web_results, deps.stop)
    except WebSearchFailed as failure:
        tell(WebSkipped(str(failure)))
        tell(Noted(f"{failure.message} Only your documents were used."))
        return {"query": allowed}
    passages = (_joined(results),) if deps.options.join_web and results else tuple(results)
    tell(PassagesFound("web", passages, len(results)))
    verdicts = state.get("verdicts", {}) | _grade(standalone(state), passages, runtime)
    return {"query": allowed, "web_passages": passages, "verdicts": verdicts}


@node("refine_knowledge")
def refine_knowledge(state: State, runtime: Runtime[Deps]) -> State:
    """Cuts the usable passages into strips and keeps those that help (arXiv 2401.15884, section 4.4)."""
    deps = runtime.context
    usable = usable_passages(state)
    strips: dict[int, tuple[Strip, ...]] = {}
    for index, cut in deps.engine.refiner.refine(standalone(state), usable, deps.stop):
        strips[usable[index].id] = cut
        runtime.stream_writer(StripsScored(usable[index].id, cut))
    return {"strips": strips}


def usable_passages(state: State) -> list[Passage]:
    """What may be used for the answer: everything not judged irrelevant, the best verdict first."""
    verdicts = state.get("verdicts", {})
    found = [*state.get("passages", ()), *state.get("web_passages", ())]
    usable = [passage for passage in found if passage.id not in verdicts or verdicts[passage.id].word != "irrelevant"]
    return sorted(usable, key=lambda passage: _rank(verdicts.get(passage.id)), reverse=True)


def gather_knowledge(state: State, deps: Deps) -> tuple[Knowledge, ...]:
    """The numbered texts that the answer may rest on: kept strips, else the passage or its wider context."""
    texts = ((passage, _kept_text(passage, state, deps)) for passage in usable_passages(state))
    held = [(passage, text) for passage, text in texts if text]
    if not held:  # the refiner struck out everything of passages that the grader trusts: trust the grader
        held = [(passage, passage.text) for passage in usable_passages(state)]
    return tuple(Knowledge(n, passage, text) for n, (passage, text) in enumerate(held, start=1))


def _kept_text(passage: Passage, state: State, deps: Deps) -> str:
    strips = state.get("strips", {}).get(passage.id)
    if strips is not None:
        return "\n".join(strip.text for strip in strips if strip.kept)
    return passage.context if deps.options.parent_context else passage.text


def _grade(question: str, passages: Sequence[Passage], runtime: Runtime[Deps]) -> dict[int, Verdict]:
    deps = runtime.context
    verdicts: dict[int, Verdict] = {}
    for index, grade in deps.engine.grader.grade(question, passages, deps.stop):
        word = deps.engine.grader.thresholds.word(grade.score)
        verdict = Verdict(passages[index].id, word, grade.score, grade.reason)
        verdicts[verdict.passage_id] = verdict
        tell: Callable[[Event], None] = runtime.stream_writer
        tell(PassageGraded(verdict))
    return verdicts


def _rank(verdict: Verdict | None) -> float:
    """Unjudged passages stand between the ambiguous and the relevant ones."""
    return 0.5 if verdict is None or verdict.score is None else verdict.score


def _consented(query: str, deps: Deps) -> str | None:
    if deps.options.web != "ask":
        return query
    return deps.consent(query) if deps.consent else None


def _joined(results: Sequence[Passage]) -> Passage:
    text = "\n".join(result.text for result in results)
    return replace(results[0], id=-1, title=_JOINED_WEB_TITLE, text=text, context=text)
