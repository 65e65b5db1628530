"""From a question to SQL by patterns, without a model: what is computed, of which column, over which rows.

A question that the patterns do not cover completely gets no query, or one that is not certain: a wrong number is worse
than none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from crag.tables.cell_numbers import SCALES
from crag.tables.data_table import DataTable, TableColumn
from crag.tables.table_reading import (
    Comparison,
    Operation,
    TableReading,
    find_comparisons,
    find_operations,
    word_pattern,
)
from crag.text.language import detect_language
from crag.text.table_headers import names_period

QueryKind = Literal["filter", "count", "sum", "mean", "min", "max", "top", "share", "change", "group"]
_AGGREGATES = {"sum": "sum", "mean": "avg", "min": "min", "max": "max"}
_COUNTS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "ten": 10,
    "二": 2,
    "两": 2,
    "兩": 2,
    "三": 3,
    "四": 4,
    "五": 5,
} | {"十": 10}
_IS_RATE = re.compile(
    r"price|rate|age\b|average|per |percent|%|ratio|score|level|단가|가격|율$|률$|평균|单价|單價|价格|價格|率$|平均",
    re.IGNORECASE,
)
_NAMES_ACCOUNTS = re.compile(
    r"\b(?:revenues?|turnover|profit|income|costs?|expenses|assets|liabilities|equity|ebit\w*|cash)\b"
    r"|매출|이익|비용|자산|부채|收入|利[润潤]|成本|[费費]用|[资資]产|負債|负债",
    re.IGNORECASE,
)
_IS_STOCK = re.compile(r"quantity|qty|pieces|수량|数量|數量", re.IGNORECASE)
_IS_QUANTITY = re.compile(r"quantity|qty|units|pieces|수량|数量|數量", re.IGNORECASE)
_ASKED_BEFORE = r"(?:\b(?:which|what)|哪[个個家些一种種位]*|어느|어떤)\s*$"
_CURRENCIES = {"$": r"dollar|usd|\$", "€": r"euro|eur|€", "£": r"pound|gbp|£", "元": "元|[块塊]", "원": "원"}


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A statement for the question; `is_certain` if every content word of the question was used."""

    sql: str
    table: DataTable
    kind: QueryKind
    is_certain: bool


_ASKS_NO_FIGURE = re.compile(
    r"\W*(?:(?:how )?(?:is|are|was|were)|do|does|did|can|may|must|should|has|have)\b(?! there)", re.IGNORECASE
)


def is_table_question(question: str) -> bool:
    """Return whether the wording asks for a computation over rows: a count, total, mean, extreme, share or change."""
    operations = not _ASKS_NO_FIGURE.match(question) and any(
        word_pattern("operations", name).search(question) for name in get_args(Operation)
    )
    return operations or is_plain_calculation(question) or bool(find_comparisons(question))


def is_plain_calculation(question: str) -> bool:
    """Return whether the wording leaves no doubt that it is about figures computed over rows."""
    return bool(word_pattern("plain").search(question))


def may_be_about(question: str, tables: Sequence[DataTable]) -> bool:
    """Return whether the question names a column or value of one of the tables, or one is in another language."""
    language = detect_language(question)
    return any(
        detect_language(" ".join(column.name for column in table.columns)) != language
        or TableReading(question, table).matches
        for table in tables
    )


def write_query(question: str, tables: Sequence[DataTable]) -> TableQuery | None:
    """Return the query for a question about one of the tables; None if it is about none of them, or about several."""
    if word_pattern("refused").search(_without_comparisons(question)):
        return None
    readings = [TableReading(question, table) for table in tables]
    ranked = sorted(readings, key=lambda reading: (len(reading.rest), -reading.matches))
    for best in ranked[:1]:
        others = [one for one in ranked[1:] if (len(one.rest), one.matches) == (len(best.rest), best.matches)]
        if best.matches and not others and not any(map(_is_named, best.rest)):
            found = _QueryWriter(best).write()
            return found if found is None or found.is_certain or best.names_measure else None
    return None


def _has_conflict(operations: Collection[Operation]) -> bool:
    """Return whether a question combines what one statement of the known forms cannot, as in “grew the most”."""
    extremes = {"min", "max"} & set(operations) if "top" not in operations else {"top"}
    combined = {"change", "share"} & set(operations)
    return len(extremes) > 1 or bool(extremes and combined) or bool("mean" in operations and combined)


def _is_named(word: str) -> bool:
    """Return whether a word that was not found in a table is a figure or a name, so that the question needs it."""
    return word[0].isdigit() or word[0].isupper()


def _without_comparisons(question: str) -> str:
    for one in find_comparisons(question):
        question = question[: one.start] + " " * (one.end - one.start) + question[one.end :]
    return question


def _quote(name: str) -> str:
    return f'"{name}"'


def _literal(value: str | float) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:.12g}"


_RECORDS = re.compile(
    r"\bhow many (sales|orders|transactions|deals|purchases|bookings|entries|records|rows|invoices|payments)\b",
    re.IGNORECASE,
)


class _QueryWriter:
    """Writes the query for a question as read about one table."""

    def __init__(self, asked: TableReading) -> None:
        self._asked = asked
        self._is_guessed = False

    def _compared_column(self, comparison: Comparison) -> TableColumn | None:
        named = [column for column in self._asked.named if column in self._asked.numbers]
        if named:
            return min(named, key=lambda column: abs(self._asked.named[column] - comparison.start))
        text = self._asked.question[comparison.start : comparison.end]
        signs = [sign for sign, words in _CURRENCIES.items() if re.search(words, text, re.IGNORECASE)]
        priced = [
            one
            for one in self._asked.numbers
            if any(re.search(_CURRENCIES[sign], one.unit, re.IGNORECASE) for sign in signs)
        ]
        choices = self._asked.synonyms or priced or self._asked.numbers
        self._is_guessed = self._is_guessed or not (
            self._asked.synonyms or priced or self._asked.is_titled or self._asked.periods
        )
        return choices[0] if len(choices) == 1 else None

    def _measure(self) -> TableColumn | None:
        """Return the column of figures that the question asks for, if only one can be meant."""
        compared = {self._compared_column(one) for one in self._asked.comparisons}
        named = [column for column in self._asked.named if column in self._asked.numbers]
        free = [column for column in named if column not in compared]
        self._is_guessed = not (named or self._asked.synonyms or self._asked.periods or self._asked.is_titled)
        choices = free or [one for one in self._asked.synonyms if one not in compared] or named or self._asked.synonyms
        choices = choices or self._asked.numbers
        return choices[0] if len(choices) == 1 else None

    def _mixes_accounts(self) -> bool:
        """Return whether a figure over all rows would mix revenue with costs and the like, one of which each row is."""
        at = self._asked.table.columns.index(self._asked.label)
        is_one = self._asked.label in self._asked.values or self._asked.operation is None
        return not is_one and any(_NAMES_ACCOUNTS.search(str(row.values[at])) for row in self._asked.table.rows)

    def _conditions(self, without: TableColumn | None = None) -> list[str] | None:
        """Return the conditions on rows; None if one of them cannot be assigned to a column."""
        found = list(self._asked.date_conditions)
        column: TableColumn | None
        for column, values in self._asked.values.items():
            if column is without:
                continue
            literals = ", ".join(_literal(value) for value in values)
            name = _quote(column.sql_name)
            found.append(f"{name} IN ({literals})" if len(values) > 1 else f"{name} = {literals}")
        for one in self._asked.comparisons:
            column = self._compared_column(one)
            if column is None or not self._is_in_scale(column, one):
                return None
            found.append(_compare(column, one))
        return found

    def _is_in_scale(self, column: TableColumn, comparison: Comparison) -> bool:
        """Return whether figures of a column reach a number such as “3 million”, or may be written in millions."""
        at = self._asked.table.columns.index(column)
        largest = max((abs(v) for row in self._asked.table.rows if isinstance(v := row.values[at], float)), default=0.0)
        has_scale = any(scale for _, scale in comparison.numbers)
        return not has_scale or min(_scaled_numbers(column, comparison)) <= largest

    def write(self) -> TableQuery | None:
        """Return the query; None if the column or the rows that are meant stay open."""
        conditions = self._conditions()
        if conditions is None:
            return None
        if (
            _has_conflict(self._asked.operations)
            or self._mixes_accounts()
            or (not self._asked.groups and re.search(r"각|各|每|별(?=\s)|마다", self._asked.question))
        ):
            return None
        writers = {"change": self._write_change, "share": self._write_share, "top": self._write_top}
        if self._asked.operation in writers:
            return writers[self._asked.operation](conditions)
        if self._asked.operation in ("min", "max"):
            return self._write_extreme(conditions)
        if self._asked.operation == "count":
            return self._write_count(conditions)
        if self._asked.operation in ("sum", "mean") or self._asked.groups:
            return self._write_aggregate(self._asked.operation or "sum", conditions)
        return self._write_filter(conditions)

    def _query(
        self,
        kind: QueryKind,
        select: str,
        conditions: Sequence[str],
        end: str = "",
        *,
        measure: TableColumn | None = None,
    ) -> TableQuery:
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        # Names are quoted and values are literals; the statement is checked like any other before it runs.
        sql = f"SELECT {select} FROM {_quote(self._asked.table.sql_name)}{where}{end}"  # noqa: S608
        is_certain = (
            not self._asked.rest and not self._is_guessed and not (measure and measure.unread and kind != "filter")
        )
        return TableQuery(sql, self._asked.table, kind, is_certain)

    def _write_filter(self, conditions: Sequence[str]) -> TableQuery | None:
        if not conditions or self._is_range():
            return None
        compared = [self._compared_column(one) for one in self._asked.comparisons]
        asked = [
            column
            for column in self._asked.named
            if column is not self._asked.label and column not in self._asked.values
        ]
        if not self._asked.comparisons and not asked:
            asked = self._asked.synonyms[:1] if len(self._asked.synonyms) == 1 else []
            measure = self._measure()
            if not asked and measure and self._asked.label in self._asked.values:
                asked = [measure]
        if not asked and not self._asked.comparisons and self._asked.label in self._asked.values:
            return None
        columns = dict.fromkeys([self._asked.label, *asked, *(one for one in compared if one)])
        if (
            self._is_sum_asked()
            and len(asked) == 1
            and asked[0] in self._asked.numbers
            and self._asked.label not in self._asked.values
        ):
            return self._write_aggregate("sum", conditions)
        select = ", ".join(_quote(column.sql_name) for column in columns)
        return self._query("filter", select, conditions)

    def _is_range(self) -> bool:
        """Return whether the question names the first and the last of several rows, of which it means those between."""
        values = self._asked.values.get(self._asked.label, {})
        return len(values) > 1 and bool(
            re.search(r"\bfrom\b|\bbetween\b|부터|[从從]|~|–", self._asked.question, re.IGNORECASE)
        )

    def _is_sum_asked(self) -> bool:
        return (
            bool(re.search(r"\bhow much\b|얼마|多少", self._asked.question, re.IGNORECASE))
            and not self._asked.comparisons
        )

    def _write_count(self, conditions: Sequence[str]) -> TableQuery | None:
        """Count rows if the question counts what they are about; add up the column if it counts what that holds."""
        measure = self._measure_counted()
        if self._are_records_counted():
            return self._query("count", "count(*) AS count", conditions) if not self._asked.groups else None
        if self._is_value_counted() and not measure:
            quantities = [one for one in self._asked.numbers if _IS_QUANTITY.search(one.name)]
            return self._add_up(quantities[0], conditions) if len(quantities) == 1 else None
        if measure:
            if self._asked.rest:
                return None
            if self._asked.label in self._asked.values:
                return self._write_filter(conditions)
            return self._write_aggregate("sum", conditions)
        if self._asked.rest or not self._asked.names_rows or self._may_be_several():
            return None
        if self._asked.groups:
            group = _quote(self._asked.groups[0].sql_name)
            return self._query(
                "group", f"{group}, count(*) AS count", conditions, f" GROUP BY {group} ORDER BY count DESC, 1"
            )
        return self._query("count", "count(*) AS count", conditions)

    def _are_records_counted(self) -> bool:
        """Return whether the question counts sales, orders and the like, of which each row is one."""
        found = _RECORDS.search(self._asked.question)
        if not found:
            return False
        at = self._asked.table.columns.index(self._asked.label)
        is_record = self._asked.label.kind == "date" or any(
            re.search(r"\d", str(row.values[at])) for row in self._asked.table.rows
        )
        return is_record and not any(found[1][:4].lower() in one.name.lower() for one in self._asked.numbers)

    def _is_value_counted(self) -> bool:
        """Return whether the question counts what a cell names, as in “how many sails”, rather than rows."""
        ends = [end for _, end in find_operations(self._asked.question).get("count", [])]
        places = [
            place
            for column, values in self._asked.values.items()
            if column is not self._asked.label
            for place in values.values()
        ]
        return any(0 <= place - end <= 1 for place in places for end in ends) and self._asked.question.isascii()

    def _add_up(self, measure: TableColumn, conditions: Sequence[str]) -> TableQuery:
        return self._query("sum", f"sum({_quote(measure.sql_name)}) AS sum", conditions, measure=measure)

    def _measure_counted(self) -> TableColumn | None:
        compared = {self._compared_column(one) for one in self._asked.comparisons}
        named = [one for one in self._asked.named if one in self._asked.numbers and one not in compared]
        if self._asked.label in self._asked.named and not self._asked.synonyms and not named:
            return None
        choices = named or [one for one in self._asked.synonyms if one not in compared]
        return choices[0] if len(choices) == 1 else None

    def _may_be_several(self) -> bool:
        """Return whether a row may stand for more than one thing: a column counts them, and rows are no records."""
        at = self._asked.table.columns.index(self._asked.label)
        is_record = any(re.search(r"\d", str(row.values[at])) for row in self._asked.table.rows)
        return not is_record and any(_IS_STOCK.search(one.name) for one in self._asked.numbers)

    def _write_aggregate(self, operation: str, conditions: Sequence[str]) -> TableQuery | None:
        measure = self._measure()
        if measure is None or (
            self._asked.label in self._asked.values
            and len(self._asked.values[self._asked.label]) == 1
            and not self._asked.groups
        ):
            return self._write_filter(conditions) if measure else None
        is_sum = operation == "sum"
        if (is_sum and _is_rate(measure)) or self._is_range():
            return None
        function, name = _AGGREGATES[operation], _quote(measure.sql_name)
        group = self._asked.groups[0] if self._asked.groups else None
        is_each = group is self._asked.label and (
            operation == "mean" or (self._asked.operation == "sum" and bool(re.search("[各每]", self._asked.question)))
        )
        if group and not is_each:
            by = _quote(group.sql_name)
            select, end = f"{by}, {function}({name}) AS {operation}", f" GROUP BY {by} ORDER BY 2 DESC, 1"
            return self._query("group", select, conditions, end, measure=measure)
        kind: QueryKind = "sum" if is_sum else "mean"
        at = self._asked.table.columns.index(measure)
        if any(row.values[at] is None for row in self._asked.table.rows):  # they are no part of the figure
            conditions = [*conditions, f"{name} IS NOT NULL"]
        return self._query(kind, f"{function}({name}) AS {operation}", conditions, measure=measure)

    def _write_extreme(self, conditions: Sequence[str]) -> TableQuery | None:
        measure = self._measure()
        if self._asked.groups or self._is_range() or self._is_owner_fixed():
            return None
        owner = self._asked_owner()
        if owner and self._is_label_counted():
            measure = None
        if measure is None and not owner:
            return None
        kind: QueryKind = "min" if self._asked.operation == "min" else "max"
        if owner:
            return self._write_best_group(owner, measure, kind, conditions)
        if measure is None or "mean" in self._asked.operations:
            return None
        name, table = _quote(measure.sql_name), _quote(self._asked.table.sql_name)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        limit = f"{name} = (SELECT {kind}({name}) FROM {table}{where})"  # noqa: S608
        select = f"{_quote(self._asked.label.sql_name)}, {name}"
        return self._query(kind, select, [*conditions, limit], measure=measure)

    def _asked_owner(self) -> TableColumn | None:
        """Return the column whose repeated values the question compares, as regions that have several rows each."""
        others = [
            one
            for one in self._asked.named
            if one.kind == "text" and one is not self._asked.label and one not in self._asked.values
        ]
        asked = [
            one
            for one in others
            if re.search(_ASKED_BEFORE, self._asked.question[: self._asked.named[one]], re.IGNORECASE)
        ]
        choices = asked or ([] if self._asked.label in self._asked.named else others)
        return choices[0] if len(choices) == 1 else None

    def _is_owner_fixed(self) -> bool:
        """Return whether the question asks which value of a column is best, but also names one, as an earlier one."""
        fixed = [self._asked.named[one] for one in self._asked.values if one in self._asked.named]
        return any(re.search(_ASKED_BEFORE, self._asked.question[:place], re.IGNORECASE) for place in fixed)

    def _is_label_counted(self) -> bool:
        """Return whether the question compares how many rows there are, as in “the most employees”."""
        has_measure = any(one in self._asked.numbers for one in self._asked.named) or bool(self._asked.synonyms)
        return not has_measure and self._asked.names_rows

    def _write_best_group(
        self, owner: TableColumn, measure: TableColumn | None, kind: QueryKind, conditions: Sequence[str]
    ) -> TableQuery | None:
        if measure is None and not self._is_label_counted():
            return None
        if measure and _is_rate(measure) and "mean" not in self._asked.operations:
            return None
        by = _quote(owner.sql_name)
        function = "avg" if "mean" in self._asked.operations else "sum"
        value = f"{function}({_quote(measure.sql_name)})" if measure else "count(*)"
        end = f" GROUP BY {by} QUALIFY rank() OVER (ORDER BY {value} {'ASC' if kind == 'min' else 'DESC'}) = 1"
        alias = ("mean" if "mean" in self._asked.operations else "sum") if measure else "count"
        return self._query(kind, f"{by}, {value} AS {alias}", conditions, end, measure=measure)

    def _write_top(self, conditions: Sequence[str]) -> TableQuery | None:
        measure = self._measure()
        found = word_pattern("operations", "top").search(self._asked.question)
        word = re.search(r"\d+|two|three|four|five|ten|[二两兩三四五十]", found[0], re.IGNORECASE) if found else None
        if measure is None or not found or not word or self._asked.groups:
            return None
        count = int(word[0]) if word[0].isdigit() else _COUNTS[word[0].lower()]
        if self._is_owner_fixed():
            return None
        is_low = re.search(r"bottom|least|lowest|smallest|cheapest|하위|[后後末]", found[0], re.IGNORECASE)
        name, order = _quote(measure.sql_name), "ASC" if is_low else "DESC"
        if owner := self._asked_owner():  # several rows each, as products in a list of sales
            if _is_rate(measure):
                return None
            by, value = _quote(owner.sql_name), f"sum({name})"
            end = f" GROUP BY {by} QUALIFY rank() OVER (ORDER BY {value} {order}) <= {count} ORDER BY 2 {order}"
            return self._query("top", f"{by}, {value} AS sum", conditions, end, measure=measure)
        rank = f"rank() OVER (ORDER BY {name} {order}) <= {count}"
        end = f" QUALIFY {rank} ORDER BY {name} {order}"
        conditions = [*conditions, f"{name} IS NOT NULL"]
        return self._query("top", f"{_quote(self._asked.label.sql_name)}, {name}", conditions, end, measure=measure)

    def _write_share(self, conditions: Sequence[str]) -> TableQuery | None:
        column = next(iter(self._asked.values), None)
        others = self._conditions(without=column)
        if column is None or others is None or len(self._asked.values) != 1 or self._asked.comparisons:
            return None
        named_column = any(one in self._asked.numbers for one in self._asked.named)
        named = named_column or bool(self._asked.synonyms)
        measure = self._measure()
        if measure is None and (named or not self._asked.names_rows):
            return None
        if measure and not named and self._asked.names_rows:
            measure, self._is_guessed = None, False
        if measure and (_is_rate(measure) or (not named_column and len(self._asked.numbers) > 1)):
            return None
        whole = f"sum({_quote(measure.sql_name)})" if measure else "count(*)"
        part = f"{whole} FILTER (WHERE {conditions[-1]})"
        select = f"100.0 * {part} / {whole} AS share, {part} AS part, {whole} AS whole"
        return self._query("share", select, others, measure=measure)

    def _write_change(self, conditions: Sequence[str]) -> TableQuery | None:
        periods = [column for column in self._asked.periods if column in self._asked.named]
        if len(periods) == 2:
            return self._write_column_change(periods[0], periods[1], conditions)
        owner = next((column for column, values in self._asked.values.items() if len(values) == 2), None)
        measure = self._measure()
        others = self._conditions(without=owner)
        if owner is None or measure is None or others is None or self._asked.comparisons:
            return None
        order = {
            row.values[self._asked.table.columns.index(owner)]: at
            for at, row in reversed(list(enumerate(self._asked.table.rows)))
        }
        first, last = sorted(self._asked.values[owner], key=lambda value: order[value])
        name, by = _quote(measure.sql_name), _quote(owner.sql_name)
        parts = [f"sum({name}) FILTER (WHERE {by} = {_literal(value)})" for value in (first, last)]
        is_period = isinstance(first, float) or names_period(first)
        select = (
            _change_columns(*parts)
            if is_period
            else f"abs({parts[1]} - {parts[0]}) AS difference, {parts[0]}, {parts[1]}"
        )
        return self._query(
            "change", select, [*others, f"{by} IN ({_literal(first)}, {_literal(last)})"], measure=measure
        )

    def _write_column_change(self, first: TableColumn, last: TableColumn, conditions: Sequence[str]) -> TableQuery:
        parts = [f"sum({_quote(column.sql_name)})" for column in (first, last)]
        return self._query("change", _change_columns(*parts), conditions, measure=first)


def _change_columns(first: str, last: str) -> str:
    change = f"{last} - {first}"
    return f"{change} AS change, 100.0 * ({change}) / nullif({first}, 0) AS percent, {first} AS before, {last} AS after"


def _is_rate(measure: TableColumn) -> bool:
    """Return whether figures of a column mean nothing when they are added up, as prices and percentages."""
    return measure.unit == "%" or bool(_IS_RATE.search(measure.name))


def _compare(column: TableColumn, comparison: Comparison) -> str:
    name = _quote(column.sql_name)
    if comparison.sign == "< 0":
        return f"{name} < 0"
    numbers = _scaled_numbers(column, comparison)
    if comparison.sign == "between":
        return f"{name} BETWEEN {_literal(min(numbers))} AND {_literal(max(numbers))}"
    return f"{name} {comparison.sign} {_literal(numbers[0])}"


def _scaled_numbers(column: TableColumn, comparison: Comparison) -> list[float]:
    scales = [scale for _, scale in comparison.numbers]
    return [_rescale(value, scale or scales[-1], column.unit) for value, scale in comparison.numbers]


def _rescale(value: float, scale: str, unit: str) -> float:
    """Return a number in the unit of a column, as 50 for 500,000 won in a column of 만원."""
    factor = SCALES.get(scale, SCALES.get(scale.lower(), 1.0))
    own = next((SCALES[name] for name in SCALES if len(name) > 1 and name in unit.lower()), None)
    own = own or next((SCALES[name] for name in SCALES if not name.isascii() and name in unit), 1.0)
    return value * factor / own if scale else value
