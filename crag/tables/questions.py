"""From a question to SQL by patterns, without a model: what is computed, of which column, over which rows.

A question that the patterns do not cover completely gets no query, or one that is not certain: a wrong number is worse
than none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from crag.tables.cell_numbers import SCALES
from crag.tables.data_table import DataTable, TableColumn
from crag.tables.table_reading import (
    Comparison,
    Operation,
    TableReading,
    find_comparisons,
    find_currencies,
    find_operations,
    word_pattern,
)
from crag.text.table_headers import names_period

QueryKind = Literal[
    "filter", "count", "distinct", "sum", "mean", "median", "min", "max", "top", "share", "change", "group"
]
_AGGREGATES = {"sum": "sum", "mean": "avg", "median": "median"}
_PERIODS = {
    "month": "strftime({0}, '%Y-%m')",
    "quarter": "concat(year({0}), '-Q', quarter({0}))",
    "year": "strftime({0}, '%Y')",
}
_COUNTS = {
    word: number
    for number, words in {
        2: "two second 2nd 두 二 两 兩",
        3: "three third 3rd 세 三",
        4: "four fourth 4th 네 四",
        5: "five fifth 5th 다섯 五",
        10: "ten 十",
    }.items()
    for word in words.split()
}
_COUNT = re.compile(rf"\d+|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}", re.IGNORECASE)
_LIMIT = re.compile(
    r"\b(?:which|what(?: are)?|the|our) (\d{1,2}|two|three|four|five|ten) (?!million|thousand|percent)"
    r"|(\d{1,2}|[두세네]) ?(?:개|명|곳|가지)\b|(\d{1,2}|[两兩三四五十])[个個名家位]",
    re.IGNORECASE,
)
_IS_LOW = re.compile(
    r"bottom|least|lowest|smallest|cheapest|shortest|worst|fewest|하위|[적낮작짧]|싼|저렴|[后後末]|[低少小短]",
    re.IGNORECASE,
)
_IS_RATE = re.compile(
    r"price|rate|age\b|average|per |percent|%|ratio|score|level|단가|가격|율$|률$|평균|单价|單價|价格|價格|率$|平均",
    re.IGNORECASE,
)
_NAMES_ACCOUNTS = re.compile(
    r"\b(?:revenues?|turnover|profit|income|costs?|expenses|assets|liabilities|equity|ebit\w*|cash)\b"
    r"|매출|이익|비용|자산|부채|收入|利[润潤]|成本|[费費]用|[资資]产|負債|负债",
    re.IGNORECASE,
)
_IS_UNIT = re.compile(r"units?|uom|currency|단위|통화|[单單]位|[币幣][种種]|[货貨][币幣]", re.IGNORECASE)
_IS_STOCK = re.compile(r"quantity|qty|pieces|수량|数量|數量", re.IGNORECASE)
_IS_QUANTITY = re.compile(r"quantity|qty|units|pieces|수량|数量|數量", re.IGNORECASE)
_ASKED_BEFORE = r"(?:\b(?:which|what)|哪[个個家些一种種位]*|어느|어떤)\s*$"
_SUBTRAHEND = r"\bthan (?:in |the |of |that of )*$|比$", r"^ ?(?:점|팀)?보다"  # before it, after it
_IS_LESS = re.compile(r"\b(?:less|fewer|lower|shorter|smaller)\b|덜|적게|(?<!多)少|低", re.IGNORECASE)
_RECORDS = re.compile(
    r"\bhow many (sales|orders|transactions|deals|purchases|bookings|entries|records|rows|invoices|payments)\b"
    r"|(?:多少|[几幾])[个個笔筆张張]?([订訂][单單])|([订訂][单單])有",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A statement for the question; `is_certain` if every content word of the question was used."""

    sql: str
    table: DataTable
    kind: QueryKind
    is_certain: bool


def is_table_question(question: str) -> bool:
    """Return whether the wording asks for a computation over rows: a count, total, mean, extreme, share or change."""
    by_column = r"[가-힣]{2,} ?(?:별로?|마다)", r"各\w{1,6}(?:的|分[别別])", r"^按\w+"
    return bool(
        find_operations(question) or any(re.search(form, question) for form in by_column) or find_comparisons(question)
    )


def is_listing_question(question: str) -> bool:
    """Return whether the wording may ask for rows or groups of a table, although facts are asked for in the same way."""
    return bool(word_pattern("listing").search(question))


def write_query(question: str, tables: Sequence[DataTable]) -> TableQuery | None:
    """Return the query for a question about one of the tables; None if it is about none of them, or about several."""
    readings = [TableReading(question, table) for table in tables]
    ranked = sorted(readings, key=lambda reading: (len(reading.rest), -reading.matches))
    for best in ranked[:1]:
        others = [one for one in ranked[1:] if (len(one.rest), one.matches) == (len(best.rest), best.matches)]
        if best.matches and not others and not best.is_refused and not any(map(_is_named, best.rest)):
            found = _QueryWriter(best).write()
            return found if found is None or not best.rest or best.names_measure else None
    return None


def _has_conflict(operations: Collection[Operation]) -> bool:
    """Return whether a question combines what one statement of the known forms cannot, as in “grew the most”."""
    extremes = {"min", "max"} & set(operations) if not {"top", "rank"} & set(operations) else {"top"}
    combined = {"change", "share"} & set(operations)
    means = {"mean", "median"} & set(operations)
    return len(extremes) > 1 or bool(extremes and combined) or bool(means and combined) or len(means) > 1


def _is_named(word: str) -> bool:
    """Return whether a word that was not found in a table is a figure or a name, so that the question needs it."""
    return word[0].isdigit() or word[0].isupper()


def _quote(name: str) -> str:
    return f'"{name}"'


def _literal(value: str | float) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:.12g}"


class _QueryWriter:
    """Writes the query for a question as read about one table."""

    def __init__(self, asked: TableReading) -> None:
        self._asked = asked
        self._is_guessed = False  # the column that is meant

    def write(self) -> TableQuery | None:
        """Return the query; None if the column or the rows that are meant stay open."""
        asked = self._asked
        conditions = self._conditions()
        is_each = re.search(r"각|各|每|별(?=\s)|마다", asked.question) and not asked.groups and not asked.each
        if (
            conditions is None
            or is_each
            or (asked.is_range and asked.operation != "change")
            or _has_conflict(asked.operations)
            or self._mixes_accounts()
        ):
            return None
        if asked.missing:
            names = ", ".join(_quote(one.sql_name) for one in (asked.label, asked.missing))
            return self._query("filter", names, [*conditions, f"{_quote(asked.missing.sql_name)} IS NULL"])
        if asked.is_over_all_periods:
            return self._write_all_periods(conditions)
        if asked.operation in (None, "sum", "count") and self._are_records_counted():
            return self._count_rows(conditions)
        match asked.operation:
            case "change":
                return self._write_change(conditions)
            case "share":
                return self._write_share(conditions)
            case "rank" | "top" | "min" | "max":
                return self._write_extreme(conditions)
            case "distinct":
                return self._write_distinct(conditions)
            case "count":
                return self._write_count(conditions)
            case "sum" | "mean" | "median":
                return self._write_aggregate(asked.operation, conditions)
        if asked.date_order:
            return self._write_extreme(conditions)
        return self._write_aggregate("sum", conditions) if self._group() else self._write_filter(conditions)

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
        is_unsure = bool(measure and measure.unread and kind != "filter") or self._mixes_units(measure, kind)
        asked = self._asked
        is_guessed = self._is_guessed or asked.is_guessed or self._is_guess(measure)
        is_guessed |= any(
            _quote(one.sql_name) not in sql
            for one in asked.named
            if one.kind != "date" and (one is not asked.label or not asked.is_label_unique)
        )
        if not asked.is_label_unique and kind in ("filter", "distinct"):
            is_guessed |= bool(asked.comparisons)  # of rows, or of the sums of several
        return TableQuery(sql, self._asked.table, kind, not (self._asked.rest or is_guessed or is_unsure))

    def _is_guess(self, measure: TableColumn | None) -> bool:
        """Return whether nothing in the question says that this is the column that it asks for."""
        asked = self._asked
        is_said = measure in asked.named or measure in asked.synonyms or measure in asked.periods or asked.is_titled
        return measure in asked.numbers and not is_said

    # --- columns

    def _compared_column(self, comparison: Comparison) -> TableColumn | None:
        asked = self._asked
        text = asked.question[comparison.start : comparison.end]
        named = [column for column in asked.named if column in asked.numbers]
        if named:
            return min(named, key=lambda column: abs(asked.named[column] - comparison.start))
        if re.search("%|percent|half|퍼센트", text, re.IGNORECASE):
            priced = [one for one in asked.numbers if one.unit == "%"]
        else:
            currencies = find_currencies(text)
            priced = [one for one in asked.numbers if any(sign.search(one.unit) for sign in currencies)]
        choices = asked.synonyms or priced or asked.numbers
        self._is_guessed |= not (asked.synonyms or priced or asked.is_titled or asked.periods)
        return choices[0] if len(choices) == 1 else None

    def _measure(self) -> TableColumn | None:
        """Return the column of figures that the question asks for, if only one can be meant."""
        asked = self._asked
        compared = {self._compared_column(one) for one in asked.comparisons}
        named = [column for column in asked.named if column in asked.numbers]
        free = [column for column in named if column not in compared]
        choices = free or [one for one in asked.synonyms if one not in compared] or named or asked.synonyms
        choices = choices or asked.numbers
        return choices[0] if len(choices) == 1 else None

    def _group(self) -> str:
        """Return what rows are grouped by, as SQL; empty if they are not."""
        if self._asked.groups:
            return ", ".join(_quote(column.sql_name) for column in self._asked.groups)
        return self._period(self._asked.each)

    def _period(self, unit: str | None) -> str:
        column = self._asked.date
        return _PERIODS[unit].format(_quote(column.sql_name)) if unit and column else ""

    def _mixes_accounts(self) -> bool:
        """Return whether a figure over all rows would mix revenue with costs and the like, one of which each row is."""
        is_one = self._asked.label in self._asked.values or self._asked.operation is None
        return not is_one and any(_NAMES_ACCOUNTS.search(str(cell)) for cell in self._asked.cells(self._asked.label))

    def _mixes_units(self, measure: TableColumn | None, kind: QueryKind) -> bool:
        """Return whether figures of several units, which another column names, are added up or compared."""
        asked = self._asked
        units = [
            one
            for one in asked.table.columns
            if one.kind == "text"
            and _IS_UNIT.fullmatch(one.name)
            and one not in asked.values
            and one not in asked.groups
        ]
        is_money = any(find_currencies(str(cell)) for one in units for cell in asked.cells(one))
        is_sum = kind in ("sum", "mean", "median", "share", "change", "group")
        is_open = measure in asked.numbers and not (measure and measure.unit) and kind != "filter"
        return is_open and (is_sum or is_money) and any(len({*asked.cells(one)} - {None}) > 1 for one in units)

    # --- conditions

    def _conditions(self, without: TableColumn | None = None) -> list[str] | None:
        """Return the conditions on rows; None if one of them cannot be assigned to a column."""
        found = list(self._asked.date_conditions)
        found += [self._value_condition(column) for column in self._asked.values if column is not without]
        for one in self._asked.comparisons:
            column = self._compared_column(one)
            if column is None or not self._is_in_scale(column, one):
                return None
            found.append(_compare(column, one))
        if self._asked.column_comparison:
            first, sign, second = self._asked.column_comparison
            found.append(f"{_quote(first.sql_name)} {sign} {_quote(second.sql_name)}")
        return found

    def _value_condition(self, column: TableColumn) -> str:
        excluded = self._asked.excluded.get(column, set())
        kept = [value for value in self._asked.values[column] if value not in excluded]
        self._asked.is_guessed |= not kept and None in self._asked.cells(column)  # which may be excluded, too
        name, literals = _quote(column.sql_name), ", ".join(map(_literal, kept or sorted(excluded, key=str)))
        if not kept:
            return f"{name} NOT IN ({literals})"
        return f"{name} IN ({literals})" if len(kept) > 1 else f"{name} = {literals}"

    def _is_in_scale(self, column: TableColumn, comparison: Comparison) -> bool:
        """Return whether figures of a column reach a number such as “3 million”, or may be written in millions."""
        text = self._asked.question[comparison.start : comparison.end]
        if re.search("%|percent|half", text, re.IGNORECASE) and column.unit != "%":
            return False
        largest = max((abs(cell) for cell in self._asked.cells(column) if isinstance(cell, float)), default=0.0)
        has_scale = any(scale for _, scale in comparison.numbers)
        return not has_scale or min(_scaled_numbers(column, comparison)) <= largest

    # --- rows

    def _write_filter(self, conditions: Sequence[str]) -> TableQuery | None:
        """List the rows that match, with the columns asked for; add up a column if the question asks how much."""
        asked, label = self._asked, self._asked.label
        if not conditions:
            return None
        is_one = label in asked.values and label not in asked.excluded and asked.is_label_unique
        compared = [self._compared_column(one) for one in asked.comparisons]
        compared += [one for one in asked.column_comparison or () if isinstance(one, TableColumn)]
        shown = [column for column in asked.named if column is not label and column not in asked.values]
        measure = None
        if not compared and not shown:
            shown = asked.synonyms[:1] if len(asked.synonyms) == 1 else []
            if not shown and is_one and (measure := self._measure()):
                shown = [measure]
        if not shown and not compared and is_one:
            return None
        is_sum = re.search(r"\bhow (?:much|many|far|long)\b|얼마|多少", asked.question, re.IGNORECASE)
        is_sum = is_sum or not ((asked.is_label_unique and label.kind != "date") or label in asked.named)
        if is_sum and not compared and not is_one and len(shown) == 1 and shown[0] in asked.numbers:
            return self._write_aggregate("sum", conditions)
        if len(shown) == 1 and re.search(r"\bcompare\b|비교|比[较較]", asked.question, re.IGNORECASE) and not is_one:
            return None
        columns = dict.fromkeys([label, *shown, *(one for one in compared if one)])
        return self._query(
            "filter", ", ".join(_quote(column.sql_name) for column in columns), conditions, measure=measure
        )

    # --- counts

    def _write_count(self, conditions: Sequence[str]) -> TableQuery | None:
        """Count rows if the question counts what they are about; add up the column if it counts what that holds."""
        asked, group = self._asked, self._group()
        measure = self._measure_counted()
        if self._is_value_counted() and not measure:
            quantities = [one for one in asked.numbers if _IS_QUANTITY.search(one.name)]
            if len(quantities) == 1:
                return self._add_up(quantities[0], conditions)
            return self._count_rows(conditions) if asked.names_people else None
        if counted := self._counted_column():
            return self._count_distinct(counted, conditions)
        if measure:
            if asked.rest and not group:
                return None
            return (
                self._write_filter(conditions)
                if asked.label in asked.values
                else self._write_aggregate("sum", conditions)
            )
        if asked.rest or not asked.names_rows or self._may_be_several():
            return None
        label = asked.label
        if label.kind == "text" and not asked.is_label_unique and label in asked.named:
            return self._count_distinct(label, conditions)
        return self._count_rows(conditions)

    def _count_rows(self, conditions: Sequence[str]) -> TableQuery:
        if not (group := self._group()):
            return self._query("count", "count(*) AS count", conditions)
        name, order = (group, "count DESC, 1") if self._asked.groups else (f"{group} AS {self._asked.each}", "1")
        return self._query("group", f"{name}, count(*) AS count", conditions, f" GROUP BY {group} ORDER BY {order}")

    def _count_distinct(self, column: TableColumn, conditions: Sequence[str]) -> TableQuery | None:
        if self._group():
            return None
        return self._query("distinct", f"count(DISTINCT {_quote(column.sql_name)}) AS count", conditions)

    def _write_distinct(self, conditions: Sequence[str]) -> TableQuery | None:
        asked = self._asked
        texts = [one for one in asked.named if one.kind == "text" and one not in asked.values]
        others = [one for one in texts if one is not asked.label] if len(texts) > 1 else texts
        return self._count_distinct(others[0], conditions) if len(others) == 1 else None

    def _counted_column(self) -> TableColumn | None:
        """Return the column other than the label whose different values the question counts: “how many departments”."""
        asked = self._asked
        for column in asked.named:
            is_text = column.kind == "text" and column is not asked.label
            if is_text and column not in asked.values and self._is_counted(column):
                return column
        return None

    def _is_counted(self, column: TableColumn) -> bool:
        question, (start, end) = (
            self._asked.question,
            (self._asked.spans[column][0][0], self._asked.spans[column][-1][1]),
        )
        return any(
            last <= start <= last + question.isascii()
            or (end <= first and re.fullmatch(r"[은는이가]? ?|[一共有]*", question[end:first]))
            for first, last in find_operations(question).get("count", ())
        )

    def _follows_count(self, place: int) -> bool:
        ends = [end for _, end in find_operations(self._asked.question).get("count", [])]
        return any(0 <= place - end <= 1 for end in ends) and self._asked.question.isascii()

    def _are_records_counted(self) -> bool:
        """Return whether the question counts sales, orders and the like, of which each row is one."""
        found = _RECORDS.search(self._asked.question)
        if not found:
            return False
        word = next(filter(None, found.groups()))
        is_record = self._asked.label.kind == "date" or self._are_labels_numbered()
        return is_record and not any(word[:4].lower() in one.name.lower() for one in self._asked.numbers)

    def _are_labels_numbered(self) -> bool:
        return any(re.search(r"\d", str(cell)) for cell in self._asked.cells(self._asked.label))

    def _is_value_counted(self) -> bool:
        """Return whether the question counts what a cell names, as in “how many sails”, rather than rows."""
        columns = [one for one in self._asked.values if one is not self._asked.label]
        return any(self._follows_count(place) for one in columns for place in self._asked.values[one].values())

    def _add_up(self, measure: TableColumn, conditions: Sequence[str]) -> TableQuery:
        return self._query("sum", f"sum({_quote(measure.sql_name)}) AS sum", conditions, measure=measure)

    def _measure_counted(self) -> TableColumn | None:
        asked = self._asked
        compared = {self._compared_column(one) for one in asked.comparisons}
        named = [one for one in asked.named if one in asked.numbers and one not in compared]
        if asked.label in asked.named and not named and (not asked.synonyms or asked.groups):
            return None
        choices = named or [one for one in asked.synonyms if one not in compared]
        return choices[0] if len(choices) == 1 else None

    def _may_be_several(self) -> bool:
        """Return whether a row may stand for more than one thing: a column counts them, and rows are no records."""
        return not self._are_labels_numbered() and any(_IS_STOCK.search(one.name) for one in self._asked.numbers)

    # --- sums and averages

    def _write_aggregate(self, operation: Operation, conditions: Sequence[str]) -> TableQuery | None:
        asked, measure, group = self._asked, self._measure(), self._group()
        is_one = len(asked.values.get(asked.label, ())) == 1 and asked.label not in asked.excluded
        is_one = is_one and asked.is_label_unique
        if not group and asked.operation is None and (several := self._each_value()):
            asked.groups, group = [several], _quote(several.sql_name)
        if measure is None or (is_one and not group):
            return self._write_filter(conditions) if measure else None
        if operation == "sum" and _is_rate(measure):
            return None
        select = f"{_AGGREGATES[operation]}({_quote(measure.sql_name)}) AS {operation}"
        is_label = asked.groups == [asked.label]
        is_each = is_label and (
            operation == "mean" or (asked.operation == "sum" and bool(re.search("[各每]", asked.question)))
        )
        if group and not (is_each and asked.is_label_unique):
            asked.is_guessed |= bool(asked.each) and operation != "sum"  # of rows, or of the sums of periods
            name, order = (
                (f"{group} AS {asked.each}", "1") if asked.each else (group, f"{len(asked.groups) + 1} DESC, 1")
            )
            return self._query(
                "group", f"{name}, {select}", conditions, f" GROUP BY {group} ORDER BY {order}", measure=measure
            )
        kind: QueryKind = "sum" if operation == "sum" else "median" if operation == "median" else "mean"
        if None in asked.cells(measure):  # they are no part of the figure
            conditions = [*conditions, f"{_quote(measure.sql_name)} IS NOT NULL"]
        return self._query(kind, select, conditions, measure=measure)

    def _each_value(self) -> TableColumn | None:
        """Return the column of several values of which a question wants one figure each, as in “of North and South”."""
        asked = self._asked
        for column, values in asked.values.items():
            if len(values) > 1 and column not in asked.excluded and not re.search(r"\bor\b|이?나|或", asked.question):
                return column if len({*values.values()}) > 1 else None
        return None

    def _write_all_periods(self, conditions: Sequence[str]) -> TableQuery | None:
        """Add up or average all columns of periods, for the row that is named or for all rows."""
        asked = self._asked
        if asked.operation not in (None, "sum", "mean") or any(one.unread for one in asked.periods):
            return None
        total = " + ".join(f"sum({_quote(one.sql_name)})" for one in asked.periods)
        is_mean = asked.operation == "mean"
        if is_mean and len(asked.values.get(asked.label, ())) != 1:
            return None
        select = f"({total}) / {len(asked.periods)} AS mean" if is_mean else f"{total} AS sum"
        return self._query("mean" if is_mean else "sum", select, conditions, measure=asked.periods[0])

    # --- extremes

    def _write_extreme(self, conditions: Sequence[str]) -> TableQuery | None:
        """List the rows, or the groups of rows, with the largest or smallest values."""
        asked, owner = self._asked, self._owner()
        if asked.groups or asked.each or self._is_owner_fixed():
            return None
        kind, rank, limit = self._read_order()
        measure = asked.date if asked.date_order else self._measure()
        if owner and not asked.date_order and kind != "top" and self._is_label_counted():
            measure = None
        if owner:
            return self._write_best_group(owner, measure, conditions)
        if measure is None or {"mean", "median"} & set(asked.operations):
            return None
        name, label, order = _quote(measure.sql_name), _quote(asked.label.sql_name), "ASC" if kind == "min" else "DESC"
        shown = [one for one in asked.numbers if one in asked.named and one is not measure]
        select = ", ".join(dict.fromkeys([label, name, *(_quote(one.sql_name) for one in shown if asked.date_order)]))
        filled = [*conditions, f"{name} IS NOT NULL"]
        if limit:
            order = "ASC" if self._is_low() else "DESC"
            end = f" QUALIFY rank() OVER (ORDER BY {name} {order}) <= {limit} ORDER BY {name} {order}"
            return self._query("top", select, filled, end, measure=measure)
        table = _quote(asked.table.sql_name)
        nth = f"SELECT DISTINCT {name} FROM {table} WHERE {' AND '.join(filled)} ORDER BY 1 {order}"  # noqa: S608
        found = f"{name} = ({nth} LIMIT 1 OFFSET {rank - 1})"
        return self._query(kind, select, [*conditions, found], measure=measure)

    def _read_order(self) -> tuple[QueryKind, int, int]:
        """Return the kind of extreme, which place it asks for, and how many rows if it asks for several."""
        asked = self._asked
        if asked.date_order:
            return ("max" if asked.date_order == "latest" else "min"), 1, 0
        if asked.operation in ("top", "rank"):
            found = word_pattern("operations", asked.operation).search(asked.question)
            word = _COUNT.search(found[0]) if found else None
            number = _read_count(word[0]) if word else 1
            kind: QueryKind = "min" if self._is_low() else "max"
            return ("top", 1, number) if asked.operation == "top" else (kind, number, 0)
        kind = "min" if asked.operation == "min" else "max"
        if limit := _LIMIT.search(asked.question):
            return "top", 1, _read_count(next(filter(None, limit.groups())))
        return kind, 1, 0

    def _is_low(self) -> bool:
        asked = self._asked
        places = [
            asked.question[start : end + 12 * (not asked.question.isascii())]
            for name in ("top", "rank", "min")
            for start, end in find_operations(asked.question).get(name, ())  # type: ignore[call-overload]
        ]
        return "min" in asked.operations or any(_IS_LOW.search(one) for one in places)

    def _owner(self) -> str:
        """Return what the question compares, as SQL: a column whose values have several rows each, or a period."""
        asked = self._asked
        if asked.asked_period:
            return f"{self._period(asked.asked_period)}"
        is_repeated = asked.label.kind == "text" and not asked.is_label_unique
        others = [
            one
            for one in asked.named
            if one.kind == "text" and (one is not asked.label or is_repeated) and one not in asked.values
        ]
        before = [one for one in others if re.search(_ASKED_BEFORE, asked.question[: asked.named[one]], re.IGNORECASE)]
        choices = before or ([] if asked.label in asked.named and not is_repeated else others)
        return _quote(choices[0].sql_name) if len(choices) == 1 else ""

    def _is_owner_fixed(self) -> bool:
        """Return whether the question asks which value of a column is best, but also names one, as an earlier one."""
        fixed = [
            self._asked.named[one]
            for one in self._asked.values
            if one in self._asked.named and one not in self._asked.excluded
        ]
        return any(re.search(_ASKED_BEFORE, self._asked.question[:place], re.IGNORECASE) for place in fixed)

    def _is_label_counted(self) -> bool:
        """Return whether the question compares how many rows there are, as in “the most employees”."""
        has_measure = any(one in self._asked.numbers for one in self._asked.named) or bool(self._asked.synonyms)
        return not has_measure and self._asked.names_rows

    def _write_best_group(
        self, owner: str, measure: TableColumn | None, conditions: Sequence[str]
    ) -> TableQuery | None:
        asked, (kind, rank, limit) = self._asked, self._read_order()
        means = [one for one in ("mean", "median") if one in asked.operations]
        if asked.date_order or (measure is None and not self._is_label_counted()):
            return None
        if measure and _is_rate(measure) and not means:
            return None
        alias = means[0] if means else "sum" if measure else "count"
        value = f"{_AGGREGATES[alias]}({_quote(measure.sql_name)})" if measure else "count(*)"
        order = "ASC" if kind == "min" or (limit and self._is_low()) else "DESC"
        name = f"{owner} AS {asked.asked_period}" if asked.asked_period else owner
        place = f"<= {limit}" if limit else f"= {rank}"
        end = f" GROUP BY {owner} QUALIFY dense_rank() OVER (ORDER BY {value} {order}) {place} ORDER BY 2 {order}"
        return self._query(kind, f"{name}, {value} AS {alias}", conditions, end, measure=measure)

    # --- shares and changes

    def _write_share(self, conditions: Sequence[str]) -> TableQuery | None:
        asked = self._asked
        column = next(iter(asked.values), None)
        others = self._conditions(without=column)
        if column is None or others is None or len(asked.values) != 1 or asked.comparisons:
            return None
        named_column = any(one in asked.numbers for one in asked.named)
        named = named_column or bool(asked.synonyms)
        measure = self._measure()
        if measure is None and (named or not asked.names_rows):
            return None
        if measure and not named and asked.names_rows:
            measure = None
        if measure and (_is_rate(measure) or (not named_column and len(asked.numbers) > 1)):
            return None
        whole = f"sum({_quote(measure.sql_name)})" if measure else "count(*)"
        part = f"{whole} FILTER (WHERE {self._value_condition(column)})"
        select = f"100.0 * {part} / {whole} AS share, {part} AS part, {whole} AS whole"
        return self._query("share", select, others, measure=measure)

    def _write_change(self, conditions: Sequence[str]) -> TableQuery | None:
        """Compare two columns of periods, or the rows of two values: in the order of the table, or one minus the other."""
        asked = self._asked
        periods = [column for column in asked.periods if column in asked.named]
        if len(periods) == 2 and not asked.column_comparison:  # noqa: PLR2004 — before and after
            parts = [f"sum({_quote(column.sql_name)})" for column in periods]
            return self._query("change", _change_columns(*parts), conditions, measure=periods[0])
        owner = next((column for column, values in asked.values.items() if len(values) == 2), None)  # noqa: PLR2004
        measure = self._measure()
        others = self._conditions(without=owner)
        if owner is None or measure is None or others is None or asked.comparisons or owner in asked.excluded:
            return None
        order = list(dict.fromkeys(asked.cells(owner)))
        first, last = sorted(asked.values[owner], key=order.index)
        if subtrahend := self._subtrahend(owner):
            first, last = subtrahend, first if subtrahend == last else last
            if _IS_LESS.search(asked.question):
                first, last = last, first
        name, by = _quote(measure.sql_name), _quote(owner.sql_name)
        before, after = (f"sum({name}) FILTER (WHERE {by} = {_literal(value)})" for value in (first, last))
        if subtrahend:
            select = f"{after} - {before} AS difference, {before}, {after}"
        elif isinstance(first, float) or names_period(first):
            select = _change_columns(before, after)
        else:
            select = f"abs({after} - {before}) AS difference, {before}, {after}"
        end = [*others, f"{by} IN ({_literal(first)}, {_literal(last)})"]
        return self._query("change", select, end, measure=measure)

    def _subtrahend(self, owner: TableColumn) -> str | float | None:
        """Return the value that the question subtracts, as the last in “how much more does A earn than B”."""
        question = self._asked.question
        for value, place in self._asked.values[owner].items():
            text = value if isinstance(value, str) else f"{value:.0f}"
            is_before = re.search(_SUBTRAHEND[0], question[:place], re.IGNORECASE)
            if is_before or re.search(_SUBTRAHEND[1], question[place + len(text) :]):
                return value
        return None


def _read_count(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTS[word.lower()]


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
