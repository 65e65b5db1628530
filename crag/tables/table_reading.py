"""A question interpreted against a table: the values, columns, periods, operations and numbers that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import cached_property
from itertools import pairwise
from pathlib import PurePath
from typing import Literal, get_args

from crag.tables.comparisons import find_comparisons
from crag.tables.data_table import DataTable, TableColumn
from crag.tables.marked_question import MarkedQuestion
from crag.tables.periods import Period, find_periods, is_whole_year, read_period
from crag.tables.units import repeat_column_units
from crag.tables.value_mentions import ValueMentions, bare_name, name_stem
from crag.tables.wording import WORDS, has_words, whole_words, word_pattern
from crag.text.language import extract_terms, find_tokens, is_cjk
from crag.text.table_headers import CAPTION_SEPARATOR, names_period
from crag.types import HEADING_SEPARATOR

Operation = Literal["change", "share", "rank", "top", "min", "max", "median", "mean", "distinct", "count", "sum"]
Unit = Literal["month", "quarter", "year"]
_FRAME_LIKE_NAME = re.compile("May|US|IT|WHO")  # names that are also stop words
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_LEAD = re.compile(r"(?:(?:in|during|of|for|on|at|from|between) )?(?:the )?", re.IGNORECASE)
_KIND = re.compile(r"(?:categor(?:y|ies)|(?:kind|type|group|segment|line|area)s?)", re.IGNORECASE)
_KOREAN_NOUN = re.compile("([가-힣]{2,}?)(?:[이가은는을를의도]|에서?)?")
_CODE = re.compile(r"[A-Za-z]{0,4}[-/.]?\d+")


def only_one(columns: Sequence[TableColumn]) -> TableColumn | None:
    """Return the column if there is exactly one."""
    return columns[0] if len(columns) == 1 else None


def find_operations(question: str) -> dict[Operation, list[tuple[int, int]]]:
    """Return the operations that a question asks for, apart from comparisons, with their places."""
    compared = find_comparisons(question)
    found: dict[Operation, list[tuple[int, int]]] = {}
    for name in get_args(Operation):
        spans = [match.span() for match in word_pattern("operations", name).finditer(question)]
        if free := [span for span in spans if not any(one.start <= span[0] < one.end for one in compared)]:
            found[name] = free
    return found


class TableReading:
    """Interpretation of a question against a table.

    `values` and `named` are the cell values and the columns that it names, with their places; `excluded` are values
    that it rules out. `each` is the period by which it groups dates, and `asked_period` the one that it looks for.
    `rest` are its content words that the table does not explain, and `matches` counts those that it does. `contest` is
    the column of which it compares the values that it names. `names_concept` if it calls a column by another name, such
    as an item where the column is “Product”. `is_guessed` if a word is ambiguous, and `is_refused` if
    one means what no query can express.
    """

    def __init__(self, question: str, table: DataTable) -> None:
        self.question = question = repeat_column_units(_repeat_column_periods(question, table), table)
        self.table = table
        self._text = MarkedQuestion(question)
        self.numberings = [one for one in table.columns if is_numbering(table, one)]
        self.label = self._find_numbered_label() or self._find_label()
        self.comparisons = find_comparisons(question)
        self._is_date_guessed = False
        self._take_whole_title()
        mentions = ValueMentions(self._text, table, self.label)
        self.values, self.excluded = mentions.values, mentions.excluded
        self.is_guessed, self.is_range = mentions.is_guessed, mentions.is_range
        self.spans: dict[TableColumn, list[tuple[int, int]]] = {}
        self.named = self._find_columns()
        concepts = self._find_concepts()
        self.named |= concepts
        self.names_concept = bool(concepts)
        named_periods = [one for one in self.periods if one in self.named]
        self.is_range |= len(named_periods) == 2 and has_words(question, "wording", "range")
        self.groups = self._find_groups()
        self.operation: Operation | None = self._find_operation()
        self.date = self._find_date_column()
        self.each = self._find_unit("each_period")
        self.asked_period = self._find_unit("which_period")
        self.date_order = self._find_date_order()
        self.date_conditions = self._find_date_conditions()
        uses_date = self.each or self.asked_period or self.date_order or self.date_conditions
        self.is_guessed |= bool(self._is_date_guessed and uses_date)
        self.is_ranked_by_synonym = False
        self.synonyms: list[TableColumn] = self._find_synonyms()
        self.column_comparison = self._find_column_comparison()
        self.missing = self._find_missing()
        self.is_over_all_periods = self._find_all_periods()
        for one in self.comparisons:
            self._text.take(one.start, one.end, counts=False)
        self.is_refused = has_words(self._text.free_text(), "refused")
        self.contest = self._find_contest()
        self.names_row_noun = False
        self.counts_records = self._find_counted_record()
        self._use_frame()
        self.rest = self._find_rest()
        self.matches = self._text.matches

    def _find_numbered_label(self) -> TableColumn | None:
        """Return the column of row numbers by which the question names a row: “week 7”, “7주차”, “第7周”."""
        for column in self.numberings:
            name = bare_name(column)
            before, after = r"\d\s?" if name and is_cjk(name) else "$^", r" (?:no\.? ?|# ?)?\d"
            if name and re.search(
                rf"{before}{name_stem(name)}|\b{re.escape(name)}{after}", self.question, re.IGNORECASE
            ):
                self.numberings.remove(column)
                return column
        return None

    def _find_label(self) -> TableColumn:
        """Return the column that identifies rows: the first that is not a row number; a name rather than a code."""
        columns = [one for one in self.table.columns if one not in self.numberings] or list(self.table.columns)
        first, second = columns[0], columns[min(1, len(columns) - 1)]
        codes = [bool(_CODE.fullmatch(str(cell))) for one in (first, second) for cell in self.table.cells(one)]
        is_code = all(codes[: len(self.table.rows)]) and not any(codes[len(self.table.rows) :])
        pairs = {*zip(self.table.cells(first), self.table.cells(second), strict=True)}
        is_name = second.kind == "text" and len({*self.table.cells(first)}) == len({*self.table.cells(second)}) == len(
            pairs
        )
        return second if is_code and is_name and first.kind == "text" else first

    def _find_columns(self) -> dict[TableColumn, int]:
        """Return the columns that the question names, with their places; the name with most words wins."""
        found: dict[TableColumn, tuple[float, list[tuple[int, int]]]] = {}
        for column in self.table.columns:
            share, spans = self._match_name(column)
            if spans:
                found[column] = (share, spans)
        for column, (share, spans) in found.items():
            wider = [
                other
                for other, (other_share, other_spans) in found.items()
                if other is not column
                and set(spans) <= set(other_spans)
                and (other_share > share or (other_share == share and len(spans) < len(other_spans)))
            ]
            if not wider:
                self.spans[column] = spans
                rivals = [one for one, (_, others) in found.items() if one is not column and others == spans]
                self.is_guessed |= bool(rivals) and column.kind == "number" and not self._is_named_in_full(column)
        for spans in self.spans.values():
            for span in spans:
                self._text.take(*span)
        return {column: spans[0][0] for column, spans in self.spans.items()}

    def _is_named_in_full(self, column: TableColumn) -> bool:
        """Return whether the question has every word of a column's name except its period."""
        parts = [part for part in bare_name(column).split(CAPTION_SEPARATOR) if not names_period(part)]
        return all(self._match_part(column, part)[0] >= 1 for part in parts)

    def _match_name(self, column: TableColumn) -> tuple[float, list[tuple[int, int]]]:
        """Return the share of a name's words that the question holds, and where."""
        parts = [self._match_part(column, part) for part in bare_name(column).split(CAPTION_SEPARATOR)]
        return sum(share for share, _ in parts) / len(parts), [span for _, spans in parts for span in spans]

    def _match_part(self, column: TableColumn, name: str) -> tuple[float, list[tuple[int, int]]]:
        if word_pattern("columns", "period").fullmatch(name) or (name and is_cjk(name)):
            ending = "date_ending" if column.kind == "date" else "count_ending"
            short, last = word_pattern("columns", ending).sub("", name), name.rpartition(" ")[2]
            for form, share in ((name, 1.0), (short, 0.9), (last if len(last) > 1 else "", 0.5)):
                spaced = r"\s?".join(map(re.escape, form.replace(" ", ""))) if form else "$^"
                bounded = rf"(?<![\dA-Za-z]){spaced}(?!\d|[A-Za-z])" if form[:1].isascii() else spaced
                spans = [match.span() for match in re.finditer(bounded, self.question, re.IGNORECASE)]
                if spans := [span for span in spans if self._text.is_free(*span)]:
                    return share, spans
            return 0.0, []
        terms = set(extract_terms(name)) - {"per"} or {name.lower()}
        spans = []
        held = set()
        for start, token in find_tokens(self.question):
            own = set(extract_terms(token)) or {token.lower()}
            is_verb = (
                column is self.label and token.lower().endswith(("ed", "ing")) and token.lower() not in name.lower()
            )
            if own & terms and not is_verb and self._text.is_free(start, start + len(token)):
                spans.append((start, start + len(token)))
                held |= own & terms
        return len(held) / len(terms), spans

    def _find_concepts(self) -> dict[TableColumn, int]:
        """Return the only column for a word of another name, as the branches for “which city”: a guess."""
        for words in WORDS["concepts"].values():
            pattern = re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE)
            columns = [one for one in self.table.columns if one.kind == "text" and pattern.search(one.name)]
            sought = pattern.search(self._text.free_text())
            if sought and len(columns) == 1 and columns[0] not in self.named and not self.is_about_people:
                self._text.take(*sought.span(), counts=False)
                self.is_guessed = True
                return {columns[0]: sought.start()}
        return {}

    def _find_groups(self) -> list[TableColumn]:
        found: list[TableColumn] = []
        for column in sorted(self.named, key=lambda one: self.named[one]):
            name = re.escape(bare_name(column))
            forms = [form.replace("@", rf"(?:the )?{name}(?:e?s)?") for form in WORDS["groups"].values()]
            is_next = bool(found) and has_words(self.question[: self.named[column]], "wording", "next_group")
            if column.kind != "number" and (self._text.take_all("|".join(forms)) or is_next):
                found.append(column)
        return found

    def _find_operation(self) -> Operation | None:
        """Return what is computed: the first operation whose words do not belong to a name."""
        found: dict[Operation, list[tuple[int, int]]] = {}
        for name, spans in find_operations(self.question).items():
            if free := [span for span in spans if not all(self._text.used[slice(*span)])]:
                found[name] = free
        first = next(iter(found), None)
        for name, spans in found.items():
            for span in spans if name in (first, "sum", "mean", "count") else ():
                self._text.take(*span, counts=False)
        self.operations = found
        self.is_guessed |= any(len(found.get(name, ())) > 1 for name in ("min", "max", "rank", "top"))
        if first == "change":
            self._text.take_all(word_pattern("wording", "than"))
        return first

    def _describes_column(self, span: tuple[int, int]) -> bool:
        """Return whether a word stands right before the name of a number column: “the shortest long run”."""
        named = [self.spans[one][0][0] for one in self.numbers if one in self.spans]
        return any(0 <= start - span[1] <= 1 for start in named)

    def _find_synonyms(self) -> list[TableColumn]:
        """Return the number columns to which a verb or an adjective of the question may refer."""
        taken = [span for spans in self.spans.values() for span in spans]
        for words, names in (pair for pairs in WORDS["measures"].values() for pair in pairs):
            form = words if is_cjk(words) else rf"\b(?:{words})\b"
            found = [match.span() for match in re.finditer(form, self.question, re.IGNORECASE)]
            found = [one for one in found if not any(start <= one[0] < end for start, end in taken)]
            if not found or self._describes_column(found[0]):
                continue
            for name in names.split("|"):
                pattern = name if is_cjk(name) else rf"\b{name}"
                columns = [one for one in self.numbers if re.search(pattern, one.name, re.IGNORECASE)]
                columns = _find_plainest(columns)
                if columns:
                    for start, end in found:
                        self._text.take(start, end)
                    word = self.question[slice(*found[0])]
                    is_rate = has_words(word, "columns", "rate")
                    self.is_guessed |= is_rate and not any(has_words(one.name, "columns", "rate") for one in columns)
                    extremes = [span for name in ("min", "max") for span in self.operations.get(name, ())]
                    self.is_ranked_by_synonym = any(
                        start < found[0][1] and found[0][0] < end for start, end in extremes
                    )
                    return columns
            if re.search(names, self.table.title, re.IGNORECASE):
                self._text.take_all(form)
        return []

    def _find_date_column(self) -> TableColumn | None:
        """Return the date column that the question names, or else the date of a row."""
        columns = [column for column in self.table.columns if column.kind == "date"]
        for words, names in WORDS["date_names"].values():
            meant = [one for one in columns if re.search(names, one.name, re.IGNORECASE)]
            form = words if is_cjk(words) else rf"(?<![a-z])(?:{words})(?![a-z])"
            if len(meant) == 1 and re.search(form, f"{self.question} {self.table.title}", re.IGNORECASE):
                self._text.take_all(form)
                return meant[0]
        named = [one for one in columns if one in self.named]
        plain = [one for one in columns if word_pattern("dates", "plain").fullmatch(bare_name(one))]
        self._is_date_guessed = not (named or plain or columns == [self.label])
        choices = named or plain or columns
        return only_one(choices)

    def _find_unit(self, section: str) -> Unit | None:
        """Return the unit of time named by the words of a section, unless rows are grouped by a column."""
        units: tuple[Unit, ...] = get_args(Unit)
        for unit in units:
            words = word_pattern(section, unit)
            if self.date and not self.groups and words.search(self._text.free_text()):
                self._text.take_all(words, counts=True)
                return unit
        return None

    def _find_date_order(self) -> Literal["latest", "earliest", ""]:
        """Return whether the question looks for the latest or the earliest row."""
        orders: tuple[Literal["latest", "earliest"], ...] = ("latest", "earliest")
        return next((one for one in orders if self._text.take_all(word_pattern("dates", one))), "")

    def _find_date_conditions(self) -> list[str]:
        """Return conditions for the periods that the question names, and use their words."""
        if self.date is None:
            return []
        days = [date.fromisoformat(cell) for cell in self.table.cells(self.date) if isinstance(cell, str)]
        for months, words in WORDS["whole_span"].items():
            spans = {(day.year, (day.month - 1) // int(months)) for day in days}
            if len(spans) == 1:
                self._text.take_all(words)
        found = find_periods(self._text.free_text(), {day.year for day in days})
        for one in found:
            self._text.take(*one.span)
            edge = one.edge
            self.is_guessed |= bool(self.date.unread or (edge and any(edge[0] <= day < edge[1] for day in days)))
        self._use_joints([one.span for one in found])
        conditions = [_write_period(self.date, one) for one in found]
        return [f"({' OR '.join(conditions)})"] if conditions else []

    def _use_joints(self, spans: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        for (_, end), (start, _) in pairwise(ordered):
            if has_words(self.question[end:start], "negation", "joined"):
                self._text.take(end, start, counts=False)

    def _find_column_comparison(self) -> tuple[TableColumn, str, TableColumn] | None:
        """Return two columns of figures and how the question compares them, as in “below the minimum”."""
        for column in self.numbers if self.operation != "change" else ():
            for start, end in self.spans.get(column, ()):
                text = re.escape(self.question[start:end])
                for sign, forms in WORDS["column_comparisons"].items():
                    pattern = "|".join(form.replace("@", text) for form in forms)
                    match = next(
                        (m for m in re.finditer(pattern, self.question, re.IGNORECASE) if m.start() <= start < m.end()),
                        None,
                    )
                    if match and (other := self._other_column(column)):
                        self._text.take(*match.span(), counts=False)
                        return other, sign, column
        return None

    def _other_column(self, column: TableColumn) -> TableColumn | None:
        """Return the column to compare with another; a guess if only the unit is the same."""
        named = [one for one in self.numbers if one in self.named and one is not column]
        alike = [one for one in self.numbers if one is not column and one.unit == column.unit]
        self.is_guessed |= len(named) != 1 and len(self.numbers) > 2
        choices = named or alike
        return only_one(choices)

    def _find_missing(self) -> TableColumn | None:
        """Return the column whose empty cells the question looks for."""
        named = [one for one in self.named if one is not self.label]
        if len(named) != 1 or not self._text.take_all(whole_words("missing")):
            return None
        return named[0]

    def _find_all_periods(self) -> bool:
        """Return whether the question asks about all period columns together, as in “over all years”."""
        names = [bare_name(one) for one in self.periods]
        is_years = all(re.match(r"(?:19|20)\d\d", name) for name in names)
        years = {year for name in names for year in _YEAR.findall(name)}
        is_whole = len(names) in (2, 4, 12) and not is_years and len(years) < 2
        is_asked = bool(names) and not any(one in self.named for one in self.numbers)
        return is_asked and (
            (is_years and bool(self._text.take_all(word_pattern("all_periods", "years"))))
            or (is_whole and bool(self._text.take_all(word_pattern("all_periods", "parts"))))
        )

    def _find_contest(self) -> TableColumn | None:
        """Return the column whose values the question compares, as in “which sold more, North or East”.

        Its operation is then the extreme. A word of degree that compares nothing makes the reading a guess.
        """
        degrees: tuple[Literal["min", "max"], ...] = ("min", "max")
        degree = next((one for one in degrees if has_words(self._text.free_text(), "degree", one)), None)
        if degree is None:
            return None
        several = [one for one, values in self.values.items() if len(values) > 1 and one not in self.excluded]
        texts = [one for one in self.named if one.kind == "text"]
        sought = [one for one in texts if has_words(self.question[: self.named[one]], "wording", "which")]
        column = only_one(several)
        if column is None or set(sought) - {column} or self.operation in ("change", "share", "rank", "top"):
            self.is_guessed = True
            return None
        self._text.take_all(word_pattern("degree", degree))
        self.operations[degree] = []
        self.operation = degree
        return column

    def _find_counted_record(self) -> bool:
        """Return whether the question counts sales, orders and the like, and each row is one of them; use the word."""
        match = word_pattern("wording", "records").search(self.question)
        if match is None:
            return False
        place = next(at for at, word in enumerate(match.groups(), 1) if word)
        is_record = self.label.kind == "date" or self.are_labels_numbered or has_words(match[place], "wording", "row")
        is_record = is_record and not any(match[place][:4].lower() in one.name.lower() for one in self.numbers)
        if is_record:
            self._text.take(*match.span(place))
        return is_record

    @cached_property
    def are_labels_numbered(self) -> bool:
        """Whether labels hold numbers, as those of orders do."""
        return any(re.search(r"\d", str(cell)) for cell in self.table.cells(self.label))

    def _use_frame(self) -> None:
        if self.is_about_people:
            self._text.take_all(whole_words("people"), counts=True)
            self._text.take_all(word_pattern("wording", "who"), counts=True)
        if any(one.unit == "%" for one in self.numbers):
            self._text.take_all(word_pattern("wording", "percentage"))
        if "mean" in self.operations:
            self._text.take_all(word_pattern("wording", "per_record"))
        title = self._title_terms()
        above = set(extract_terms(self.table.above))
        before = ""
        for start, token in find_tokens(self.question):
            terms = extract_terms(token)
            is_free = bool(terms) and self._text.is_free(start, start + len(token))
            is_above = token[0].islower() and above.issuperset(terms)
            if is_free and (title.issuperset(terms) or is_above or (before and _KIND.fullmatch(token))):
                self._text.take(start, start + len(token))
            before = token if is_free and is_above and not self.is_label_named else ""
        self._take_title_parts()
        self._take_row_nouns()
        self._text.take_all(whole_words("frame"))
        self.has_loose_verb = bool(self._text.take_all(whole_words("verbs"))) and not self.values
        self.is_guessed |= (
            bool(self._text.take_all(word_pattern("wording", "needed"))) and self.label not in self.values
        )
        self._text.take_all(whole_words("entities"))
        self._take_unknown_noun()

    def _take_unknown_noun(self) -> None:
        """Use the noun of “which bike has the longest range”: rows may be bikes, although the table does not say so."""
        is_extreme = self.operation in ("min", "max") and (self.names_measure or len(self.synonyms) == 1)
        if not is_extreme or self.values or self.label.kind != "text" or not self.is_label_unique:
            return
        for start, token in find_tokens(self.question):
            is_asked_for = has_words(self.question[:start], "wording", "which")
            is_noun = token.islower() and bool(extract_terms(token))
            if is_asked_for and is_noun and self._text.is_free(start, start + len(token)):
                self._text.take(start, start + len(token), counts=not self.named)
                self.is_guessed = True

    def _title_terms(self) -> set[str]:
        """Return the words of the title. Of its years, only those of its last part that has one: of the table itself.

        If the question names several, one title cannot hold the figures of all.
        """
        parts = [_YEAR.findall(part) for part in self.table.title.split(HEADING_SEPARATOR)]
        own = next((years for years in reversed(parts) if years), list[str]())
        others = {year for years in parts for year in years} - {*own}
        if len({*_YEAR.findall(self.question)}) > 1 or self.periods:
            others |= {*own}
        return set(extract_terms(self.table.title)) - others

    def _take_whole_title(self) -> None:
        """Use the title of several words where the question has all of it, so that none of them names a column."""
        for part in self.table.title.split(HEADING_SEPARATOR):
            name = PurePath(part).stem
            if len(name.split()) > 1:
                self._text.take_all(rf"(?<!\w){re.escape(name)}(?!\w)")

    def _take_title_parts(self) -> None:
        """Use parts of the title in scripts without spaces between words."""
        for start in range(len(self.question) - 1):
            pair = self.question[start : start + 2]
            if (
                is_cjk(pair)
                and pair.strip() == pair
                and pair in self.table.title
                and not all(self._text.used[start : start + 2])
            ):
                self._text.take(start, start + 2)

    def _take_row_nouns(self) -> None:
        """Use Korean words with which the name of a column begins, as 수업 of 수업시간: they name what rows are."""
        names = [bare_name(one) for one in self.table.columns]
        for start, token in find_tokens(self.question):
            noun = _KOREAN_NOUN.fullmatch(token)
            is_free = self._text.is_free(start, start + len(token))
            if noun and is_free and any(name.startswith(noun[1]) for name in names):
                self._text.take(start, start + len(token))
                self.names_row_noun = True

    def _find_rest(self) -> list[str]:
        rest = []
        for start, token in find_tokens(self.question):
            free = "".join(sign for at, sign in enumerate(token, start) if not self._text.used[at])
            is_word = bool(extract_terms(token)) or bool(_FRAME_LIKE_NAME.fullmatch(token) and start)
            if free and (is_cjk(free) or (len(free) == len(token) and is_word)):
                rest.append(token if len(free) == len(token) and start else token.lower())
        return rest

    def is_other_period(self, column: TableColumn) -> bool:
        """Return whether the question asks for another period than that of a column.

        A year may stand for the only period in it, unless the question asks for all of the year.
        """
        own = read_period(column.name)
        if own is None:
            return False
        known = {period for one in self.periods if (period := read_period(one.name))}
        asked = _find_asked_periods(self.question, {first.year for first, _ in known})
        if not asked or own in asked:
            return False
        first, end = own
        around = [
            (start, stop) for start, stop in asked if start <= first and end <= stop and is_whole_year(start, stop)
        ]
        inside = [one for one in known if any(start <= one[0] and one[1] <= stop for start, stop in around)]
        return len(inside) != 1 or has_words(self.question, "wording", "whole_year")

    @property
    def names_measure(self) -> bool:
        """Whether the question names a column of figures itself, other than a period."""
        return any(column in self.numbers and column not in self.periods for column in self.named)

    def names_other_span(self, column: TableColumn) -> bool:
        """Return whether the question asks for figures of years, say, and those of the column are of months."""
        asked, own = (
            {key for key in WORDS["spans"] if has_words(text, "spans", key)} for text in (self.question, column.name)
        )
        return bool(asked and own) and asked.isdisjoint(own)

    @cached_property
    def is_label_unique(self) -> bool:
        """Whether each row has its own label."""
        return len({*self.table.cells(self.label)}) == len(self.table.rows)

    @cached_property
    def numbers(self) -> list[TableColumn]:
        """The columns of figures."""
        left_out = [self.label, *self.numberings]
        return [one for one in self.table.columns if one.kind == "number" and one not in left_out]

    @cached_property
    def periods(self) -> list[TableColumn]:
        """The columns of figures that are named after years, months or quarters."""
        return [
            one
            for one in self.numbers
            if names_period(one.name) or word_pattern("columns", "period").fullmatch(one.name)
        ]

    @cached_property
    def is_label_named(self) -> bool:
        """Whether the column of the labels has a name."""
        return bool(self.label.name)

    @cached_property
    def left_over(self) -> list[str]:
        """The labels of what belongs to none of the others, such as “Unallocated items”."""
        return [cell for cell in self.table.cells(self.label) if isinstance(cell, str) and has_words(cell, "left_over")]

    @cached_property
    def is_titled(self) -> bool:
        """Whether a word of the title occurs in the question."""
        return not set(extract_terms(self.table.title)).isdisjoint(extract_terms(self.question))

    @cached_property
    def is_about_people(self) -> bool:
        """Whether each row is about a person."""
        own_title = self.table.title.rpartition(HEADING_SEPARATOR)[2]
        return any(has_words(name, "columns", "people") for name in (self.label.name, own_title))

    @property
    def names_people(self) -> bool:
        """Whether rows are about people and the question names them."""
        return self.is_about_people and bool(whole_words("people").search(self.question))

    @property
    def names_rows(self) -> bool:
        """Whether the question names what rows describe, so that it may count them."""
        return (
            self.names_row_noun
            or self.counts_records
            or any(one in self.named for one in (self.label, *self.numberings))
            or self.is_titled
            or self.names_people
            or bool(whole_words("entities").search(self.question))
        )


def _find_plainest(columns: list[TableColumn]) -> list[TableColumn]:
    """Return only the column whose words all others share, as “Price” beside “Price from 10”; all if there is none."""
    terms = {one: frozenset(extract_terms(one.name)) for one in columns}
    plain = [one for one in columns if all(terms[one] <= others for others in terms.values())]
    return plain if len(plain) == 1 else columns


def _write_period(column: TableColumn, period: Period) -> str:
    bounds = (">=", period.first), ("<", period.end)
    return " AND ".join(f"{column.quoted} {sign} '{day}'" for sign, day in bounds if day)


def _find_asked_periods(question: str, years: set[int]) -> set[tuple[date, date]]:
    """Return the periods of a question that begin and end; of a range of years, each of the two."""
    found: set[tuple[date, date]] = set()
    for one in find_periods(question, years):
        texts = _YEAR.findall(question[slice(*one.span)])
        if len(texts) > 1:
            found.update((date(int(year), 1, 1), date(int(year) + 1, 1, 1)) for year in texts)
        elif one.first and one.end:
            found.add((one.first, one.end))
    return found


def _repeat_column_periods(question: str, table: DataTable) -> str:
    """Return a question with periods as the columns name them: “January–June 2023” for “the first half of 2023”."""
    names = {part for one in table.columns for part in one.name.split(CAPTION_SEPARATOR) if names_period(part)}
    known = {period: name for name in names if (period := read_period(name)) and not is_whole_year(*period)}
    for one in reversed(find_periods(question, {first.year for first, _ in known}) if known else []):
        name = known.get((one.first, one.end)) if one.first and one.end else None
        text = question[slice(*one.span)]
        if name and name.lower() not in text.lower():
            lead = _LEAD.match(text)
            question = f"{question[: one.span[0]]}{lead[0] if lead else ''}{name}{question[one.span[1] :]}"
    return question


def is_numbering(table: DataTable, column: TableColumn) -> bool:
    """Return whether a column only numbers the rows."""
    at = table.columns.index(column)
    values = [row.values[at] for row in table.rows]
    is_counting = len(values) > 1 and values == list(range(1, len(values) + 1))
    return column.kind == "number" and (
        bool(word_pattern("columns", "numbering").fullmatch(bare_name(column))) or is_counting
    )
