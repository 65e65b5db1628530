"""Cell values that a question names: in the singular or plural, ruled out, or from one to another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from crag.tables.comparisons import YEAR_RANGE
from crag.tables.data_table import DataTable, TableColumn
from crag.tables.marked_question import MarkedQuestion
from crag.tables.wording import WORDS, find_currencies, has_words, whole_words, word_pattern
from crag.text.language import extract_terms, find_tokens, is_cjk
from crag.text.table_headers import names_period

_MAX_SHORT_NUMBER = 4  # digits; a longer one in a question is hardly anything but an identifier
_IN_BRACKETS = re.compile(r"(?<!\s)\s*[(（\[][^()（）\[\]]*[)）\]]")
_CURRENCY = re.compile(r"(?<=\w) (?:USD|EUR|GBP|CHF|KRW|CNY|JPY|RMB)$")
_PROBE = 24  # characters that show whether a value may occur at all
_ENDINGS = (  # of a noun, the letters to cut, and the endings that it may have instead
    ("[^aeiou\\W]ies$", "ies", "(?:y|ies)"),
    ("[^aeiou\\W\\d]y$", "y", "(?:y|ies)"),
    ("(?:ss|x|ch|sh)es$", "es", "(?:es)?"),
    ("[a-z]{2}[^sui\\W\\d]s$", "s", "s?"),
    ("$", "", "(?:e?s)?"),
)


class ValueMentions:
    """The cell values that a question names, by column, with their places; it uses their words.

    `excluded` are those that it rules out. `is_range` if it names a range that cannot be resolved, and `is_guessed` if
    a value may belong to another column or row.
    """

    def __init__(self, text: MarkedQuestion, table: DataTable, label: TableColumn) -> None:
        self._text = text
        self._table = table
        self._label = label
        self._places: dict[TableColumn, list[tuple[int, int, str | float]]] = {}
        self.is_guessed = False
        self.values = self._find_values()
        self.values |= self._find_kind_of_label()
        self._take_column_nouns()
        self.excluded = self._find_excluded()
        self.is_guessed |= self._pairs_values()
        self.is_range = self._fill_ranges()

    def _find_values(self) -> dict[TableColumn, dict[str | float, int]]:
        """Return the cell values in the question by column, each with its place; longer values take precedence."""
        known = [(form, column) for column in self._table.columns for form in self._forms(column)]
        for (pattern, value, is_sure), column in sorted(known, key=lambda one: -len(one[0][0])):
            for match in re.finditer(pattern, self._text.question, re.IGNORECASE):
                if self._text.is_free(*match.span()) and not self._is_column_word(match[0]):
                    self._text.take(*match.span())
                    owner = column if is_sure else self._find_owner(column, value, match.start())
                    self._places.setdefault(owner, []).append((*match.span(), value))
        return {column: {value: start for start, _, value in spans} for column, spans in self._places.items()}

    def _take_column_nouns(self) -> None:
        """Use what follows a Chinese or Korean value and begins the name of its column: 类 of 类别 in 工具类."""
        for column, spans in self._places.items():
            name = bare_name(column)
            for _, end, _ in spans if is_cjk(name) else ():
                after = self._text.question[end : end + len(name)]
                size = next((size for size in range(len(after), 0, -1) if name.startswith(after[:size])), 0)
                if after[:size].strip():
                    self._text.take(end, end + size, counts=False)

    def _find_kind_of_label(self) -> dict[TableColumn, dict[str | float, int]]:
        """Return the rows with whose first word the question names them all: “zone”, of “Zone East” and “Zone West”.

        A word before another noun, as in “new orders”, is no such name, and neither is one for what is measured.
        """
        if self._label in self.values:
            return {}
        labels = dict.fromkeys(cell for cell in self._table.cells(self._label) if isinstance(cell, str))
        if begun := self._find_beginning(list(labels)):
            return {self._label: begun}
        kinds = {label: frozenset(extract_terms(label.split()[0])) for label in labels if " " in label}
        common = {terms for terms, count in Counter(kinds.values()).items() if terms and count > 1}
        known = {term for column in self._table.columns for term in extract_terms(bare_name(column))}
        tokens = [*find_tokens(self._text.question), (len(self._text.question), "")]
        for (start, token), (_, after) in pairwise(tokens):
            terms = frozenset(extract_terms(token))
            is_head = not extract_terms(after) or after.endswith("ed") or bool(whole_words("verbs").fullmatch(after))
            is_free = self._text.is_free(start, start + len(token))
            if terms in common and is_head and is_free and terms.isdisjoint(known) and not _names_measure(token):
                self._text.take(start, start + len(token))
                return {self._label: {label: start for label, kind in kinds.items() if kind == terms}}
        return {}

    def _find_beginning(self, labels: Sequence[str]) -> dict[str | float, int]:
        """Return the labels that begin with two or more words of the question: “LED bulb E27” for “the LED bulb”."""
        parts = {" ".join(words[:count]) for one in labels for words in [one.split()] for count in range(2, len(words))}
        for part in sorted(parts, key=len, reverse=True):
            found = re.search(_value_pattern(part), self._text.question, re.IGNORECASE)
            if found and self._text.is_free(*found.span()):
                self._text.take(*found.span())
                return {one: found.start() for one in labels if one.startswith(f"{part} ")}
        return {}

    def _find_owner(self, column: TableColumn, value: str | float, place: int) -> TableColumn:
        """Return the column of a value. If several hold it, the one named just before it, or else a guess."""
        others = [one for one in self._table.columns if one.kind == column.kind and value in self._table.cells(one)]
        before = self._text.question[:place].lower().rstrip()
        named = [one for one in others if one.name and before.endswith(bare_name(one).lower())]
        self.is_guessed |= len(others) > 1 and len(named) != 1
        return named[0] if len(named) == 1 else column

    def _forms(self, column: TableColumn) -> Iterator[tuple[str, str | float, bool]]:
        """Yield a pattern for each value of a column that may occur in the question, with the value.

        The pattern is sure to mean this column if it has the unit or the name of the column.
        """
        letters, name = _letters(self._text.question), re.escape(bare_name(column))
        values = {value for value in self._table.cells(column) if value is not None}
        is_year = all(value in YEAR_RANGE for value in values) and has_words(column.name, "columns", "year")
        is_figure = column.kind == "number" and not is_year and column is not self._label
        if column.kind == "date" or (is_figure and (column.unit or not is_cjk(name))):
            return
        for value in values:
            text = value if isinstance(value, str) else f"{value:.0f}"
            if is_figure:
                yield rf"(?<![\d.]){text}\s?{name}", value, True  # 3교시
                continue
            if text.isupper() and (signs := find_currencies(text)) and (signs[0].fullmatch(text)):
                yield rf"(?<![a-z])(?:{signs[0].pattern})(?![a-z])", value, False
            if _letters(text)[:_PROBE].rstrip("sye") not in letters:
                continue
            if not text.isdigit() or is_year or len(text) > _MAX_SHORT_NUMBER:
                yield _value_pattern(text), value, False
            elif column.unit or is_cjk(column.name):
                yield rf"第?(?<!\d){text}\s?(?:{re.escape(column.unit) or name_stem(bare_name(column))})", value, True
            elif name:
                yield rf"\b{name} (?:no\.? ?|# ?)?{text}(?!\d)", value, True

    def _is_column_word(self, text: str) -> bool:
        return any(_letters(text).rstrip("s") == _letters(bare_name(one)).rstrip("s") for one in self._table.columns)

    def _find_excluded(self) -> dict[TableColumn, set[str | float]]:
        """Return the values that the question rules out, as in “not in Berlin or Porto”; use the words between."""
        before, after, joined = (word_pattern("negation", name) for name in ("before", "after", "joined"))
        found: dict[TableColumn, set[str | float]] = {}
        for column, spans in self._places.items():
            spans.sort()
            groups: list[list[tuple[int, int, str | float]]] = []
            for span in spans:
                if groups and joined.search(self._text.question[groups[-1][-1][1] : span[0]]):
                    self._text.take(groups[-1][-1][1], span[0], counts=False)
                    groups[-1].append(span)
                else:
                    groups.append([span])
            for group in groups:
                lead = before.search(self._text.question[: group[0][0]])
                tail = after.search(self._text.question[group[-1][1] :])
                if lead:
                    self._text.take(*lead.span(), counts=False)
                if tail:
                    self._text.take(group[-1][1], group[-1][1] + tail.end(), counts=False)
                if lead or tail:
                    found.setdefault(column, set()).update(value for *_, value in group)
        return found

    def _pairs_values(self) -> bool:
        """Return whether values of two columns alternate, as in “Odby in May and Varn in June”, which are pairs."""
        places = [(start, column) for column, spans in self._places.items() for start, *_ in spans]
        order = [column for _, column in sorted(places, key=lambda one: one[0])]
        return any(
            one is third and one is not second
            for one, second, third in zip(order, order[1:], order[2:-1], strict=False)
        )

    def _fill_ranges(self) -> bool:
        """Add the values between two periods, as in “from March to May”; return whether a range is unresolved."""
        for column, spans in self._places.items():
            if len(spans) != 2:
                continue
            start, end = spans[0][0], spans[1][1]
            texts = [re.escape(self._text.question[one[0] : one[1]]) for one in spans]
            for form in WORDS["ranges"]["forms"]:
                match = re.search(
                    form.replace("@", texts[0], 1).replace("@", texts[1], 1), self._text.question, re.IGNORECASE
                )
                if not match or match.start() > start or match.end() < end:
                    continue
                order = [value for value in dict.fromkeys(self._table.cells(column)) if value is not None]
                if not all(isinstance(value, float) or names_period(value) for value in order):
                    return True
                places = sorted(order.index(value) for *_, value in spans)
                self.values[column] = dict.fromkeys(order[places[0] : places[1] + 1], start)
                self._text.take(*match.span(), counts=False)
                break
        return False


def bare_name(column: TableColumn) -> str:
    """Return the name of a column without brackets and currency."""
    return _CURRENCY.sub("", _IN_BRACKETS.sub("", column.name)).strip()


def name_stem(name: str) -> str:
    """Return a pattern for a name with or without its ending: 周 for 周次."""
    return (
        f"{re.escape(name[:1])}{re.escape(name[1:-1])}(?:{re.escape(name[-1:])})?" if len(name) > 1 else re.escape(name)
    )


def _names_measure(word: str) -> bool:
    pairs = (pair for pairs in WORDS["measures"].values() for pair in pairs)
    return any(re.fullmatch(words, word, re.IGNORECASE) for words, _ in pairs)


def _letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return re.sub(r"[\W_]", "", text.lower())


def _value_pattern(text: str) -> str:
    """Return a pattern for a value of a cell: whole words, in the singular or plural, a hyphen like a space.

    A single Chinese or Korean sign counts only before a particle.
    """
    if not text[-1].isascii():
        escaped = re.escape(text)
        return escaped if len(text) > 1 else rf"(?<![가-힣一-鿿]){escaped}(?=[은는이가을를의와과로에도만 ]|으로|的|$)"
    stem, ending = next(
        (text[: -len(cut)] if cut else text, endings)
        for form, cut, endings in _ENDINGS
        if re.search(form, text, re.IGNORECASE)
    )
    words = re.sub(r"(?<=\w)\\[ -](?=\w)", lambda _: r"[\s-]?", re.escape(stem))
    return rf"(?<![A-Za-z\d]){words}{ending}(?![A-Za-z\d])"
