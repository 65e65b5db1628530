"""Figures from the tables of documents: one query, written by patterns or by a language model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

from crag.cancellation import Cancellation
from crag.protocols import Calculation, CalculationFailed, QueryWriter, TableDescription
from crag.tables.data_table import DataTable, TableCache, TablesTooLarge
from crag.tables.descriptions import (
    describe_content,
    describe_result,
    describe_stated_total,
    describe_tables,
    name_column,
    name_computed,
)
from crag.tables.query import QueryRefused, QueryResult, run_query
from crag.tables.query_process import run_written_query
from crag.tables.query_scope import TableQuery
from crag.tables.question_kinds import (
    is_listing_question,
    is_lookup_question,
    is_plain_calculation,
    is_table_question,
    may_be_about,
)
from crag.tables.questions import write_queries, write_query
from crag.tables.units import asks_by_unit
from crag.text.language import detect_language
from crag.text.tables import is_wide_row
from crag.types import Passage, Statement, TableResult, WrittenLanguage

_COMPUTED_COLUMN = re.compile(r'\b(?:sum|avg|median)\("([^"]+)"\) AS "?(\w+)"?')
_MAX_DESCRIBED = 12  # tables in a model's prompt
_MAX_BARS, _MIN_BARS = 30, 3
_COMPARABLE = frozenset({"top", "group", "filter", "max", "min"})


class TableCalculator:
    """`Calculator` over DuckDB. Without a `query_writer`, only the built-in patterns turn questions into SQL."""

    def __init__(self, tables: TableCache, query_writer: QueryWriter | None = None) -> None:
        self._tables = tables
        self._query_writer = query_writer

    def is_calculation(self, question: str) -> bool:
        """See `Calculator`."""
        return _asks_for_computation(question) or is_lookup_question(question) or asks_by_unit(question)

    def calculate(
        self,
        question: str,
        passages: Sequence[Passage],
        language: WrittenLanguage,
        stop: Cancellation,
        *,
        accept_uncertain: bool = False,
        confirm: Callable[[], bool] = lambda: True,
    ) -> Calculation | None:
        """See `Calculator`. Patterns come first; a model writes the query if they are not certain.

        No model is asked about a question that is as likely to ask for a fact. A single figure is looked up only in a
        wide row: a narrow one is quoted.
        """
        is_wanted = accept_uncertain or _asks_for_computation(question)
        try:
            tables = self._tables.find(passages)
            queries = write_queries(question, tables) if tables else []
            is_certain = all(query.is_certain for query in queries)
            may_be_shown = accept_uncertain or (is_table_question(question) and all(one.is_complete for one in queries))
            if queries and (is_certain or (may_be_shown and self._query_writer is None and len(queries) == 1)):
                results = [run_query(query.sql, tables, stop) for query in queries]
                if len({(result.columns, result.rows) for result in results}) == 1:
                    found = _describe(queries[0], results[0], queries[0].table, language)
                    is_wanted |= asks_by_unit(question)
                    return found if is_wanted or (found and _is_computed(queries[0], found)) else None
            is_meant = accept_uncertain or is_plain_calculation(question)
            may_be_meant = is_table_question(question) and may_be_about(question, tables)
            if tables and self._query_writer and (is_meant or (may_be_meant and confirm())):
                result = self._run_written_query(question, tables, self._query_writer, stop)
                named = next((table for table in tables if table.sql_name in result.sql), tables[0])
                return _describe(None, result, named, language)
        except TablesTooLarge as error:
            if not is_wanted:
                return None  # the question is as likely to ask for a fact
            raise CalculationFailed(str(error)) from error
        except QueryRefused as error:
            raise CalculationFailed(f"The tables could not be queried. {error}") from error
        return None

    def describe(self, passages: Sequence[Passage], language: WrittenLanguage) -> list[TableDescription]:
        """See `Calculator`."""
        try:
            tables = self._tables.find(passages)
        except TablesTooLarge as error:
            raise CalculationFailed(str(error)) from error
        return [
            TableDescription(
                table.title, describe_content(table, language), Statement(table.rows[0].passage_id, table.rows[0].text)
            )
            for table in tables
        ]

    def continue_question(self, previous: str, fragment: str, passages: Sequence[Passage]) -> str:
        """See `Calculator`."""
        try:
            return continue_calculation(previous, fragment, self._tables.find(passages))
        except TablesTooLarge:
            return ""

    @staticmethod
    def _run_written_query(
        question: str, tables: Sequence[DataTable], writer: QueryWriter, stop: Cancellation
    ) -> QueryResult:
        """Run the query that a model writes; if it is refused, the model may repair it once. Raises `QueryRefused`."""
        schema = describe_tables(tables[:_MAX_DESCRIBED])
        sql = writer.write_query(question, schema, stop)
        try:
            return run_written_query(sql, tables, stop)
        except QueryRefused as error:
            sql = writer.write_query(question, schema, stop, refused=sql, reason=str(error))
            return run_written_query(sql, tables, stop)


def _asks_for_computation(question: str) -> bool:
    return is_table_question(question) or is_listing_question(question)


def _is_computed(query: TableQuery, found: Calculation) -> bool:
    """Return whether quoting a row would not do: the figure was computed, or its row is wide."""
    return query.kind != "filter" or any(is_wide_row(row.sentence) for row in found.rows)


def _describe(
    query: TableQuery | None, result: QueryResult, table: DataTable, language: WrittenLanguage
) -> Calculation | None:
    """Return the figures in words, with the rows they were computed from; None for an empty result."""
    if not result.total_rows:
        return None
    columns = _column_names(table, result, language)
    stated = _find_other_total(query, result, table) if query else None
    is_comparable = query is None or query.kind in _COMPARABLE
    return Calculation(
        text=describe_result(language, query, result)
        + ("" if stated is None else describe_stated_total(language, stated)),
        result=TableResult(
            title=table.title,
            sql=result.sql,
            columns=columns,
            rows=tuple(tuple(map(_tidy_number, row)) for row in result.rows),
            total_rows=result.total_rows,
            used=result.used_count,
            chart=(columns[0], columns[1]) if is_comparable and _is_chart(result) else None,
        ),
        rows=tuple(one for row in result.used for one in row.statements(_find_parts(table, result))),
        is_certain=query is None or (query.is_certain and stated is None),
    )


def _find_parts(table: DataTable, result: QueryResult) -> set[int]:
    """Return the parts of a table, one for each period, whose columns a statement reads."""
    return {column.part for column in table.columns[1:] if column.quoted in result.sql}


def _find_other_total(query: TableQuery, result: QueryResult, table: DataTable) -> float | None:
    """Return the total that the table itself states for the column that was added up, if it differs."""
    if query.kind != "sum" or re.search(r"WHERE (?!\"[^\"]+\" IS NOT NULL$)", query.sql):
        return None
    at = next((n for n, column in enumerate(table.columns) if f'"{column.sql_name}"' in query.sql), None)
    values = [row.values[at] for row in table.totals] if at is not None else []
    stated = [value for value in values if isinstance(value, float)]
    found = result.rows[0][0]
    if not stated or not isinstance(found, float) or any(math.isclose(value, found, rel_tol=1e-3) for value in stated):
        return None
    return stated[-1]


def _column_names(table: DataTable, result: QueryResult, language: WrittenLanguage) -> tuple[str, ...]:
    """Return the names of the columns as the document writes them, unless two would be the same.

    A computed column is named after the one that it was computed from, such as `Revenue (sum)`.
    """
    written = {column.sql_name: name_column(table, column, language) for column in table.columns}
    for source, alias in _COMPUTED_COLUMN.findall(result.sql):
        if source in written:
            written.setdefault(alias, f"{written[source]} ({name_computed(alias, language)})")
    names = tuple(written.get(name) or name_computed(name, language) for name in result.columns)
    return names if len(set(names)) == len(names) else result.columns


def _tidy_number(cell: str | float | None) -> str | float | None:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _is_chart(result: QueryResult) -> bool:
    """Return whether a result is a label and a figure for each of a few rows."""
    if not _MIN_BARS <= len(result.rows) <= _MAX_BARS or len(result.rows) < result.total_rows:
        return False
    if len(result.columns) != 2:
        return False
    label, value = zip(*result.rows, strict=True)
    is_number = all(isinstance(cell, int | float) for cell in value)
    return is_number and all(isinstance(cell, str) for cell in label) and len(set(label)) == len(label)


_OPERATIONS = {
    "en": r"\b(?:total|sum|average|mean|highest|lowest|largest|smallest|maximum|minimum|most|least)\b",
    "ko": r"총합?|합계|평균|최대|최소|최고|최저",
    "zh": r"总[计和]?|總[計和]?|合[计計]|平均|最[高低大小多少]",
}
_GROUPING = {
    "en": r"\b(?:by|per|for each)\s+[\w ]+",
    "ko": r"[가-힣\w]+별로?",
    "zh": r"按[\w]+",
}
_LEADING_WORDS = re.compile(r"(?i)^(?:(?:in|for|from|of|at|with|only)\s+)?(?:the\s+)?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def continue_calculation(previous: str, fragment: str, tables: Sequence[DataTable]) -> str:
    """Return the earlier question as the fragment changes it, if the tables surely answer it; else an empty text.

    The fragment names another value of a column, another operation, another year, or what to group by. One that says
    what to compute of which column is a question of its own.
    """
    own = write_query(fragment, tables) if _has_operation(fragment) else None
    if own is not None and own.is_certain:
        return ""
    before = write_query(previous, tables)
    if before is None or not before.is_certain:
        return ""
    for candidate in _make_candidates(previous.rstrip(" ?？.。"), fragment, tables):
        query = write_query(f"{candidate}?", tables)
        if query and query.is_certain and query.sql != before.sql:
            return f"{candidate}?"
    return ""


def _has_operation(text: str) -> bool:
    return bool(re.search(_OPERATIONS[detect_language(text)], text, re.IGNORECASE))


def _make_candidates(previous: str, fragment: str, tables: Sequence[DataTable]) -> Iterator[str]:
    language = detect_language(fragment + previous)
    part = _LEADING_WORDS.sub("", fragment)
    for pattern in (_OPERATIONS[language], _GROUPING[language]):
        if found := re.search(pattern, fragment, re.IGNORECASE):
            if re.search(pattern, previous, re.IGNORECASE):
                yield re.sub(pattern, found[0].replace("\\", ""), previous, count=1, flags=re.IGNORECASE)
            elif pattern is _GROUPING[language]:
                yield f"{previous} {found[0]}"
            return
    if _YEAR.fullmatch(part) and _YEAR.search(previous):
        yield _YEAR.sub(part, previous)
    for values in _columns_with(part, tables):
        for value in sorted(values - {part.casefold()}, key=len, reverse=True):
            if found := re.search(rf"(?<![a-z\d]){re.escape(value)}(?![a-z\d])", previous, re.IGNORECASE):
                yield previous[: found.start()] + part + previous[found.end() :]
                return
        yield f"{previous} in {part}" if language == "en" else f"{part} {previous}"


def _columns_with(value: str, tables: Sequence[DataTable]) -> Iterator[set[str]]:
    """Yield the values of each text column that has this one, in lower case."""
    for table in tables:
        for at, column in enumerate(table.columns):
            values = {str(row.values[at]).casefold() for row in table.rows if row.values[at] is not None}
            if column.kind == "text" and value.casefold() in values:
                yield values
