"""SQL for questions about tables, by patterns: what to compute, of which column, over which rows.

A question that the patterns do not cover completely gets no query, or one that is not certain: a wrong number is worse
than none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from crag.tables.changes import write_change, write_share
from crag.tables.data_table import DataTable, TableColumn
from crag.tables.extremes import write_extreme
from crag.tables.query_scope import AGGREGATES, QueryKind, QueryScope, TableQuery, is_rate
from crag.tables.table_reading import Operation, TableReading, find_operations, only_one
from crag.tables.units import asks_by_unit
from crag.tables.wording import has_words, word_pattern
from crag.text.table_headers import names_period

_MAX_TIED = 4  # tables that fit a question equally well
_AGGREGATE_KINDS: dict[str, QueryKind] = {"sum": "sum", "mean": "mean", "median": "median"}


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
    found = [] if None in queries else [one for one in queries if one]
    if not found:
        return []
    rest, matches = min(rank.values())
    rivals = [one for one in readings if one.names_concept and (len(one.rest), -one.matches - 1) == (rest, matches)]
    if any(_QueryWriter(one).write() for one in rivals):
        return [replace(one, is_certain=False) for one in found]  # the other table may be meant
    return found


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


class _QueryWriter(QueryScope):
    """Writes the query for a question as read about one table."""

    def write(self) -> TableQuery | None:
        """Return the query; None if the column or the rows are ambiguous."""
        asked, rows = self.asked, self.conditions()
        is_each = has_words(asked.question, "wording", "each") and not self.group()
        is_open = is_each or (asked.is_range and asked.operation != "change") or _has_conflict(asked.operations)
        if rows is None or is_open or self.mixes_accounts():
            return None
        self.rows = rows
        if asked.missing:
            self.rows.append(f"{asked.missing.quoted} IS NULL")
            return self.query("filter", f"{asked.label.quoted}, {asked.missing.quoted}")
        if asked.is_over_all_periods:
            return self._write_all_periods()
        if asked.operation in (None, "sum", "count") and asked.counts_records:
            return self._count_rows()
        writers: dict[str, Callable[[], TableQuery | None]] = {
            "change": lambda: write_change(self),
            "share": lambda: write_share(self),
            **dict.fromkeys(("rank", "top", "min", "max", "date"), lambda: write_extreme(self)),
            "distinct": self._write_distinct,
            "count": self._write_count,
            **dict.fromkeys(("sum", "mean", "median", "group"), self._write_aggregate),
            "": self._write_filter,
        }
        return writers[asked.operation or ("date" if asked.date_order else "group" if self.group() else "")]()

    def _write_filter(self) -> TableQuery | None:
        """List the rows that match, with the columns asked for; add up a column if the question asks how much."""
        asked, label, is_one = self.asked, self.asked.label, self.names_one_row()
        compared = [self.compared_column(one) for one in asked.comparisons]
        compared += [one for one in asked.column_comparison or () if isinstance(one, TableColumn)]
        shown = [column for column in asked.named if column is not label and column not in asked.values]
        measure = None
        if has_words(asked.question, "wording", "compare") and not (shown or asked.synonyms):
            return None
        if not compared and not shown:
            shown = asked.synonyms if len(asked.synonyms) == 1 else []
            if not shown and is_one and (measure := self.measure()):
                shown = [measure]
        if not self.rows or (is_one and not shown and not compared):
            return None
        periods = [one for one in shown if one in asked.periods]
        is_over_time = len(shown) == len(periods) == 2 and not compared
        if has_words(asked.question, "wording", "compare") and is_over_time and len(asked.values.get(label, ())) == 1:
            return write_change(self)
        is_sum = not ((asked.is_label_unique and label.kind != "date") or label in asked.named)
        is_sum = is_sum or has_words(asked.question, "wording", "how_much")
        if len(shown) == 1 and shown[0] in asked.numbers and not compared and not is_one:
            if is_sum:
                return self._write_aggregate("sum")
            if has_words(asked.question, "wording", "compare"):
                return None
        if has_words(asked.question, "wording", "how_much") and not set(asked.numbers).intersection(shown):
            return None
        columns = dict.fromkeys([label, *shown, *(one for one in compared if one)])
        return self.query("filter", ", ".join(column.quoted for column in columns), measure=measure)

    def _write_count(self) -> TableQuery | None:
        """Count rows, or the different values of a column, or add up a column that counts things."""
        asked, measure = self.asked, self._measure_counted()
        if self._is_value_counted() and not measure:
            return self._count_named_value()
        if any(map(self._is_counted, asked.numberings)):
            return self._count_rows() if self._may_count_rows() else None
        if counted := self._counted_column():
            return self._count_distinct(counted)
        if measure:
            if asked.rest and not self.group():
                return None
            return self._write_filter() if asked.label in asked.values else self._write_aggregate("sum")
        if not self._may_count_rows():
            return None
        if not asked.names_rows:
            return self._count_events() if asked.values else None
        if asked.label.kind == "text" and not asked.is_label_unique and asked.label in asked.named:
            return self._count_distinct(asked.label)
        return self._count_rows()

    def _may_count_rows(self) -> bool:
        """Return whether rows are counted: what is counted is described by one row each, and is no unit of figures."""
        asked = self.asked
        is_unit = asks_by_unit(asked.question) and not asked.is_about_people
        return not (asked.rest or self.may_be_several() or is_unit)

    def _count_named_value(self) -> TableQuery | None:
        asked = self.asked
        quantity = only_one([one for one in asked.numbers if has_words(one.name, "columns", "quantity")])
        if quantity:
            return self.query("sum", f"sum({quantity.quoted}) AS sum", measure=quantity)
        if asked.is_about_people or asked.label in asked.named:
            return self._count_rows()
        return self._count_events() if not asked.rest else None

    def _count_rows(self) -> TableQuery:
        if not (group := self.group()):
            return self.query("count", "count(*) AS count")
        name, order = (group, "count DESC, 1") if self.asked.groups else (f"{group} AS {self.asked.each}", "1")
        return self.query("group", f"{name}, count(*) AS count", f" GROUP BY {group} ORDER BY {order}")

    def _count_events(self) -> TableQuery | None:
        """Count rows that the question names only by their values, as in “how many vaccinations”.

        A guess unless each row is an event: it begins with a date or a number.
        """
        self.is_guessed |= not self.are_rows_events()
        return None if self.asked.is_label_unique and not self.are_rows_events() else self._count_rows()

    def _count_distinct(self, column: TableColumn) -> TableQuery | None:
        return None if self.group() else self.query("distinct", f"count(DISTINCT {column.quoted}) AS count")

    def _write_distinct(self) -> TableQuery | None:
        asked = self.asked
        texts = [one for one in asked.named if one.kind == "text" and one not in asked.values]
        counted = only_one([one for one in texts if one is not asked.label] or texts)
        if counted is None and not texts and asked.values and asked.label.kind == "text" and not asked.is_label_unique:
            counted = asked.label
        return self._count_distinct(counted) if counted else None

    def _counted_column(self) -> TableColumn | None:
        """Return the column, other than the label, whose distinct values are counted: “how many departments”."""
        asked = self.asked
        texts = [
            one for one in asked.named if one.kind == "text" and one is not asked.label and one not in asked.values
        ]
        return next((column for column in texts if self._is_counted(column)), None)

    def _is_counted(self, column: TableColumn) -> bool:
        question, spans = self.asked.question, self.asked.spans.get(column)
        if not spans:  # another word stands for it
            return False
        start, end = spans[0][0], spans[-1][1]
        return any(
            last <= start <= last + question.isascii()
            or (end <= first and word_pattern("wording", "before_count").fullmatch(question[end:first]))
            for first, last in find_operations(question).get("count", ())
        )

    def _is_value_counted(self) -> bool:
        """Return whether the question counts what a cell names, as in “how many sails”, rather than rows."""
        asked = self.asked
        ends = [end for _, end in find_operations(asked.question).get("count", [])]
        places = [place for one in asked.values if one is not asked.label for place in asked.values[one].values()]
        return asked.question.isascii() and any(0 <= place - end <= 1 for place in places for end in ends)

    def _measure_counted(self) -> TableColumn | None:
        asked = self.asked
        compared = {self.compared_column(one) for one in asked.comparisons}
        named = [one for one in asked.named if one in asked.numbers and one not in compared]
        if asked.label in asked.named and not named and (not asked.synonyms or asked.groups):
            return None
        return only_one(named or [one for one in asked.synonyms if one not in compared])

    def _write_aggregate(self, operation: Operation | None = None) -> TableQuery | None:
        asked, measure = self.asked, self.measure()
        operation = operation or asked.operation or "sum"
        if not asked.groups and asked.operation is None and (several := self._each_value()):
            asked.groups = [several]
        group = self.group()
        if measure is None or (self.names_one_row() and len(asked.values[asked.label]) == 1 and not group):
            return self._write_filter() if measure else None
        if operation == "sum" and is_rate(measure):
            return None
        if operation == "mean" and self._asks_per_period() and _is_additive(measure):
            return self.query("mean", f"sum({measure.quoted}) / count(DISTINCT {group}) AS mean", measure=measure)
        select = f"{AGGREGATES[operation]}({measure.quoted}) AS {operation}"
        is_each = operation == "mean" or (
            asked.operation == "sum" and has_words(asked.question, "wording", "each_of_them")
        )
        if group and not (is_each and asked.groups == [asked.label] and asked.is_label_unique):
            self.is_guessed |= self._is_by_period() and operation != "sum"  # of rows, or of the sums of periods
            name = f"{group} AS {asked.each}" if asked.each else group
            order = "1" if asked.each else f"{len(asked.groups) + 1} DESC, 1"
            return self.query("group", f"{name}, {select}", f" GROUP BY {group} ORDER BY {order}", measure=measure)
        if None in asked.table.cells(measure):  # they are no part of the figure
            self.rows.append(f"{measure.quoted} IS NOT NULL")
        return self.query(_AGGREGATE_KINDS[operation], select, measure=measure)

    def _is_by_period(self) -> bool:
        cells = (str(cell) for column in self.asked.groups for cell in self.asked.table.cells(column))
        return bool(self.asked.each) or any(map(names_period, cells))

    def _asks_per_period(self) -> bool:
        """Return whether the question asks for the mean of the totals of periods, as in “average revenue per month”."""
        asked, column = self.asked, only_one(self.asked.groups)
        if column is None or column not in asked.named or None in asked.table.cells(column) or not self._is_by_period():
            return False
        return has_words(asked.question[: asked.named[column]], "wording", "per")

    def _each_value(self) -> TableColumn | None:
        """Return the column for each of whose values the question wants a figure, as in “of North and South”."""
        asked = self.asked
        several = (
            column for column, values in asked.values.items() if len(values) > 1 and column not in asked.excluded
        )
        column = None if has_words(asked.question, "wording", "or") else next(several, None)
        return column if column and len({*asked.values[column].values()}) > 1 else None

    def _write_all_periods(self) -> TableQuery | None:
        """Add up or average all columns of periods, for the row that is named or for all rows."""
        asked = self.asked
        if asked.operation not in (None, "sum", "mean") or any(one.unread for one in asked.periods):
            return None
        total = " + ".join(f"sum({one.quoted})" for one in asked.periods)
        if asked.operation != "mean":
            return self.query("sum", f"{total} AS sum", measure=asked.periods[0])
        if not self.names_one_row() or len(asked.values[asked.label]) != 1:
            return None
        return self.query("mean", f"({total}) / {len(asked.periods)} AS mean", measure=asked.periods[0])


def _is_additive(measure: TableColumn) -> bool:
    """Return whether a column certainly holds amounts, which can be summed within a month."""
    return any(has_words(measure.name, "columns", kind) for kind in ("account", "quantity"))
