"""What a query for a question reads: columns of figures, groups, and conditions on rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crag.tables.comparisons import Comparison, scale_numbers, write_comparison
from crag.tables.data_table import DataTable, TableColumn
from crag.tables.table_reading import TableReading, only_one
from crag.tables.wording import find_currencies, has_words, word_pattern

QueryKind = Literal[
    "filter", "count", "distinct", "sum", "mean", "median", "min", "max", "top", "share", "change", "group"
]
AGGREGATES = {"sum": "sum", "mean": "avg", "median": "median"}
_PERIODS = {
    "month": "strftime({0}, '%Y-%m')",
    "quarter": "concat(year({0}), '-Q', quarter({0}))",
    "year": "strftime({0}, '%Y')",
}


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A statement for the question.

    `is_complete` if every content word of the question was used; `is_certain` if, besides, nothing was guessed.
    """

    sql: str
    table: DataTable
    kind: QueryKind
    is_certain: bool
    is_complete: bool


def write_literal(value: str | float) -> str:
    """Return a value as SQL."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:.12g}"


def quote_name(name: str) -> str:
    """Return a name as SQL."""
    return f'"{name}"'


def is_rate(measure: TableColumn) -> bool:
    """Return whether a sum of the column would be meaningless, as of prices and percentages."""
    return measure.unit == "%" or has_words(measure.name, "columns", "rate")


class QueryScope:
    """The columns and rows of a table that a question is about, from which its query is written."""

    def __init__(self, asked: TableReading) -> None:
        self.asked = asked
        self.is_guessed = asked.is_guessed
        self.rows: list[str] = []  # conditions

    def query(self, kind: QueryKind, select: str, end: str = "", *, measure: TableColumn | None = None) -> TableQuery:
        """Return the query over the rows of the conditions so far."""
        asked = self.asked
        where = f" WHERE {' AND '.join(self.rows)}" if self.rows else ""
        # Names are quoted and values are literals; the statement is checked like any other before it runs.
        sql = f"SELECT {select} FROM {quote_name(asked.table.sql_name)}{where}{end}"  # noqa: S608
        is_repeated = not asked.is_label_unique
        used = [*asked.numberings, *([] if is_repeated else [asked.label])]
        unused = [one for one in asked.named if one.quoted not in sql and one not in used]
        is_guessed = (
            self.is_guessed
            or self._is_guess(measure)
            or any(one.kind != "date" for one in unused)
            or (is_repeated and kind in ("filter", "distinct") and bool(asked.comparisons))  # of rows, or of their sums
            or bool(measure and measure.unread and kind != "filter")
            or self._mixes_units(measure, kind)
            or (asked.has_loose_verb and kind in ("count", "distinct"))
            or any(asked.names_other_span(one) for one in asked.numbers if one.quoted in sql)
            or any(asked.is_other_period(one) for one in asked.periods if one.quoted in sql)
            or self._ranks_losses(measure, kind)
            or bool(asked.left_over and kind in ("mean", "median", "count", "distinct") and not asked.values)
        )
        return TableQuery(sql, asked.table, kind, not (asked.rest or is_guessed), not asked.rest)

    def _ranks_losses(self, measure: TableColumn | None, kind: QueryKind) -> bool:
        """Return whether the query compares figures such as costs that are all written as negative numbers."""
        if measure is None or kind not in ("max", "min", "top"):
            return False
        cells = [cell for cell in self.asked.table.cells(measure) if isinstance(cell, float)]
        return bool(cells) and min(cells) < 0 and max(cells) <= 0

    def _is_guess(self, measure: TableColumn | None) -> bool:
        """Return whether no word of the question points to this column."""
        asked = self.asked
        is_said = measure in asked.named or measure in asked.synonyms or measure in asked.periods or asked.is_titled
        return measure in asked.numbers and not is_said

    def compared_column(self, comparison: Comparison) -> TableColumn | None:
        """Return the column to which a condition on a number applies; None if several are possible."""
        asked, text = self.asked, self.asked.question[comparison.start : comparison.end]
        if named := [column for column in asked.named if column in asked.numbers]:
            return min(named, key=lambda column: abs(asked.named[column] - comparison.start))
        currencies = find_currencies(text)
        alike = [one for one in asked.numbers if any(sign.search(one.unit) for sign in currencies)]
        if has_words(text, "wording", "percent"):
            alike = [one for one in asked.numbers if one.unit == "%"]
        choices = asked.synonyms or alike or asked.numbers
        self.is_guessed |= not (asked.synonyms or alike or asked.is_titled or asked.periods)
        return only_one(choices)

    def measure(self) -> TableColumn | None:
        """Return the column of figures that the question asks for; None if several are possible."""
        asked = self.asked
        compared = {self.compared_column(one) for one in asked.comparisons}
        named = [column for column in asked.named if column in asked.numbers]
        free = [[one for one in columns if one not in compared] for columns in (named, asked.synonyms)]
        return only_one(free[0] or free[1] or named or asked.synonyms or asked.numbers)

    def group(self) -> str:
        """Return the GROUP BY expression; empty if rows are not grouped."""
        return ", ".join(column.quoted for column in self.asked.groups) or self.period(self.asked.each)

    def period(self, unit: str | None) -> str:
        """Return the SQL of the month, quarter or year of a row; empty without a date."""
        return _PERIODS[unit].format(self.asked.date.quoted) if unit and self.asked.date else ""

    def mixes_accounts(self) -> bool:
        """Return whether rows are accounts, such as revenue and costs, which must not be added up."""
        is_one = self.asked.label in self.asked.values or self.asked.operation is None
        return not is_one and any(
            has_words(str(cell), "columns", "account") for cell in self.asked.table.cells(self.asked.label)
        )

    def _mixes_units(self, measure: TableColumn | None, kind: QueryKind) -> bool:
        """Return whether the query adds up or compares figures in several units, which another column names."""
        asked = self.asked
        fixed = {*asked.values, *asked.groups}
        named = [
            one
            for one in asked.table.columns
            if one not in fixed and word_pattern("columns", "unit").fullmatch(one.name)
        ]
        units = [{*map(str, asked.table.cells(one))} - {"None"} for one in named if one.kind == "text"]
        if measure not in asked.numbers or (measure and measure.unit) or kind == "filter":
            return False
        is_sum = kind in ("sum", "mean", "median", "share", "change", "group")
        return any(len(one) > 1 and (is_sum or any(map(find_currencies, one))) for one in units)

    def conditions(self, without: TableColumn | None = None) -> list[str] | None:
        """Return the conditions on rows; None if one of them cannot be assigned to a column."""
        asked = self.asked
        found = [*asked.date_conditions, *(self.value_condition(one) for one in asked.values if one is not without)]
        for one in asked.comparisons:
            column = self.compared_column(one)
            if column is None or not self._is_in_scale(column, one):
                return None
            found.append(write_comparison(column, one))
        if asked.column_comparison:
            first, sign, second = asked.column_comparison
            found.append(f"{first.quoted} {sign} {second.quoted}")
        return found

    def value_condition(self, column: TableColumn) -> str:
        """Return the condition on the values that the question names of a column."""
        excluded = self.asked.excluded.get(column, set())
        kept = [value for value in self.asked.values[column] if value not in excluded]
        self.is_guessed |= not kept and None in self.asked.table.cells(column)  # which may be excluded, too
        literals = ", ".join(map(write_literal, kept or sorted(excluded, key=str)))
        if len(kept) == 1:
            return f"{column.quoted} = {literals}"
        return f"{column.quoted} {'IN' if kept else 'NOT IN'} ({literals})"

    def _is_in_scale(self, column: TableColumn, comparison: Comparison) -> bool:
        """Return whether a number such as “3 million” is within the range of a column and has its unit."""
        if (
            has_words(self.asked.question[comparison.start : comparison.end], "wording", "percent")
            and column.unit != "%"
        ):
            return False
        largest = max((abs(cell) for cell in self.asked.table.cells(column) if isinstance(cell, float)), default=0.0)
        has_scale = any(scale for _, scale in comparison.numbers)
        return not has_scale or min(scale_numbers(column, comparison)) <= largest

    def names_one_row(self) -> bool:
        """Return whether the question names a row by its label."""
        asked = self.asked
        return asked.label in asked.values and asked.label not in asked.excluded and asked.is_label_unique

    def may_be_several(self) -> bool:
        """Return whether a row may describe several things: a column counts them, and labels have no numbers."""
        return not self.asked.are_labels_numbered and any(
            has_words(one.name, "columns", "stock") for one in self.asked.numbers
        )

    def are_rows_events(self) -> bool:
        """Return whether each row is an event: it begins with a date or a number."""
        asked = self.asked
        return not self.may_be_several() and (asked.label.kind == "date" or asked.label in asked.numberings)
