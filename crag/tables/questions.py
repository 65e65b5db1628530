"""SQL for questions about tables, by patterns: what to compute, of which column, over which rows.

A question that the patterns do not cover completely gets no query, or one that is not certain: a wrong number is worse
than none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from crag.tables.comparisons import Comparison, find_comparisons, scale_numbers, write_comparison
from crag.tables.data_table import DataTable, TableColumn
from crag.tables.periods import find_periods, read_period
from crag.tables.table_reading import Operation, TableReading, find_operations, only_one
from crag.tables.wording import find_currencies, has_words, read_count, word_pattern
from crag.text.language import detect_language
from crag.text.table_headers import CAPTION_SEPARATOR, names_period

QueryKind = Literal[
    "filter", "count", "distinct", "sum", "mean", "median", "min", "max", "top", "share", "change", "group"
]
_LONGEST = 300  # characters; a longer question brings its own text
_ANY_YEAR = 2000  # of a month without a year
_MAX_TIED = 4  # tables that fit a question equally well
_AGGREGATES = {"sum": "sum", "mean": "avg", "median": "median"}
_AGGREGATE_KINDS: dict[str, QueryKind] = {"sum": "sum", "mean": "mean", "median": "median"}
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


def is_table_question(question: str) -> bool:
    """Return whether the wording asks for a computation over rows: a count, total, mean, extreme, share or change."""
    operations = not word_pattern("wording", "no_figure").match(question) and find_operations(question)
    is_grouped = has_words(question, "wording", "grouped")
    is_compared = is_grouped or has_words(question, "contest")
    is_compared |= has_words(question, "flow")
    return bool(operations or is_compared or is_plain_calculation(question) or find_comparisons(question))


def is_listing_question(question: str) -> bool:
    """Return whether the wording may ask for rows or groups of a table. It may also ask for a fact."""
    return len(question) <= _LONGEST and has_words(question, "listing")


def is_lookup_question(question: str) -> bool:
    """Return whether the wording may ask for a figure of a period in a table, as in “sales of the depot in 2023”."""
    has_period = names_period(question) or bool(find_periods(question, (_ANY_YEAR,)))
    return len(question) <= _LONGEST and has_period and has_words(question, "lookup")


def is_plain_calculation(question: str) -> bool:
    """Return whether the wording certainly asks for figures computed over rows."""
    return has_words(question, "plain")


def may_be_about(question: str, tables: Sequence[DataTable]) -> bool:
    """Return whether the question names a column or value of a table, or a table is in another language."""
    language = detect_language(question)
    return any(
        detect_language(" ".join(column.name for column in table.columns)) != language
        or TableReading(question, table).matches
        for table in tables
    )


def write_query(question: str, tables: Sequence[DataTable]) -> TableQuery | None:
    """Return the query for a question about one of the tables; None if it is about none of them, or about several."""
    found = write_queries(question, tables)
    return found[0] if len(found) == 1 else None


def write_queries(question: str, tables: Sequence[DataTable]) -> list[TableQuery]:
    """Return the query for a question about the tables that fit it best; nothing if one of these does not answer it.

    Several queries answer the question only if their results are the same.
    """
    readings = [TableReading(question, table) for table in tables]
    rank = {id(one): (len(one.rest), -one.matches) for one in readings}
    best = [one for one in readings if rank[id(one)] == min(rank.values())]
    queries = [_write_one(one) for one in best] if len(best) <= _MAX_TIED else [None]
    return [] if None in queries else [one for one in queries if one]


def _write_one(reading: TableReading) -> TableQuery | None:
    if not reading.matches or reading.is_refused or any(map(_is_named, reading.rest)):
        return None
    found = _QueryWriter(reading).write()
    return found if found is None or not reading.rest or reading.names_measure else None


def _has_conflict(operations: Collection[Operation]) -> bool:
    """Return whether a question combines operations that no known form of statement does: “grew the most”."""
    extremes = {"min", "max"} & set(operations) if not {"top", "rank"} & set(operations) else {"top"}
    combined = {"change", "share"} & set(operations)
    means = {"mean", "median"} & set(operations)
    return len(extremes) > 1 or bool(extremes and combined) or bool(means and combined) or len(means) > 1


def _is_named(word: str) -> bool:
    """Return whether a word is a figure or a name, which a query must not ignore."""
    return word[0].isdigit() or word[0].isupper()


def _literal(value: str | float) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:.12g}"


def _quote(name: str) -> str:
    return f'"{name}"'


class _QueryWriter:
    """Writes the query for a question as read about one table."""

    def __init__(self, asked: TableReading) -> None:
        self._asked = asked
        self._is_guessed = asked.is_guessed
        self._rows: list[str] = []  # conditions

    def write(self) -> TableQuery | None:
        """Return the query; None if the column or the rows are ambiguous."""
        asked, rows = self._asked, self._conditions()
        is_each = has_words(asked.question, "wording", "each") and not self._group()
        is_open = is_each or (asked.is_range and asked.operation != "change") or _has_conflict(asked.operations)
        if rows is None or is_open or self._mixes_accounts():
            return None
        self._rows = rows
        if asked.missing:
            self._rows.append(f"{asked.missing.quoted} IS NULL")
            return self._query("filter", f"{asked.label.quoted}, {asked.missing.quoted}")
        if asked.is_over_all_periods:
            return self._write_all_periods()
        if asked.operation in (None, "sum", "count") and asked.counts_records:
            return self._count_rows()
        writers: dict[str, Callable[[], TableQuery | None]] = {
            "change": self._write_change,
            "share": self._write_share,
            **dict.fromkeys(("rank", "top", "min", "max", "date"), self._write_extreme),
            "distinct": self._write_distinct,
            "count": self._write_count,
            **dict.fromkeys(("sum", "mean", "median", "group"), self._write_aggregate),
            "": self._write_filter,
        }
        return writers[asked.operation or ("date" if asked.date_order else "group" if self._group() else "")]()

    def _query(self, kind: QueryKind, select: str, end: str = "", *, measure: TableColumn | None = None) -> TableQuery:
        asked = self._asked
        where = f" WHERE {' AND '.join(self._rows)}" if self._rows else ""
        # Names are quoted and values are literals; the statement is checked like any other before it runs.
        sql = f"SELECT {select} FROM {_quote(asked.table.sql_name)}{where}{end}"  # noqa: S608
        is_repeated = not asked.is_label_unique
        used = [*asked.numberings, *([] if is_repeated else [asked.label])]
        unused = [one for one in asked.named if one.quoted not in sql and one not in used]
        is_guessed = (
            self._is_guessed
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
        cells = [cell for cell in self._asked.table.cells(measure) if isinstance(cell, float)]
        return bool(cells) and min(cells) < 0 and max(cells) <= 0

    # --- columns

    def _is_guess(self, measure: TableColumn | None) -> bool:
        """Return whether no word of the question points to this column."""
        asked = self._asked
        is_said = measure in asked.named or measure in asked.synonyms or measure in asked.periods or asked.is_titled
        return measure in asked.numbers and not is_said

    def _compared_column(self, comparison: Comparison) -> TableColumn | None:
        asked, text = self._asked, self._asked.question[comparison.start : comparison.end]
        if named := [column for column in asked.named if column in asked.numbers]:
            return min(named, key=lambda column: abs(asked.named[column] - comparison.start))
        currencies = find_currencies(text)
        alike = [one for one in asked.numbers if any(sign.search(one.unit) for sign in currencies)]
        if has_words(text, "wording", "percent"):
            alike = [one for one in asked.numbers if one.unit == "%"]
        choices = asked.synonyms or alike or asked.numbers
        self._is_guessed |= not (asked.synonyms or alike or asked.is_titled or asked.periods)
        return only_one(choices)

    def _measure(self) -> TableColumn | None:
        """Return the column of figures that the question asks for; None if several are possible."""
        asked = self._asked
        compared = {self._compared_column(one) for one in asked.comparisons}
        named = [column for column in asked.named if column in asked.numbers]
        free = [[one for one in columns if one not in compared] for columns in (named, asked.synonyms)]
        return only_one(free[0] or free[1] or named or asked.synonyms or asked.numbers)

    def _group(self) -> str:
        """Return the GROUP BY expression; empty if rows are not grouped."""
        return ", ".join(column.quoted for column in self._asked.groups) or self._period(self._asked.each)

    def _period(self, unit: str | None) -> str:
        return _PERIODS[unit].format(self._asked.date.quoted) if unit and self._asked.date else ""

    def _mixes_accounts(self) -> bool:
        """Return whether rows are accounts, such as revenue and costs, which must not be added up."""
        is_one = self._asked.label in self._asked.values or self._asked.operation is None
        return not is_one and any(
            has_words(str(cell), "columns", "account") for cell in self._asked.table.cells(self._asked.label)
        )

    def _mixes_units(self, measure: TableColumn | None, kind: QueryKind) -> bool:
        """Return whether the query adds up or compares figures in several units, which another column names."""
        asked = self._asked
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

    # --- conditions

    def _conditions(self, without: TableColumn | None = None) -> list[str] | None:
        """Return the conditions on rows; None if one of them cannot be assigned to a column."""
        asked = self._asked
        found = [*asked.date_conditions, *(self._value_condition(one) for one in asked.values if one is not without)]
        for one in asked.comparisons:
            column = self._compared_column(one)
            if column is None or not self._is_in_scale(column, one):
                return None
            found.append(write_comparison(column, one))
        if asked.column_comparison:
            first, sign, second = asked.column_comparison
            found.append(f"{first.quoted} {sign} {second.quoted}")
        return found

    def _value_condition(self, column: TableColumn) -> str:
        excluded = self._asked.excluded.get(column, set())
        kept = [value for value in self._asked.values[column] if value not in excluded]
        self._is_guessed |= not kept and None in self._asked.table.cells(column)  # which may be excluded, too
        literals = ", ".join(map(_literal, kept or sorted(excluded, key=str)))
        if len(kept) == 1:
            return f"{column.quoted} = {literals}"
        return f"{column.quoted} {'IN' if kept else 'NOT IN'} ({literals})"

    def _is_in_scale(self, column: TableColumn, comparison: Comparison) -> bool:
        """Return whether a number such as “3 million” is within the range of a column and has its unit."""
        if (
            has_words(self._asked.question[comparison.start : comparison.end], "wording", "percent")
            and column.unit != "%"
        ):
            return False
        largest = max((abs(cell) for cell in self._asked.table.cells(column) if isinstance(cell, float)), default=0.0)
        has_scale = any(scale for _, scale in comparison.numbers)
        return not has_scale or min(scale_numbers(column, comparison)) <= largest

    # --- rows

    def _names_one_row(self) -> bool:
        asked = self._asked
        return asked.label in asked.values and asked.label not in asked.excluded and asked.is_label_unique

    def _write_filter(self) -> TableQuery | None:
        """List the rows that match, with the columns asked for; add up a column if the question asks how much."""
        asked, label, is_one = self._asked, self._asked.label, self._names_one_row()
        compared = [self._compared_column(one) for one in asked.comparisons]
        compared += [one for one in asked.column_comparison or () if isinstance(one, TableColumn)]
        shown = [column for column in asked.named if column is not label and column not in asked.values]
        measure = None
        if has_words(asked.question, "wording", "compare") and not (shown or asked.synonyms):
            return None
        if not compared and not shown:
            shown = asked.synonyms if len(asked.synonyms) == 1 else []
            if not shown and is_one and (measure := self._measure()):
                shown = [measure]
        if not self._rows or (is_one and not shown and not compared):
            return None
        periods = [one for one in shown if one in asked.periods]
        is_over_time = len(shown) == len(periods) == 2 and not compared
        if has_words(asked.question, "wording", "compare") and is_over_time and len(asked.values.get(label, ())) == 1:
            return self._write_change()
        is_sum = not ((asked.is_label_unique and label.kind != "date") or label in asked.named)
        is_sum = is_sum or has_words(asked.question, "wording", "how_much")
        if len(shown) == 1 and shown[0] in asked.numbers and not compared and not is_one:
            if is_sum:
                return self._write_aggregate("sum")
            if has_words(asked.question, "wording", "compare"):
                return None
        columns = dict.fromkeys([label, *shown, *(one for one in compared if one)])
        return self._query("filter", ", ".join(column.quoted for column in columns), measure=measure)

    # --- counts

    def _write_count(self) -> TableQuery | None:
        """Count rows, or the different values of a column, or add up a column that counts things."""
        asked, measure = self._asked, self._measure_counted()
        if self._is_value_counted() and not measure:
            quantity = only_one([one for one in asked.numbers if has_words(one.name, "columns", "quantity")])
            if quantity:
                return self._query("sum", f"sum({quantity.quoted}) AS sum", measure=quantity)
            if asked.is_about_people or asked.label in asked.named:
                return self._count_rows()
            return self._count_events() if not asked.rest else None
        if counted := self._counted_column():
            return self._count_distinct(counted)
        if measure:
            if asked.rest and not self._group():
                return None
            return self._write_filter() if asked.label in asked.values else self._write_aggregate("sum")
        if asked.rest or self._may_be_several():
            return None
        if not asked.names_rows:
            return self._count_events() if asked.values else None
        if asked.label.kind == "text" and not asked.is_label_unique and asked.label in asked.named:
            return self._count_distinct(asked.label)
        return self._count_rows()

    def _count_rows(self) -> TableQuery:
        if not (group := self._group()):
            return self._query("count", "count(*) AS count")
        name, order = (group, "count DESC, 1") if self._asked.groups else (f"{group} AS {self._asked.each}", "1")
        return self._query("group", f"{name}, count(*) AS count", f" GROUP BY {group} ORDER BY {order}")

    def _count_events(self) -> TableQuery | None:
        """Count rows that the question names only by their values, as in “how many vaccinations”.

        A guess unless each row is an event: it begins with a date or a number.
        """
        self._is_guessed |= not self._are_rows_events()
        return None if self._asked.is_label_unique and not self._are_rows_events() else self._count_rows()

    def _are_rows_events(self) -> bool:
        asked = self._asked
        return not self._may_be_several() and (asked.label.kind == "date" or asked.label in asked.numberings)

    def _count_distinct(self, column: TableColumn) -> TableQuery | None:
        return None if self._group() else self._query("distinct", f"count(DISTINCT {column.quoted}) AS count")

    def _write_distinct(self) -> TableQuery | None:
        asked = self._asked
        texts = [one for one in asked.named if one.kind == "text" and one not in asked.values]
        counted = only_one([one for one in texts if one is not asked.label] or texts)
        if counted is None and not texts and asked.values and asked.label.kind == "text" and not asked.is_label_unique:
            counted = asked.label
        return self._count_distinct(counted) if counted else None

    def _counted_column(self) -> TableColumn | None:
        """Return the column, other than the label, whose distinct values are counted: “how many departments”."""
        asked = self._asked
        texts = [
            one for one in asked.named if one.kind == "text" and one is not asked.label and one not in asked.values
        ]
        return next((column for column in texts if self._is_counted(column)), None)

    def _is_counted(self, column: TableColumn) -> bool:
        question, spans = self._asked.question, self._asked.spans[column]
        start, end = spans[0][0], spans[-1][1]
        return any(
            last <= start <= last + question.isascii()
            or (end <= first and word_pattern("wording", "before_count").fullmatch(question[end:first]))
            for first, last in find_operations(question).get("count", ())
        )

    def _is_value_counted(self) -> bool:
        """Return whether the question counts what a cell names, as in “how many sails”, rather than rows."""
        asked = self._asked
        ends = [end for _, end in find_operations(asked.question).get("count", [])]
        places = [place for one in asked.values if one is not asked.label for place in asked.values[one].values()]
        return asked.question.isascii() and any(0 <= place - end <= 1 for place in places for end in ends)

    def _measure_counted(self) -> TableColumn | None:
        asked = self._asked
        compared = {self._compared_column(one) for one in asked.comparisons}
        named = [one for one in asked.named if one in asked.numbers and one not in compared]
        if asked.label in asked.named and not named and (not asked.synonyms or asked.groups):
            return None
        return only_one(named or [one for one in asked.synonyms if one not in compared])

    def _may_be_several(self) -> bool:
        """Return whether a row may describe several things: a column counts them, and labels have no numbers."""
        return not self._asked.are_labels_numbered and any(
            has_words(one.name, "columns", "stock") for one in self._asked.numbers
        )

    # --- sums and averages

    def _write_aggregate(self, operation: Operation | None = None) -> TableQuery | None:
        asked, measure = self._asked, self._measure()
        operation = operation or asked.operation or "sum"
        if not asked.groups and asked.operation is None and (several := self._each_value()):
            asked.groups = [several]
        group = self._group()
        if measure is None or (self._names_one_row() and len(asked.values[asked.label]) == 1 and not group):
            return self._write_filter() if measure else None
        if operation == "sum" and _is_rate(measure):
            return None
        if operation == "mean" and self._asks_per_period() and _is_additive(measure):
            return self._query("mean", f"sum({measure.quoted}) / count(DISTINCT {group}) AS mean", measure=measure)
        select = f"{_AGGREGATES[operation]}({measure.quoted}) AS {operation}"
        is_each = operation == "mean" or (
            asked.operation == "sum" and has_words(asked.question, "wording", "each_of_them")
        )
        if group and not (is_each and asked.groups == [asked.label] and asked.is_label_unique):
            self._is_guessed |= self._is_by_period() and operation != "sum"  # of rows, or of the sums of periods
            name = f"{group} AS {asked.each}" if asked.each else group
            order = "1" if asked.each else f"{len(asked.groups) + 1} DESC, 1"
            return self._query("group", f"{name}, {select}", f" GROUP BY {group} ORDER BY {order}", measure=measure)
        if None in asked.table.cells(measure):  # they are no part of the figure
            self._rows.append(f"{measure.quoted} IS NOT NULL")
        return self._query(_AGGREGATE_KINDS[operation], select, measure=measure)

    def _is_by_period(self) -> bool:
        cells = (str(cell) for column in self._asked.groups for cell in self._asked.table.cells(column))
        return bool(self._asked.each) or any(map(names_period, cells))

    def _asks_per_period(self) -> bool:
        """Return whether the question asks for the mean of the totals of periods, as in “average revenue per month”."""
        asked, column = self._asked, only_one(self._asked.groups)
        if column is None or column not in asked.named or None in asked.table.cells(column) or not self._is_by_period():
            return False
        return has_words(asked.question[: asked.named[column]], "wording", "per")

    def _each_value(self) -> TableColumn | None:
        """Return the column for each of whose values the question wants a figure, as in “of North and South”."""
        asked = self._asked
        several = (
            column for column, values in asked.values.items() if len(values) > 1 and column not in asked.excluded
        )
        column = None if has_words(asked.question, "wording", "or") else next(several, None)
        return column if column and len({*asked.values[column].values()}) > 1 else None

    def _write_all_periods(self) -> TableQuery | None:
        """Add up or average all columns of periods, for the row that is named or for all rows."""
        asked = self._asked
        if asked.operation not in (None, "sum", "mean") or any(one.unread for one in asked.periods):
            return None
        total = " + ".join(f"sum({one.quoted})" for one in asked.periods)
        if asked.operation != "mean":
            return self._query("sum", f"{total} AS sum", measure=asked.periods[0])
        if not self._names_one_row() or len(asked.values[asked.label]) != 1:
            return None
        return self._query("mean", f"({total}) / {len(asked.periods)} AS mean", measure=asked.periods[0])

    # --- extremes

    def _write_extreme(self) -> TableQuery | None:
        """List the rows, or the groups of rows, with the largest or smallest values."""
        asked, owner = self._asked, self._owner()
        if self._group() or self._is_owner_fixed() or asked.column_comparison:
            return None
        kind, rank, limit = self._read_order()
        order = "ASC" if kind == "min" or (limit and self._is_low()) else "DESC"
        measure = asked.date if asked.date_order else self._measure()
        is_other = asked.is_ranked_by_synonym and not asked.date_order  # “the price of the largest”, ranked by size
        measure = only_one(asked.synonyms) if is_other else measure
        if owner:
            return None if asked.date_order else self._write_best_group(owner, measure, kind, order, limit or -rank)
        if measure is None or {"mean", "median"} & set(asked.operations):
            return None
        if asked.left_over and asked.label not in asked.values:
            self._rows.append(f"{asked.label.quoted} NOT IN ({', '.join(map(_literal, asked.left_over))})")
        name = measure.quoted
        shown = [one.quoted for one in asked.numbers if one in asked.named and (asked.date_order or is_other)]
        select = ", ".join(dict.fromkeys([asked.label.quoted, name, *shown]))
        filled = [*self._rows, f"{name} IS NOT NULL"]
        if limit:
            self._rows = filled
            end = f" QUALIFY rank() OVER (ORDER BY {name} {order}) <= {limit} ORDER BY {name} {order}"
            return self._query("top", select, end, measure=measure)
        table, where = _quote(asked.table.sql_name), " AND ".join(filled)
        nth = f"SELECT DISTINCT {name} FROM {table} WHERE {where} ORDER BY 1 {order} LIMIT 1 OFFSET {rank - 1}"  # noqa: S608
        self._rows.append(f"{name} = ({nth})")
        return self._query(kind, select, measure=measure)

    def _read_order(self) -> tuple[QueryKind, int, int]:
        """Return the kind of extreme, its rank, and the number of rows if several are asked for."""
        asked = self._asked
        if asked.date_order:
            return ("max" if asked.date_order == "latest" else "min"), 1, 0
        if asked.contest:  # all that are compared, the one that is asked for first
            return "top", 1, len(asked.values[asked.contest])
        kind: QueryKind = "min" if self._is_low() else "max"
        if asked.operation in ("top", "rank"):
            found = word_pattern("operations", asked.operation).search(asked.question)
            number = read_count(found[0]) if found else 1
            return ("top", 1, number) if asked.operation == "top" else (kind, number, 0)
        if limit := word_pattern("wording", "limit").search(asked.question):
            return "top", 1, read_count(limit[0])
        return kind, 1, 0

    def _is_low(self) -> bool:
        """Return whether the question looks for small values; Korean and Chinese say so after the number."""
        operations, question = find_operations(self._asked.question), self._asked.question
        spans = [*operations.get("top", ()), *operations.get("rank", ())]
        ends = [question[start : end + 12 * (not question.isascii())] for start, end in spans]
        return "min" in self._asked.operations or any(has_words(one, "wording", "low") for one in ends)

    def _owner(self) -> str:
        """Return the SQL of what is compared: a column with several rows for each value, or a period."""
        asked = self._asked
        if asked.asked_period:
            return self._period(asked.asked_period)
        if asked.contest:
            return "" if asked.contest is asked.label and asked.is_label_unique else asked.contest.quoted
        is_repeated = (asked.label.kind != "number" or bool(asked.label.unit)) and not asked.is_label_unique
        texts = [one for one in asked.named if one.kind == "text" and len(asked.values.get(one, ())) != 1]
        texts += [asked.label] if asked.label.kind != "text" and is_repeated and asked.label in asked.named else []
        others = [one for one in texts if one is not asked.label or is_repeated]
        before = [one for one in others if has_words(asked.question[: asked.named[one]], "wording", "which")]
        choice = only_one(before or ([] if asked.label in asked.named and not is_repeated else others))
        return choice.quoted if choice else ""

    def _is_owner_fixed(self) -> bool:
        """Return whether the question asks for the best value of a column of which it names only one."""
        asked = self._asked
        single = [one for one, values in asked.values.items() if len(values) == 1 and one not in asked.excluded]
        fixed = [asked.named[one] for one in single if one in asked.named]
        return any(has_words(asked.question[:place], "wording", "which") for place in fixed)

    def _is_label_counted(self) -> bool:
        """Return whether the question compares numbers of rows, as in “the most employees”."""
        has_measure = any(one in self._asked.numbers for one in self._asked.named) or bool(self._asked.synonyms)
        counts_values = bool(self._asked.values) and not self._may_be_several()
        return not has_measure and (self._asked.names_rows or counts_values)

    def _write_best_group(
        self, owner: str, measure: TableColumn | None, kind: QueryKind, order: str, place: int
    ) -> TableQuery | None:
        """Rank groups by sum, average or count: return the first `place` groups, or the one at rank minus `place`."""
        asked = self._asked
        means = [one for one in ("mean", "median") if one in asked.operations]
        if (kind != "top" or asked.contest) and self._is_label_counted():
            measure = None
            self._is_guessed |= not (asked.names_rows or asked.is_about_people or self._are_rows_events())
        if (measure is None and not self._is_label_counted()) or (measure and _is_rate(measure) and not means):
            return None
        names_row = asked.names_people or (asked.label in asked.named and asked.label.quoted != owner)
        self._is_guessed |= names_row and measure in asked.named and not asked.contest  # of one row, or of the group
        self._is_guessed |= has_words(asked.question, "wording", "priced")  # by a price, or by the sum of its rows
        alias = means[0] if means else "sum" if measure else "count"
        value = f"{_AGGREGATES[alias]}({measure.quoted})" if measure else "count(*)"
        name = f"{owner} AS {asked.asked_period}" if asked.asked_period else owner
        at = f"<= {place}" if place > 0 else f"= {-place}"
        end = f" GROUP BY {owner} QUALIFY dense_rank() OVER (ORDER BY {value} {order}) {at} ORDER BY 2 {order}"
        return self._query(kind, f"{name}, {value} AS {alias}", end, measure=measure)

    # --- shares and changes

    def _write_share(self) -> TableQuery | None:
        asked = self._asked
        column = next(iter(asked.values), None)
        others = self._conditions(without=column)
        if column is None or others is None or len(asked.values) != 1 or asked.comparisons:
            return None
        named_column = any(one in asked.numbers for one in asked.named)
        named, measure = named_column or bool(asked.synonyms), self._measure()
        if not named and asked.names_rows:
            measure = None
        elif measure is None or _is_rate(measure) or (not named_column and len(asked.numbers) > 1):
            return None
        whole = f"sum({measure.quoted})" if measure else "count(*)"
        part = f"{whole} FILTER (WHERE {self._value_condition(column)})"
        self._rows = others
        select = f"100.0 * {part} / {whole} AS share, {part} AS part, {whole} AS whole"
        return self._query("share", select, measure=measure)

    def _write_change(self) -> TableQuery | None:
        """Compare two columns of periods, or the rows of two values: in their order, or as they are named."""
        asked = self._asked
        periods = _sort_by_time([column for column in asked.periods if column in asked.named])
        if len(periods) == 2:
            dates = [read_period(one.name) for one in periods]
            if len({_name_without_period(one) for one in periods}) > 1 or (dates[0] and dates[0] == dates[1]):
                return None  # of other figures, or of one period, such as its budget
            return self._query(
                "change", _change_columns(*(f"sum({one.quoted})" for one in periods)), measure=periods[0]
            )
        owner = next((column for column, values in asked.values.items() if len(values) == 2), None)
        named = [column for column in asked.named if column in asked.numbers]
        if len(named) == 2 and self._names_one_row():
            return self._write_difference(*named)
        measure, others = self._measure(), self._conditions(without=owner)
        if owner is None or measure is None or others is None or asked.comparisons or owner in asked.excluded:
            return None
        order = list(dict.fromkeys(asked.table.cells(owner)))
        first, last = sorted(asked.values[owner], key=order.index)
        subtracted = self._subtrahend(owner)
        if subtracted is not None and (last == subtracted) != has_words(asked.question, "wording", "less"):
            first, last = last, first
        before, after = (
            f"sum({measure.quoted}) FILTER (WHERE {owner.quoted} = {_literal(value)})" for value in (first, last)
        )
        if subtracted is None and (isinstance(first, float) or names_period(first)):
            select = _change_columns(before, after)
        else:
            change = f"{after} - {before}" if subtracted is not None else f"abs({after} - {before})"
            names = [_quote(str(value).replace('"', "")) for value in (first, last)]
            select = f"{change} AS difference, {before} AS {names[0]}, {after} AS {names[1]}"
        self._rows = [*others, f"{owner.quoted} IN ({_literal(first)}, {_literal(last)})"]
        return self._query("change", select, measure=measure)

    def _write_difference(self, first: TableColumn, second: TableColumn) -> TableQuery:
        """Subtract one column from the other in the named row: the one after “than”, if there is one."""
        places = {one: self._asked.spans[one][0] for one in (first, second)}
        question = self._asked.question
        subtracted = [one for one, (start, end) in places.items() if _is_subtracted(question, start, end)]
        if subtracted == [first]:
            first, second = second, first
        change = f"sum({first.quoted}) - sum({second.quoted})"
        if subtracted and has_words(question, "wording", "less"):
            change = f"sum({second.quoted}) - sum({first.quoted})"
        select = change if subtracted else f"abs({change})"
        shown = ", ".join(f"sum({one.quoted}) AS {one.quoted}" for one in (first, second))
        return self._query("change", f"{select} AS difference, {shown}", measure=first)

    def _subtrahend(self, owner: TableColumn) -> str | float | None:
        """Return the value that the question subtracts: B in “how much more does A earn than B”."""
        question = self._asked.question
        for value, place in self._asked.values[owner].items():
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


def _is_rate(measure: TableColumn) -> bool:
    """Return whether a sum of the column would be meaningless, as of prices and percentages."""
    return measure.unit == "%" or has_words(measure.name, "columns", "rate")


def _is_additive(measure: TableColumn) -> bool:
    """Return whether a column certainly holds amounts, which can be summed within a month."""
    return any(has_words(measure.name, "columns", kind) for kind in ("account", "quantity"))
