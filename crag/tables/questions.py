"""From a question to SQL by patterns, without a model: what is computed, of which column, over which rows.

A question that the patterns do not cover completely gets no query, or one that is not certain: a wrong number is worse
than none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from crag.tables.cell_numbers import SCALES, read_number
from crag.tables.data_table import DataTable, TableColumn
from crag.text.dates import find_dates
from crag.text.language import extract_terms, find_tokens, is_cjk
from crag.text.table_headers import names_period

QueryKind = Literal["filter", "count", "sum", "mean", "min", "max", "top", "share", "change", "group"]
_Operation = Literal["change", "share", "top", "min", "max", "mean", "count", "sum"]

_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
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
_UNITS = (
    r"euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?|won|yuan|percent|people|days?|hours?|kg|km|m²|units?|pieces?"
    r"|[%€$£㎡]|[원명개건일시점대세]|[分岁歲]|[元圆人个個件台天名%]"
)
_SCALE = r"thousand|million|billion|백만|십억|[천만억조千万萬亿億]|[kM](?![a-z])"
_NUMBER = rf"[$€£¥₩]?\s?(\d[\d,]*(?:\.\d+)?)\s?({_SCALE})?\s?(?:(?:{_UNITS})(?![a-z]))?"
_IN_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]")
_CJK_COUNT_ENDING = re.compile(r"\s?(?:수|인원|[人]?[数數]|额|額|금액)$")
_NUMBERING = re.compile(r"(?:no\.?|#|nr\.?|rank|순번|번호|순위|[序编編][号號]|排名)", re.IGNORECASE)
_IS_RATE = re.compile(
    r"price|rate|age\b|average|per |percent|%|ratio|score|level|단가|가격|율$|률$|평균|单价|單價|价格|價格|率$|平均",
    re.IGNORECASE,
)
_MAX_SHORT_NUMBER = 4  # digits; a longer one in a question is hardly anything but an identifier
_IS_PLAIN_DATE = re.compile(r"date|day|날짜|일자|일시|日期|日", re.IGNORECASE)  # of what the whole row is about
_IS_YEAR = re.compile(r"year|연도|년도?$|年", re.IGNORECASE)
_NAMES_ACCOUNTS = re.compile(
    r"\b(?:revenues?|turnover|profit|income|costs?|expenses|assets|liabilities|equity|ebit\w*|cash)\b"
    r"|매출|이익|비용|자산|부채|收入|利[润潤]|成本|[费費]用|[资資]产|負債|负债",
    re.IGNORECASE,
)
_IS_STOCK = re.compile(r"quantity|qty|pieces|수량|数量|數量", re.IGNORECASE)
_IS_QUANTITY = re.compile(r"quantity|qty|units|pieces|수량|数量|數量", re.IGNORECASE)
_NAMES_PEOPLE = re.compile(r"name|employee|staff|person|이름|성명|직원|사원|姓名|员工|員工", re.IGNORECASE)
_ASKED_BEFORE = r"(?:\b(?:which|what)|哪[个個家些一种種位]*|어느|어떤)\s*$"
_PERIOD_NAME = re.compile(r"(?:19|20)\d\d[년年]?|\d{1,2}[월月]|[QH][1-4]|[1-4]분기|第[一二三四]季度", re.IGNORECASE)
_YEAR_RANGE = range(1900, 2101)
_CURRENCIES = {"$": r"dollar|usd|\$", "€": r"euro|eur|€", "£": r"pound|gbp|£", "元": "元|[块塊]", "원": "원"}


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A statement for the question; `is_certain` if every content word of the question was used."""

    sql: str
    table: DataTable
    kind: QueryKind
    is_certain: bool


@cache
def _pattern(section: str, key: str = "") -> re.Pattern[str]:
    """Return what matches the words of a section of `questions.toml` in any language."""
    words = _WORDS[section][key] if key else _WORDS[section]
    return re.compile("|".join(f"(?:{one})" for one in words.values()), re.IGNORECASE)


@cache
def _comparisons() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (sign, re.compile(form.replace("#", _NUMBER), re.IGNORECASE))
        for sign, forms in _WORDS["comparisons"].items()
        for form in forms
    ]


def is_table_question(question: str) -> bool:
    """Return whether the wording asks for a computation over rows: a count, total, mean, extreme, share or change."""
    operations = any(_pattern("operations", name).search(question) for name in get_args(_Operation))
    by_column = _WORDS["groups"]["ko"].replace("@", "[가-힣]{2,}"), r"各\w{1,6}(?:的|分[别別])"
    return operations or any(re.search(form, question) for form in by_column) or bool(_find_comparisons(question))


def write_query(question: str, tables: Sequence[DataTable]) -> TableQuery | None:
    """Return the query for a question about one of the tables; None if it is about none of them, or about several."""
    if _pattern("refused").search(_without_comparisons(question)):
        return None
    readings = [_Reading(question, table) for table in tables]
    ranked = sorted(readings, key=lambda reading: (len(reading.rest), -reading.matches))
    for best in ranked[:1]:
        others = [one for one in ranked[1:] if (len(one.rest), one.matches) == (len(best.rest), best.matches)]
        if best.matches and not others and not any(map(_is_named, best.rest)):
            found = best.write()
            return found if found is None or found.is_certain or best.names_measure else None
    return None


def _find_operations(question: str) -> dict[_Operation, list[tuple[int, int]]]:
    """Return the operations that the question words, outside of comparisons, with their places."""
    compared = _find_comparisons(question)
    found: dict[_Operation, list[tuple[int, int]]] = {}
    for name in get_args(_Operation):
        spans = [match.span() for match in _pattern("operations", name).finditer(question)]
        if free := [span for span in spans if not any(one.start <= span[0] < one.end for one in compared)]:
            found[name] = free
    return found


def _has_conflict(operations: Collection[_Operation]) -> bool:
    """Return whether a question combines what one statement of the known forms cannot, as in “grew the most”."""
    extremes = {"min", "max"} & set(operations) if "top" not in operations else {"top"}
    combined = {"change", "share"} & set(operations)
    return len(extremes) > 1 or bool(extremes and combined) or bool("mean" in operations and combined)


def _is_named(word: str) -> bool:
    """Return whether a word that was not found in a table is a figure or a name, so that the question needs it."""
    return word[0].isdigit() or word[0].isupper()


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A condition on a number: its sign, its numbers with their scales, and where it is in the question."""

    sign: str
    numbers: tuple[tuple[float, str], ...]
    start: int
    end: int


def _find_comparisons(question: str) -> list[_Comparison]:
    found: list[_Comparison] = []
    for sign, form in _comparisons():
        for match in form.finditer(question):
            if any(one.start < match.end() and match.start() < one.end for one in found):
                continue
            pairs = [(read_number(match[at]), match[at + 1] or "") for at in range(1, form.groups + 1, 2)]
            numbers = tuple((value, scale) for value, scale in pairs if value is not None)
            years = all(not scale and value in _YEAR_RANGE for value, scale in numbers)
            if len(numbers) == len(pairs) and not (sign == "between" and years):
                found.append(_Comparison(sign, numbers, match.start(), match.end()))
    return found


def _without_comparisons(question: str) -> str:
    for one in _find_comparisons(question):
        question = question[: one.start] + " " * (one.end - one.start) + question[one.end :]
    return question


def _quote(name: str) -> str:
    return f'"{name}"'


def _literal(value: str | float) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:.12g}"


class _Reading:
    """A question as one about a table. `rest` are its content words that the table does not explain."""

    def __init__(self, question: str, table: DataTable) -> None:
        self.question = question
        self.table = table
        self._used = bytearray(len(question))
        self.matches = 0
        self._label = next((one for one in table.columns if not _is_numbering(table, one)), table.columns[0])
        self._comparisons = _find_comparisons(question)
        self._values = self._find_values()
        self._named = self._find_columns()
        self._groups = self._find_groups()
        self._operation: _Operation | None = self._find_operation()
        self._synonyms: list[TableColumn] = self._find_synonyms()
        self._dates = self._find_dates()
        self._use_frame()
        self.rest = self._find_rest()
        self._is_guessed = False

    # What the question names

    def _take(self, start: int, end: int, *, counts: bool = True) -> None:
        self.matches += counts and not any(self._used[start:end])
        self._used[start:end] = b"\1" * (end - start)

    def _take_all(self, pattern: str | re.Pattern[str], *, counts: bool = False) -> list[re.Match[str]]:
        found = list(re.finditer(pattern, self.question, 0 if isinstance(pattern, re.Pattern) else re.IGNORECASE))
        for match in found:
            self._take(*match.span(), counts=counts)
        return found

    def _find_values(self) -> dict[TableColumn, dict[str | float, int]]:
        """Return the values of cells that the question names by column, each with its place; the longest first."""
        found: dict[TableColumn, dict[str | float, int]] = {}
        known = [(pattern, column, value) for column in self.table.columns for pattern, value in self._forms(column)]
        for pattern, column, value in sorted(known, key=lambda one: -len(one[0])):
            for match in re.finditer(pattern, self.question, re.IGNORECASE):
                if not any(self._used[match.start() : match.end()]) and not self._is_column_word(match[0]):
                    self._take(*match.span())
                    found.setdefault(column, {})[value] = match.start()
        return found

    def _forms(self, column: TableColumn) -> Iterator[tuple[str, str | float]]:
        """Yield a pattern for each value of a column that may occur in the question, with the value."""
        at, lower, name = self.table.columns.index(column), self.question.lower(), re.escape(_bare_name(column))
        values = {value for row in self.table.rows if (value := row.values[at]) is not None}
        is_year = all(value in _YEAR_RANGE for value in values) and _IS_YEAR.search(column.name)
        if column.kind == "date" or (column.kind == "number" and not is_year and column is not self._label):
            return
        for value in values:
            text = value if isinstance(value, str) else f"{value:.0f}"
            if text.lower()[:24] not in lower:
                continue
            if not text.isdigit() or is_year or len(text) > _MAX_SHORT_NUMBER:
                yield _value_pattern(text), value
            elif column.unit:
                yield rf"(?<!\d){text}\s?{re.escape(column.unit)}", value
            else:
                yield rf"\b{name} (?:no\.? ?|# ?)?{text}(?!\d)", value

    def _is_column_word(self, text: str) -> bool:
        return any(text.lower() == _bare_name(column).lower() for column in self.table.columns)

    def _find_columns(self) -> dict[TableColumn, int]:
        """Return the columns that the question names, each with its place: by all words, or the most of any column."""
        found: dict[TableColumn, tuple[float, list[tuple[int, int]]]] = {}
        for column in self.table.columns:
            share, spans = self._match_name(column)
            if spans:
                found[column] = (share, spans)
        kept = {}
        for column, (share, spans) in found.items():
            wider = [
                other
                for other, (other_share, other_spans) in found.items()
                if other is not column and set(spans) <= set(other_spans) and other_share > share
            ]
            if not wider:
                kept[column] = spans[0][0]
        for column in kept:
            for span in found[column][1]:
                self._take(*span)
        return kept

    def _match_name(self, column: TableColumn) -> tuple[float, list[tuple[int, int]]]:
        """Return the share of a name's words that the question holds, and where."""
        name = _bare_name(column)
        if _PERIOD_NAME.fullmatch(name) or (name and is_cjk(name)):
            short = _CJK_COUNT_ENDING.sub("", name)
            for form, share in ((name, 1.0), (short, 0.9)):
                spaced = r"\s?".join(map(re.escape, form.replace(" ", ""))) if form else "$^"
                bounded = rf"(?<![\dA-Za-z]){spaced}(?!\d|[A-Za-z])" if form[:1].isascii() else spaced
                spans = [match.span() for match in re.finditer(bounded, self.question, re.IGNORECASE)]
                if spans := [span for span in spans if not any(self._used[slice(*span)])]:
                    return share, spans
            return 0.0, []
        terms = set(extract_terms(name)) or {name.lower()}
        spans = []
        held = set()
        for start, token in find_tokens(self.question):
            own = set(extract_terms(token)) or {token.lower()}
            is_verb = (
                column is self._label and token.lower().endswith(("ed", "ing")) and token.lower() not in name.lower()
            )
            if own & terms and not is_verb and not any(self._used[start : start + len(token)]):
                spans.append((start, start + len(token)))
                held |= own & terms
        return len(held) / len(terms), spans

    def _find_groups(self) -> list[TableColumn]:
        found = []
        for column in self.table.columns:
            if column.kind == "number" or column not in self._named:
                continue
            name = re.escape(_bare_name(column))
            forms = [form.replace("@", rf"(?:the )?{name}(?:e?s)?") for form in _WORDS["groups"].values()]
            if self._take_all("|".join(forms)):
                found.append(column)
        return found

    def _find_operation(self) -> _Operation | None:
        """Return what is computed: the first operation whose words do not belong to a name."""
        found: dict[_Operation, list[tuple[int, int]]] = {}
        for name, spans in _find_operations(self.question).items():
            if free := [span for span in spans if not all(self._used[slice(*span)])]:
                found[name] = free
        first = next(iter(found), None)
        for name, spans in found.items():
            for span in spans if name in (first, "sum", "mean", "count") else ():
                self._take(*span, counts=False)
        self._is_mean, self._has_conflict = "mean" in found, _has_conflict(found)
        return first

    def _find_synonyms(self) -> list[TableColumn]:
        """Return the number columns that a verb or an adjective of the question may mean."""
        for words, names in (pair for pairs in _WORDS["measures"].values() for pair in pairs):
            form = words if is_cjk(words) else rf"\b(?:{words})\b"
            if not re.search(form, self.question, re.IGNORECASE):
                continue
            for name in names.split("|"):
                pattern = re.escape(name) if is_cjk(name) else rf"\b{re.escape(name)}"
                columns = [one for one in self._numbers if re.search(pattern, one.name, re.IGNORECASE)]
                if columns:
                    self._take_all(form, counts=True)
                    return columns
            if re.search("|".join(names.split("|")), self.table.title, re.IGNORECASE):
                self._take_all(form)
        return []

    def _find_dates(self) -> list[str]:
        """Return conditions for the years and months that the question names, if the table has one column of dates."""
        columns = [column for column in self.table.columns if column.kind == "date"]
        columns = [one for one in columns if one in self._named or _IS_PLAIN_DATE.fullmatch(_bare_name(one))]
        free = "".join(" " if used else sign for sign, used in zip(self.question, self._used, strict=True))
        dates = [one for one in find_dates(free) if one.year]
        if len(columns) != 1 or len(dates) != 1:
            return []
        name = _quote(columns[0].sql_name)
        months = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
        self._take_all(rf"\b{months}\b|(?<!\d){dates[0].year}(?!\d)\s?[년年]?|\d{{1,2}}\s?[월月]", counts=True)
        return [f"{part}({name}) = {value}" for part, value in dates[0].parts.items()]

    def _use_frame(self) -> None:
        for one in self._comparisons:
            self._take(one.start, one.end, counts=False)
        if any(_NAMES_PEOPLE.search(name) for name in (self._label.name, self.table.title)):
            self._take_all(_bounded("people"), counts=True)
        title = set(extract_terms(self.table.title))
        for start, token in find_tokens(self.question):
            terms = extract_terms(token)
            if terms and title.issuperset(terms) and not any(self._used[start : start + len(token)]):
                self._take(start, start + len(token))
        self._take_title_parts()
        self._take_all(_bounded("frame"))
        self._take_all(_bounded("entities"))

    def _take_title_parts(self) -> None:
        """Use the words of the title in scripts without spaces, where a word of the question may be a part of one."""
        for start in range(len(self.question) - 1):
            pair = self.question[start : start + 2]
            if (
                is_cjk(pair)
                and pair.strip() == pair
                and pair in self.table.title
                and not all(self._used[start : start + 2])
            ):
                self._take(start, start + 2)

    def _find_rest(self) -> list[str]:
        rest = []
        for start, token in find_tokens(self.question):
            free = "".join(sign for at, sign in enumerate(token, start) if not self._used[at])
            if free and (is_cjk(free) or (len(free) == len(token) and extract_terms(token))):
                rest.append(token if len(free) == len(token) and start else token.lower())
        return rest

    # What is computed

    @property
    def names_measure(self) -> bool:
        """Whether the question names a column of figures itself, other than a period."""
        return any(column in self._numbers and column not in self._periods for column in self._named)

    @property
    def _numbers(self) -> list[TableColumn]:
        return [one for one in self.table.columns if one.kind == "number" and one is not self._label]

    @property
    def _periods(self) -> list[TableColumn]:
        return [one for one in self._numbers if names_period(one.name) or _PERIOD_NAME.fullmatch(one.name)]

    @property
    def _is_titled(self) -> bool:
        """Whether a word of the title occurs in the question."""
        return not set(extract_terms(self.table.title)).isdisjoint(extract_terms(self.question))

    def _compared_column(self, comparison: _Comparison) -> TableColumn | None:
        named = [column for column in self._named if column in self._numbers]
        if named:
            return min(named, key=lambda column: abs(self._named[column] - comparison.start))
        text = self.question[comparison.start : comparison.end]
        signs = [sign for sign, words in _CURRENCIES.items() if re.search(words, text, re.IGNORECASE)]
        priced = [
            one for one in self._numbers if any(re.search(_CURRENCIES[sign], one.unit, re.IGNORECASE) for sign in signs)
        ]
        choices = self._synonyms or priced or self._numbers
        self._is_guessed = self._is_guessed or not (self._synonyms or priced or self._is_titled or self._periods)
        return choices[0] if len(choices) == 1 else None

    def _measure(self) -> TableColumn | None:
        """Return the column of figures that the question asks for, if only one can be meant."""
        compared = {self._compared_column(one) for one in self._comparisons}
        named = [column for column in self._named if column in self._numbers]
        free = [column for column in named if column not in compared]
        self._is_guessed = not (named or self._synonyms or self._periods or self._is_titled)
        choices = free or [one for one in self._synonyms if one not in compared] or named or self._synonyms
        choices = choices or self._numbers
        return choices[0] if len(choices) == 1 else None

    def _mixes_accounts(self) -> bool:
        """Return whether a figure over all rows would mix revenue with costs and the like, one of which each row is."""
        at = self.table.columns.index(self._label)
        is_one = self._label in self._values or self._operation is None
        return not is_one and any(_NAMES_ACCOUNTS.search(str(row.values[at])) for row in self.table.rows)

    def _conditions(self, without: TableColumn | None = None) -> list[str] | None:
        """Return the conditions on rows; None if one of them cannot be assigned to a column."""
        found = list(self._dates)
        column: TableColumn | None
        for column, values in self._values.items():
            if column is without:
                continue
            literals = ", ".join(_literal(value) for value in values)
            name = _quote(column.sql_name)
            found.append(f"{name} IN ({literals})" if len(values) > 1 else f"{name} = {literals}")
        for one in self._comparisons:
            column = self._compared_column(one)
            if column is None or not self._is_in_scale(column, one):
                return None
            found.append(_compare(column, one))
        return found

    def _is_in_scale(self, column: TableColumn, comparison: _Comparison) -> bool:
        """Return whether figures of a column reach a number such as “3 million”, or may be written in millions."""
        at = self.table.columns.index(column)
        largest = max((abs(v) for row in self.table.rows if isinstance(v := row.values[at], float)), default=0.0)
        has_scale = any(scale for _, scale in comparison.numbers)
        return not has_scale or min(_scaled_numbers(column, comparison)) <= largest

    def write(self) -> TableQuery | None:
        """Return the query; None if the column or the rows that are meant stay open."""
        conditions = self._conditions()
        if conditions is None:
            return None
        if (
            self._has_conflict
            or self._mixes_accounts()
            or (not self._groups and re.search(r"각|各|每|별(?=\s)|마다", self.question))
        ):
            return None
        writers = {"change": self._write_change, "share": self._write_share, "top": self._write_top}
        if self._operation in writers:
            return writers[self._operation](conditions)
        if self._operation in ("min", "max"):
            return self._write_extreme(conditions)
        if self._operation == "count":
            return self._write_count(conditions)
        if self._operation in ("sum", "mean") or self._groups:
            return self._write_aggregate(self._operation or "sum", conditions)
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
        sql = f"SELECT {select} FROM {_quote(self.table.sql_name)}{where}{end}"  # noqa: S608
        is_certain = not self.rest and not self._is_guessed and not (measure and measure.unread and kind != "filter")
        return TableQuery(sql, self.table, kind, is_certain)

    def _write_filter(self, conditions: Sequence[str]) -> TableQuery | None:
        if not conditions or self._is_range():
            return None
        compared = [self._compared_column(one) for one in self._comparisons]
        asked = [column for column in self._named if column is not self._label and column not in self._values]
        if not self._comparisons and not asked:
            asked = self._synonyms[:1] if len(self._synonyms) == 1 else []
            measure = self._measure()
            if not asked and measure and self._label in self._values:
                asked = [measure]
        if not asked and not self._comparisons and self._label in self._values:
            return None
        columns = dict.fromkeys([self._label, *asked, *(one for one in compared if one)])
        if self._is_sum_asked() and len(asked) == 1 and asked[0] in self._numbers and self._label not in self._values:
            return self._write_aggregate("sum", conditions)
        select = ", ".join(_quote(column.sql_name) for column in columns)
        return self._query("filter", select, conditions)

    def _is_range(self) -> bool:
        """Return whether the question names the first and the last of several rows, of which it means those between."""
        values = self._values.get(self._label, {})
        return len(values) > 1 and bool(
            re.search(r"\bfrom\b|\bbetween\b|부터|[从從]|~|–", self.question, re.IGNORECASE)
        )

    def _is_sum_asked(self) -> bool:
        return bool(re.search(r"\bhow much\b|얼마|多少", self.question, re.IGNORECASE)) and not self._comparisons

    def _write_count(self, conditions: Sequence[str]) -> TableQuery | None:
        """Count rows if the question counts what they are about; add up the column if it counts what that holds."""
        measure = self._measure_counted()
        if self._is_value_counted() and not measure:
            quantities = [one for one in self._numbers if _IS_QUANTITY.search(one.name)]
            return self._add_up(quantities[0], conditions) if len(quantities) == 1 else None
        if measure:
            if self.rest:
                return None
            if self._label in self._values:
                return self._write_filter(conditions)
            return self._write_aggregate("sum", conditions)
        if self.rest or not self._is_row_counted() or self._may_be_several():
            return None
        if self._groups:
            group = _quote(self._groups[0].sql_name)
            return self._query(
                "group", f"{group}, count(*) AS count", conditions, f" GROUP BY {group} ORDER BY count DESC, 1"
            )
        return self._query("count", "count(*) AS count", conditions)

    def _is_value_counted(self) -> bool:
        """Return whether the question counts what a cell names, as in “how many sails”, rather than rows."""
        ends = [end for _, end in _find_operations(self.question).get("count", [])]
        places = [
            place for column, values in self._values.items() if column is not self._label for place in values.values()
        ]
        return any(0 <= place - end <= 1 for place in places for end in ends) and self.question.isascii()

    def _add_up(self, measure: TableColumn, conditions: Sequence[str]) -> TableQuery:
        return self._query("sum", f"sum({_quote(measure.sql_name)}) AS sum", conditions, measure=measure)

    def _measure_counted(self) -> TableColumn | None:
        compared = {self._compared_column(one) for one in self._comparisons}
        named = [one for one in self._named if one in self._numbers and one not in compared]
        if self._label in self._named and not self._synonyms and not named:
            return None
        choices = named or [one for one in self._synonyms if one not in compared]
        return choices[0] if len(choices) == 1 else None

    def _may_be_several(self) -> bool:
        """Return whether a row may stand for more than one thing: a column counts them, and rows are no records."""
        at = self.table.columns.index(self._label)
        is_record = any(re.search(r"\d", str(row.values[at])) for row in self.table.rows)
        return not is_record and any(_IS_STOCK.search(one.name) for one in self._numbers)

    def _is_row_counted(self) -> bool:
        words = [_bounded("entities")]
        if any(_NAMES_PEOPLE.search(name) for name in (self._label.name, self.table.title)):
            words.append(_bounded("people"))
        return self._label in self._named or self._is_titled or any(one.search(self.question) for one in words)

    def _write_aggregate(self, operation: str, conditions: Sequence[str]) -> TableQuery | None:
        measure = self._measure()
        if measure is None or (
            self._label in self._values and len(self._values[self._label]) == 1 and not self._groups
        ):
            return self._write_filter(conditions) if measure else None
        is_sum = operation == "sum"
        if (is_sum and _is_rate(measure)) or self._is_range():
            return None
        function, name = _AGGREGATES[operation], _quote(measure.sql_name)
        group = self._groups[0] if self._groups else None
        is_each = group is self._label and (
            operation == "mean" or (self._operation == "sum" and bool(re.search("[各每]", self.question)))
        )
        if group and not is_each:
            by = _quote(group.sql_name)
            select, end = f"{by}, {function}({name}) AS {operation}", f" GROUP BY {by} ORDER BY 2 DESC, 1"
            return self._query("group", select, conditions, end, measure=measure)
        kind: QueryKind = "sum" if is_sum else "mean"
        return self._query(kind, f"{function}({name}) AS {operation}", conditions, measure=measure)

    def _write_extreme(self, conditions: Sequence[str]) -> TableQuery | None:
        measure = self._measure()
        if self._groups or self._is_range():
            return None
        owner = self._asked_owner()
        if owner and self._is_label_counted():
            measure = None
        if measure is None and not owner:
            return None
        kind: QueryKind = "min" if self._operation == "min" else "max"
        if owner:
            return self._write_best_group(owner, measure, kind, conditions)
        if measure is None or self._is_mean:
            return None
        name, table = _quote(measure.sql_name), _quote(self.table.sql_name)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        limit = f"{name} = (SELECT {kind}({name}) FROM {table}{where})"  # noqa: S608
        select = f"{_quote(self._label.sql_name)}, {name}"
        return self._query(kind, select, [*conditions, limit], measure=measure)

    def _asked_owner(self) -> TableColumn | None:
        """Return the column whose repeated values the question compares, as regions that have several rows each."""
        others = [
            one for one in self._named if one.kind == "text" and one is not self._label and one not in self._values
        ]
        asked = [one for one in others if re.search(_ASKED_BEFORE, self.question[: self._named[one]], re.IGNORECASE)]
        choices = asked or ([] if self._label in self._named else others)
        return choices[0] if len(choices) == 1 else None

    def _is_label_counted(self) -> bool:
        """Return whether the question compares how many rows there are, as in “the most employees”."""
        has_measure = any(one in self._numbers for one in self._named) or bool(self._synonyms)
        return not has_measure and self._is_row_counted()

    def _write_best_group(
        self, owner: TableColumn, measure: TableColumn | None, kind: QueryKind, conditions: Sequence[str]
    ) -> TableQuery | None:
        if measure is None and not self._is_label_counted():
            return None
        if measure and _is_rate(measure) and not self._is_mean:
            return None
        by = _quote(owner.sql_name)
        function = "avg" if self._is_mean else "sum"
        value = f"{function}({_quote(measure.sql_name)})" if measure else "count(*)"
        end = f" GROUP BY {by} QUALIFY rank() OVER (ORDER BY {value} {'ASC' if kind == 'min' else 'DESC'}) = 1"
        alias = ("mean" if self._is_mean else "sum") if measure else "count"
        return self._query(kind, f"{by}, {value} AS {alias}", conditions, end, measure=measure)

    def _write_top(self, conditions: Sequence[str]) -> TableQuery | None:
        measure = self._measure()
        found = _pattern("operations", "top").search(self.question)
        word = re.search(r"\d+|two|three|four|five|ten|[二两兩三四五十]", found[0], re.IGNORECASE) if found else None
        if measure is None or not found or not word or self._groups:
            return None
        count = int(word[0]) if word[0].isdigit() else _COUNTS[word[0].lower()]
        is_low = re.search(r"bottom|least|lowest|smallest|cheapest|하위|[后後末]", found[0], re.IGNORECASE)
        name = _quote(measure.sql_name)
        rank = f"rank() OVER (ORDER BY {name} {'ASC' if is_low else 'DESC'}) <= {count}"
        end = f" QUALIFY {rank} ORDER BY {name} {'ASC' if is_low else 'DESC'}"
        conditions = [*conditions, f"{name} IS NOT NULL"]
        return self._query("top", f"{_quote(self._label.sql_name)}, {name}", conditions, end, measure=measure)

    def _write_share(self, conditions: Sequence[str]) -> TableQuery | None:
        column = next(iter(self._values), None)
        others = self._conditions(without=column)
        if column is None or others is None or len(self._values) != 1 or self._comparisons:
            return None
        named = any(one in self._numbers for one in self._named) or bool(self._synonyms)
        measure = self._measure()
        if measure is None and (named or not self._is_row_counted()):
            return None
        if measure and not named and self._is_row_counted():
            measure, self._is_guessed = None, False
        if measure and _is_rate(measure):
            return None
        whole = f"sum({_quote(measure.sql_name)})" if measure else "count(*)"
        part = f"{whole} FILTER (WHERE {conditions[-1]})"
        select = f"100.0 * {part} / {whole} AS share, {part} AS part, {whole} AS whole"
        return self._query("share", select, others, measure=measure)

    def _write_change(self, conditions: Sequence[str]) -> TableQuery | None:
        periods = [column for column in self._periods if column in self._named]
        if len(periods) == 2:
            return self._write_column_change(periods[0], periods[1], conditions)
        owner = next((column for column, values in self._values.items() if len(values) == 2), None)
        measure = self._measure()
        others = self._conditions(without=owner)
        if owner is None or measure is None or others is None or self._comparisons:
            return None
        order = {
            row.values[self.table.columns.index(owner)]: at for at, row in reversed(list(enumerate(self.table.rows)))
        }
        first, last = sorted(self._values[owner], key=lambda value: order[value])
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


def _is_numbering(table: DataTable, column: TableColumn) -> bool:
    """Return whether a column numbers the rows, so that another one says what they are about."""
    at = table.columns.index(column)
    values = [row.values[at] for row in table.rows]
    return bool(_NUMBERING.fullmatch(column.name)) or (len(values) > 1 and values == list(range(1, len(values) + 1)))


def _is_rate(measure: TableColumn) -> bool:
    """Return whether figures of a column mean nothing when they are added up, as prices and percentages."""
    return measure.unit == "%" or bool(_IS_RATE.search(measure.name))


@cache
def _bounded(section: str) -> re.Pattern[str]:
    """Return what matches the words of a section: whole ones in English."""
    words = _WORDS[section]
    return re.compile(rf"\b(?:{words['en']})\b|{words['ko']}|{words['zh']}", re.IGNORECASE)


def _bare_name(column: TableColumn) -> str:
    return _IN_BRACKETS.sub("", column.name).strip()


def _value_pattern(text: str) -> str:
    """Return a pattern for a value of a cell: whole words, also in the plural; a single sign only before a particle."""
    escaped = re.escape(text)
    if text[-1].isascii():
        return rf"(?<![A-Za-z\d]){escaped}(?:e?s)?(?![A-Za-z\d])"
    return escaped if len(text) > 1 else rf"(?<![가-힣一-鿿]){escaped}(?=[은는이가을를의와과 ]|的|$)"


def _compare(column: TableColumn, comparison: _Comparison) -> str:
    name = _quote(column.sql_name)
    if comparison.sign == "< 0":
        return f"{name} < 0"
    numbers = _scaled_numbers(column, comparison)
    if comparison.sign == "between":
        return f"{name} BETWEEN {_literal(min(numbers))} AND {_literal(max(numbers))}"
    return f"{name} {comparison.sign} {_literal(numbers[0])}"


def _scaled_numbers(column: TableColumn, comparison: _Comparison) -> list[float]:
    scales = [scale for _, scale in comparison.numbers]
    return [_rescale(value, scale or scales[-1], column.unit) for value, scale in comparison.numbers]


def _rescale(value: float, scale: str, unit: str) -> float:
    """Return a number in the unit of a column, as 50 for 500,000 won in a column of 만원."""
    factor = SCALES.get(scale, SCALES.get(scale.lower(), 1.0))
    own = next((SCALES[name] for name in SCALES if len(name) > 1 and name in unit.lower()), None)
    own = own or next((SCALES[name] for name in SCALES if not name.isascii() and name in unit), 1.0)
    return value * factor / own if scale else value
