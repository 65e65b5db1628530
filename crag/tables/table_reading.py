"""A question read as one about a table: which values, columns, operations and numbers it names.

The words of all languages are in `table_reading.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from crag.tables.cell_numbers import read_number
from crag.tables.data_table import DataTable, TableColumn
from crag.text.dates import find_dates
from crag.text.language import extract_terms, find_tokens, is_cjk
from crag.text.table_headers import names_period
from crag.types import HEADING_SEPARATOR

Operation = Literal["change", "share", "top", "min", "max", "mean", "count", "sum"]
_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_UNITS = (
    r"euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?|won|yuan|percent|people|days?|hours?|kg|km|m²|units?|pieces?"
    r"|[%€$£㎡]|[원명개건일시점대세]|[分岁歲]|[元圆人个個件台天名%]"
)
_SCALE = r"thousand|million|billion|백만|십억|[천만억조千万萬亿億]|[kM](?![a-z])"
_NUMBER = rf"[$€£¥₩]?\s?(\d[\d,]*(?:\.\d+)?)\s?({_SCALE})?\s?(?:(?:{_UNITS})(?![a-z]))?"
_IN_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]")
_CJK_COUNT_ENDING = re.compile(r"\s?(?:수|인원|[人]?[数數]|额|額|금액)$")
_NUMBERING = re.compile(r"(?:no\.?|#|nr\.?|pos\.?|position|rank|순번|번호|순위|[序编編][号號]|排名)", re.IGNORECASE)
_MAX_SHORT_NUMBER = 4  # digits; a longer one in a question is hardly anything but an identifier
_IS_PLAIN_DATE = re.compile(r"date|day|날짜|일자|일시|日期|日", re.IGNORECASE)  # of what the whole row is about
_IS_YEAR = re.compile(r"year|연도|년도?$|年", re.IGNORECASE)
_NAMES_PEOPLE = re.compile(r"name|employee|staff|person|이름|성명|직원|사원|姓名|员工|員工", re.IGNORECASE)
_PERIOD_NAME = re.compile(r"(?:19|20)\d\d[년年]?|\d{1,2}[월月]|[QH][1-4]|[1-4]분기|第[一二三四]季度", re.IGNORECASE)
_YEAR_RANGE = range(1900, 2101)
_HAS_ENGLISH_WORD = re.compile("[a-z]{2}")
_DIGIT = re.compile(r"\d")


@cache
def word_pattern(section: str, key: str = "") -> re.Pattern[str]:
    """Return what matches the words of a section of `table_reading.toml` in any language."""
    words = _WORDS[section][key] if key else _WORDS[section]
    return re.compile("|".join(f"(?:{one})" for one in words.values()), re.IGNORECASE)


@cache
def whole_words(section: str) -> re.Pattern[str]:
    """Return what matches the words of a section: whole ones in English."""
    words = _WORDS[section]
    return re.compile(rf"\b(?:{words['en']})\b|{words['ko']}|{words['zh']}", re.IGNORECASE)


@cache
def _comparison_forms(*, is_ascii: bool, has_digit: bool) -> list[tuple[str, re.Pattern[str]]]:
    """Return the forms that such a question can have: English ones if it is ASCII, without numbers if it has none."""
    return [
        (sign, re.compile(form.replace("#", _NUMBER), re.IGNORECASE))
        for sign, forms in _WORDS["comparisons"].items()
        for form in forms
        if (has_digit or "#" not in form) and (_HAS_ENGLISH_WORD.search(form) or not is_ascii)
    ]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on a number: its sign, its numbers with their scales, and where it is in the question."""

    sign: str
    numbers: tuple[tuple[float, str], ...]
    start: int
    end: int


def find_comparisons(question: str) -> list[Comparison]:
    """Return the conditions on numbers that a question words; two years are a period and none."""
    found: list[Comparison] = []
    forms = _comparison_forms(is_ascii=question.isascii(), has_digit=bool(_DIGIT.search(question)))
    for sign, form in forms:
        for match in form.finditer(question):
            if any(one.start < match.end() and match.start() < one.end for one in found):
                continue
            pairs = [(read_number(match[at]), match[at + 1] or "") for at in range(1, form.groups + 1, 2)]
            numbers = tuple((value, scale) for value, scale in pairs if value is not None)
            years = all(not scale and value in _YEAR_RANGE for value, scale in numbers)
            if len(numbers) == len(pairs) and not (sign == "between" and years):
                found.append(Comparison(sign, numbers, match.start(), match.end()))
    return found


def find_operations(question: str) -> dict[Operation, list[tuple[int, int]]]:
    """Return the operations that the question words, outside of comparisons, with their places."""
    compared = find_comparisons(question)
    found: dict[Operation, list[tuple[int, int]]] = {}
    for name in get_args(Operation):
        spans = [match.span() for match in word_pattern("operations", name).finditer(question)]
        if free := [span for span in spans if not any(one.start <= span[0] < one.end for one in compared)]:
            found[name] = free
    return found


class TableReading:
    """A question as one about a table.

    `values` and `named` are the values of cells and the columns that it names, with their places. `rest` are its
    content words that the table does not explain, and `matches` counts those that it does.
    """

    def __init__(self, question: str, table: DataTable) -> None:
        self.question = question
        self.table = table
        self._used = bytearray(len(question))
        self.matches = 0
        self.label = next((one for one in table.columns if not is_numbering(table, one)), table.columns[0])
        self.comparisons = find_comparisons(question)
        self.values = self._find_values()
        self.named = self._find_columns()
        self.groups = self._find_groups()
        self.operation: Operation | None = self._find_operation()
        self.synonyms: list[TableColumn] = self._find_synonyms()
        self.date_conditions = self._find_dates()
        self._use_frame()
        self.rest = self._find_rest()

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
        if column.kind == "date" or (column.kind == "number" and not is_year and column is not self.label):
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
                column is self.label and token.lower().endswith(("ed", "ing")) and token.lower() not in name.lower()
            )
            if own & terms and not is_verb and not any(self._used[start : start + len(token)]):
                spans.append((start, start + len(token)))
                held |= own & terms
        return len(held) / len(terms), spans

    def _find_groups(self) -> list[TableColumn]:
        found = []
        for column in self.table.columns:
            if column.kind == "number" or column not in self.named:
                continue
            name = re.escape(_bare_name(column))
            forms = [form.replace("@", rf"(?:the )?{name}(?:e?s)?") for form in _WORDS["groups"].values()]
            if self._take_all("|".join(forms)):
                found.append(column)
        return found

    def _find_operation(self) -> Operation | None:
        """Return what is computed: the first operation whose words do not belong to a name."""
        found: dict[Operation, list[tuple[int, int]]] = {}
        for name, spans in find_operations(self.question).items():
            if free := [span for span in spans if not all(self._used[slice(*span)])]:
                found[name] = free
        first = next(iter(found), None)
        for name, spans in found.items():
            for span in spans if name in (first, "sum", "mean", "count") else ():
                self._take(*span, counts=False)
        self.operations = found
        return first

    def _find_synonyms(self) -> list[TableColumn]:
        """Return the number columns that a verb or an adjective of the question may mean."""
        for words, names in (pair for pairs in _WORDS["measures"].values() for pair in pairs):
            form = words if is_cjk(words) else rf"\b(?:{words})\b"
            if not re.search(form, self.question, re.IGNORECASE):
                continue
            for name in names.split("|"):
                pattern = re.escape(name) if is_cjk(name) else rf"\b{re.escape(name)}"
                columns = [one for one in self.numbers if re.search(pattern, one.name, re.IGNORECASE)]
                if columns:
                    self._take_all(form, counts=True)
                    return columns
            if re.search("|".join(names.split("|")), self.table.title, re.IGNORECASE):
                self._take_all(form)
        return []

    def _find_dates(self) -> list[str]:
        """Return conditions for the years and months that the question names, if the table has one column of dates."""
        columns = [column for column in self.table.columns if column.kind == "date"]
        columns = [one for one in columns if one in self.named or _IS_PLAIN_DATE.fullmatch(_bare_name(one))]
        free = "".join(" " if used else sign for sign, used in zip(self.question, self._used, strict=True))
        dates = [one for one in find_dates(free) if one.year]
        if len(columns) != 1 or len(dates) != 1:
            return []
        months = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
        self._take_all(rf"\b{months}\b|(?<!\d){dates[0].year}(?!\d)\s?[년年]?|\d{{1,2}}\s?[월月]", counts=True)
        return [f'{part}("{columns[0].sql_name}") = {value}' for part, value in dates[0].parts.items()]

    def _use_frame(self) -> None:
        for one in self.comparisons:
            self._take(one.start, one.end, counts=False)
        if self._is_about_people:
            self._take_all(whole_words("people"), counts=True)
        title = set(extract_terms(self.table.title))
        for start, token in find_tokens(self.question):
            terms = extract_terms(token)
            if terms and title.issuperset(terms) and not any(self._used[start : start + len(token)]):
                self._take(start, start + len(token))
        self._take_title_parts()
        self._take_all(whole_words("frame"))
        self._take_all(whole_words("entities"))

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

    @property
    def names_measure(self) -> bool:
        """Whether the question names a column of figures itself, other than a period."""
        return any(column in self.numbers and column not in self.periods for column in self.named)

    @property
    def numbers(self) -> list[TableColumn]:
        """The columns of figures."""
        return [one for one in self.table.columns if one.kind == "number" and one is not self.label]

    @property
    def periods(self) -> list[TableColumn]:
        """The columns of figures that are named after years, months or quarters."""
        return [one for one in self.numbers if names_period(one.name) or _PERIOD_NAME.fullmatch(one.name)]

    @property
    def is_titled(self) -> bool:
        """Whether a word of the title occurs in the question."""
        return not set(extract_terms(self.table.title)).isdisjoint(extract_terms(self.question))

    @property
    def _is_about_people(self) -> bool:
        return any(_NAMES_PEOPLE.search(name) for name in (self.label.name, self._own_title))

    @property
    def _own_title(self) -> str:
        """The heading or sheet above the table, or the title of a document that has no parts."""
        return self.table.title.rpartition(HEADING_SEPARATOR)[2]

    @property
    def names_rows(self) -> bool:
        """Whether the question names what rows are about, so that it may count them."""
        words = [whole_words("entities")]
        if self._is_about_people:
            words.append(whole_words("people"))
        return self.label in self.named or self.is_titled or any(one.search(self.question) for one in words)


def is_numbering(table: DataTable, column: TableColumn) -> bool:
    """Return whether a column numbers the rows, so that another one says what they are about."""
    at = table.columns.index(column)
    values = [row.values[at] for row in table.rows]
    return bool(_NUMBERING.fullmatch(column.name)) or (len(values) > 1 and values == list(range(1, len(values) + 1)))


def _bare_name(column: TableColumn) -> str:
    return _IN_BRACKETS.sub("", column.name).strip()


def _value_pattern(text: str) -> str:
    """Return a pattern for a value of a cell: whole words, also in the plural; a single sign only before a particle."""
    escaped = re.escape(text)
    if text[-1].isascii():
        return rf"(?<![A-Za-z\d]){escaped}(?:e?s)?(?![A-Za-z\d])"
    return escaped if len(text) > 1 else rf"(?<![가-힣一-鿿]){escaped}(?=[은는이가을를의와과 ]|的|$)"
