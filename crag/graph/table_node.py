"""Graph node that answers questions about the tables of documents with one read-only query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.events import AnswerWritten, Noted, PassagesFound, RouteChosen, TableQueried, TokensWritten
from crag.graph.nodes import graph_node
from crag.graph.route_nodes import answer_as_fact, select_route
from crag.graph.state import Deps, GraphState, retrieval_question
from crag.tables.data_table import DataTable, TablesTooLarge, find_tables
from crag.tables.descriptions import describe_result, describe_tables
from crag.tables.query import QueryRefused, QueryResult, run_query
from crag.tables.questions import TableQuery, write_query
from crag.text.language import detect_written_language
from crag.types import Citation, Knowledge, Passage, TableResult, Usage

_MAX_CITED = 3  # passages
_MAX_DESCRIBED = 12  # tables in a model's prompt


@dataclass(frozen=True, slots=True)
class _Calculation:
    """The result of a query; `query` is None if a language model wrote it."""

    query: TableQuery | None
    result: QueryResult
    table: DataTable


@graph_node("query_table")
def query_table(state: GraphState, deps: Deps) -> GraphState:
    """Turn the question into one SELECT over the tables of the documents, and answer with its result."""
    question = retrieval_question(state)
    deps.emit(RouteChosen("table", select_route(state, deps).reason))
    passages = list(deps.retriever.read_all(deps.options, with_tables=True))
    try:
        tables = find_tables(passages)
        found = _calculate(question, tables, deps) if tables else None
    except TablesTooLarge as error:
        deps.emit(Noted(str(error)))
        found = None
    except QueryRefused as error:
        deps.emit(Noted(f"The tables could not be queried. {error}"))
        found = None
    if found is None:
        return answer_as_fact("No table was found that answers this.", deps)
    return _write_answer(state, found, {passage.id: passage for passage in passages}, deps)


def _calculate(question: str, tables: Sequence[DataTable], deps: Deps) -> _Calculation | None:
    """Return the result of the query that the built-in patterns are sure of, else of the one that a model writes.

    Without a model, a query that leaves words of the question out counts only if the user asked for a table. Raises
    `QueryRefused`.
    """
    query = write_query(question, tables)
    writer = deps.engine.query_writer
    if query and (query.is_certain or (writer is None and deps.options.route == "table")):
        result = run_query(query.sql, tables, deps.stop)
        return _Calculation(query, result, query.table) if result.total_rows else None
    if writer is None:
        return None
    schema = describe_tables(tables[:_MAX_DESCRIBED])
    sql = writer.write_query(question, schema, deps.stop)
    try:
        result = run_query(sql, tables, deps.stop)
    except QueryRefused as error:
        sql = writer.write_query(question, schema, deps.stop, refused=sql, reason=str(error))
        result = run_query(sql, tables, deps.stop)
    named = next((table for table in tables if table.sql_name in result.sql), tables[0])
    return _Calculation(None, result, named) if result.total_rows else None


def _write_answer(state: GraphState, found: _Calculation, passages: dict[int, Passage], deps: Deps) -> GraphState:
    """Write the figures in words, with the rows on which they rest as sources."""
    result = found.result
    rows = {row.passage_id: row for row in reversed(result.used)}  # the first row of each passage
    cited = [passages[row.passage_id] for row in sorted(rows.values(), key=lambda row: row.passage_id)][:_MAX_CITED]
    knowledge = tuple(Knowledge(n, passage, passage.text) for n, passage in enumerate(cited, start=1))
    deps.emit(PassagesFound("library", tuple(cited), len(passages)))
    kinds = {"top", "group", "filter", "max", "min"}
    is_comparable = found.query is None or found.query.kind in kinds
    columns = _column_names(found)
    deps.emit(
        TableQueried(
            TableResult(
                title=found.table.title,
                sql=result.sql,
                columns=columns,
                rows=tuple(tuple(map(_tidy_number, row)) for row in result.rows),
                total_rows=result.total_rows,
                used=result.used_count,
                chart=(columns[0], columns[1]) if is_comparable and _is_chart(result) else None,
            )
        )
    )
    text = describe_result(detect_written_language(state["question"]), found.query, result)
    text += "".join(f" [{item.n}]" for item in knowledge)
    deps.emit(TokensWritten(text))
    citations = tuple(_cite(item, rows[item.passage.id].text) for item in knowledge)
    is_certain = found.query is None or found.query.is_certain
    deps.emit(AnswerWritten(text, citations, "calculated" if is_certain else "possible", Usage()))
    return {"answer": text, "knowledge": knowledge}


def _cite(item: Knowledge, quote: str) -> Citation:
    passage = item.passage
    return Citation(
        n=item.n,
        passage_id=passage.id,
        source_id=passage.source_id,
        title=passage.title,
        location=passage.location,
        page=passage.page_of(quote),
        quote=quote,
        origin=passage.origin,
        sheet=passage.sheet,
    )


def _column_names(found: _Calculation) -> tuple[str, ...]:
    """Return the names of the columns as the document writes them; each is used once."""
    written = {column.sql_name: column.name for column in found.table.columns}
    names = [written.get(name) or name for name in found.result.columns]
    return tuple(names if len(set(names)) == len(names) else found.result.columns)


def _tidy_number(cell: str | float | None) -> str | int | float | None:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _is_chart(result: QueryResult) -> bool:
    """Return whether a result is a label and a figure for each of a few rows."""
    if not 3 <= len(result.rows) <= 30 or len(result.rows) < result.total_rows or len(result.columns) != 2:
        return False
    label, value = zip(*result.rows, strict=True)
    is_number = all(isinstance(cell, int | float) for cell in value)
    return is_number and all(isinstance(cell, str) for cell in label) and len(set(label)) == len(label)
