"""Queries for shares of a whole, and for changes and differences between two figures."""

from __future__ import annotations

from crag.tables.data_table import TableColumn
from crag.tables.periods import read_period
from crag.tables.query_scope import QueryScope, TableQuery, is_rate, quote_name, write_literal
from crag.tables.wording import has_words, word_pattern
from crag.text.table_headers import CAPTION_SEPARATOR, names_period


def write_share(scope: QueryScope) -> TableQuery | None:
    """Return the query for the share of what the question names of the whole."""
    asked = scope.asked
    column = next(iter(asked.values), None)
    others = scope.conditions(without=column)
    if column is None or others is None or len(asked.values) != 1 or asked.comparisons:
        return None
    named_column = any(one in asked.numbers for one in asked.named)
    named, measure = named_column or bool(asked.synonyms), scope.measure()
    if not named and asked.names_rows:
        measure = None
    elif measure is None or is_rate(measure) or (not named_column and len(asked.numbers) > 1):
        return None
    whole = f"sum({measure.quoted})" if measure else "count(*)"
    part = f"{whole} FILTER (WHERE {scope.value_condition(column)})"
    scope.rows = others
    select = f"100.0 * {part} / {whole} AS share, {part} AS part, {whole} AS whole"
    return scope.query("share", select, measure=measure)


def write_change(scope: QueryScope) -> TableQuery | None:
    """Compare two columns of periods, or the rows of two values: in their order, or as they are named."""
    asked = scope.asked
    periods = _sort_by_time([column for column in asked.periods if column in asked.named])
    if len(periods) == 2:
        dates = [read_period(one.name) for one in periods]
        if len({_name_without_period(one) for one in periods}) > 1 or (dates[0] and dates[0] == dates[1]):
            return None  # of other figures, or of one period, such as its budget
        return scope.query("change", _change_columns(*(f"sum({one.quoted})" for one in periods)), measure=periods[0])
    owner = next((column for column, values in asked.values.items() if len(values) == 2), None)
    named = [column for column in asked.named if column in asked.numbers]
    if len(named) == 2 and scope.names_one_row():
        return _write_difference(scope, *named)
    measure, others = scope.measure(), scope.conditions(without=owner)
    if owner is None or measure is None or others is None or asked.comparisons or owner in asked.excluded:
        return None
    order = list(dict.fromkeys(asked.table.cells(owner)))
    first, last = sorted(asked.values[owner], key=order.index)
    subtracted = _subtrahend(scope, owner)
    if subtracted is not None and (last == subtracted) != has_words(asked.question, "wording", "less"):
        first, last = last, first
    before, after = (
        f"sum({measure.quoted}) FILTER (WHERE {owner.quoted} = {write_literal(value)})" for value in (first, last)
    )
    if subtracted is None and (isinstance(first, float) or names_period(first)):
        select = _change_columns(before, after)
    else:
        change = f"{after} - {before}" if subtracted is not None else f"abs({after} - {before})"
        names = [quote_name(str(value).replace('"', "")) for value in (first, last)]
        select = f"{change} AS difference, {before} AS {names[0]}, {after} AS {names[1]}"
    scope.rows = [*others, f"{owner.quoted} IN ({write_literal(first)}, {write_literal(last)})"]
    return scope.query("change", select, measure=measure)


def _write_difference(scope: QueryScope, first: TableColumn, second: TableColumn) -> TableQuery:
    """Subtract one column from the other in the named row: the one after “than”, if there is one."""
    places = {one: scope.asked.spans[one][0] for one in (first, second)}
    question = scope.asked.question
    subtracted = [one for one, (start, end) in places.items() if _is_subtracted(question, start, end)]
    if subtracted == [first]:
        first, second = second, first
    change = f"sum({first.quoted}) - sum({second.quoted})"
    if subtracted and has_words(question, "wording", "less"):
        change = f"sum({second.quoted}) - sum({first.quoted})"
    select = change if subtracted else f"abs({change})"
    shown = ", ".join(f"sum({one.quoted}) AS {one.quoted}" for one in (first, second))
    return scope.query("change", f"{select} AS difference, {shown}", measure=first)


def _subtrahend(scope: QueryScope, owner: TableColumn) -> str | float | None:
    """Return the value that the question subtracts: B in “how much more does A earn than B”."""
    question = scope.asked.question
    for value, place in scope.asked.values[owner].items():
        end = place + len(value if isinstance(value, str) else f"{value:.0f}")
        if _is_subtracted(question, place, end):
            return value
    return None


def _is_subtracted(question: str, start: int, end: int) -> bool:
    """Return whether the question subtracts the value named between these places, as in “more than A”."""
    before, after = (word_pattern("wording", f"{side}_subtrahend") for side in ("before", "after"))
    return bool(before.search(question[:start]) or after.search(question[end:]))


def _change_columns(first: str, last: str) -> str:
    change = f"{last} - {first}"
    return f"{change} AS change, 100.0 * ({change}) / nullif({first}, 0) AS percent, {first} AS before, {last} AS after"


def _sort_by_time(columns: list[TableColumn]) -> list[TableColumn]:
    """Sort columns of periods by time, where their names reveal it."""
    periods = [read_period(column.name) for column in columns]
    if None in periods:
        return columns
    return [column for _, column in sorted(zip(periods, columns, strict=True), key=lambda pair: pair[0] or ())]


def _name_without_period(column: TableColumn) -> str:
    return CAPTION_SEPARATOR.join(part for part in column.name.split(CAPTION_SEPARATOR) if not names_period(part))
