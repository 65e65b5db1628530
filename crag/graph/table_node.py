"""Graph node that answers questions about the tables of documents."""

from __future__ import annotations

from crag.events import AnswerWritten, Noted, PassagesFound, RouteChosen, TableQueried, TokensWritten
from crag.graph.citations import cite
from crag.graph.nodes import graph_node, judge_route
from crag.graph.route_nodes import answer_as_fact, select_route
from crag.graph.state import Deps, GraphState, retrieval_question
from crag.protocols import Calculation, CalculationFailed
from crag.text.language import detect_written_language
from crag.types import Knowledge, Passage, Usage

_MAX_CITED = 3  # passages


@graph_node("query_table")
def query_table(state: GraphState, deps: Deps) -> GraphState:
    """Answer with the result of one read-only query over the tables; else a comparison or list as without tables."""
    choice = select_route(state, deps)
    deps.emit(RouteChosen("table", choice.reason))
    passages = {one.id: one for one in deps.retriever.read_all(deps.options, with_tables=True)}
    found = _calculate(state, list(passages.values()), deps)
    is_chosen = deps.options.route == "table" or state.get("route") == "table"  # by the user, or by a model
    if found is None and (choice.parts or choice.topic) and not is_chosen:
        return {"no_table_answers": True}
    if found is None:
        return answer_as_fact("No table was found that answers this.", deps)
    quotes = {row.passage_id: row.sentence for row in reversed(found.rows)}  # the first row of each passage
    cited = [passages[passage_id] for passage_id in sorted(quotes)][:_MAX_CITED]
    knowledge = tuple(Knowledge(n, passage, passage.text) for n, passage in enumerate(cited, start=1))
    deps.emit(PassagesFound("library", tuple(cited), len(passages)))
    deps.emit(TableQueried(found.result))
    text = found.text + "".join(f" [{item.n}]" for item in knowledge)
    deps.emit(TokensWritten(text))
    citations = tuple(cite(item, quotes[item.passage.id]) for item in knowledge)
    deps.emit(AnswerWritten(text, citations, "calculated" if found.is_certain else "possible", Usage()))
    return {"answer": text, "knowledge": knowledge}


def _calculate(state: GraphState, passages: list[Passage], deps: Deps) -> Calculation | None:
    """Return the figures asked for; a figure that leaves words of the question out only if a table was asked for."""
    if deps.engine.calculator is None:
        return None
    language, is_wanted = detect_written_language(state["question"]), deps.options.route == "table"
    try:
        return deps.engine.calculator.calculate(
            retrieval_question(state),
            passages,
            language,
            deps.stop,
            accept_uncertain=is_wanted,
            confirm=lambda: judge_route(state, deps) in ("table", None),
        )
    except CalculationFailed as error:
        deps.emit(Noted(str(error)))
        return None
