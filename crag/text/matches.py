"""Every place of a text that matches a topic: list items of its section, values of its column, or sentences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from crag.text.dates import states_date
from crag.text.figures import normalize_figures
from crag.text.language import (
    extract_terms,
    is_heading,
    is_list_item,
    is_table_row,
    join_sentences,
    split_paragraphs,
    strip_list_mark,
)
from crag.text.patterns import lazy_regex
from crag.text.questions import announces_more
from crag.text.sections import Unit, heading_path, read_units
from crag.text.table_headers import CAPTION_SEPARATOR
from crag.text.tables import is_total_row, label_table_rows, table_cells
from crag.types import Match, Passage

MatchKind = Literal["items", "values", "sentences"]
_VALUE_FORMS = {  # kinds of values that need no section or column of that name
    lazy_regex(
        r"e-?mails?(?: address(?:es)?)?|이메일(?: 주소)?|[电電]子[邮郵]件(?:地址)?|[邮郵]箱(?:地址)?", re.IGNORECASE
    ): lazy_regex(r"[\w.+-]{2,}@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}"),
    lazy_regex(
        r"(?:web ?)?(?:links?|urls?|web ?sites?|web addresses)|링크|웹 ?사이트|[网網](?:址|站)|[链連][接結]",
        re.IGNORECASE,
    ): lazy_regex(r"(?:https?://|www\.)[^\s<>()\[\]“”\"']+[^\s<>()\[\]“”\"'.,;:!?]"),
    lazy_regex(
        r"(?:tele)?phone(?: numbers?)?s?|전화(?: ?번호)?|[电電][话話](?:[号號][码碼])?", re.IGNORECASE
    ): lazy_regex(
        r"(?<![\w.:+-])(?:\+\d{1,3}[ -]?(?:\(\d{1,4}\)[ -]?)?|\(\d{2,5}\)[ -]?)"
        r"(?=(?:[ -]?\d){5})\d{1,8}(?:[ -]\d{2,8}){0,4}"
        r"(?![\w.:-]*\d)|(?<![\w.:+-])(?!(?:19|20)\d\d[ -]\d\d[ -]\d\d)(?=[+(]|(?:\D?\d){7})"
        r"(?:\+\d{1,3}[ -]?)?(?:\(\d{1,4}\)[ -]?)?\d{1,4}(?:[ -]\d{2,4}){1,4}(?![\w.:-]*\d)"
    ),
    lazy_regex(r"percentages?|퍼센트|비율|백분율|百分比", re.IGNORECASE): lazy_regex(
        r"\d+(?:[.,]\d+)*\s?(?:%|percent\b|퍼센트)"
    ),
    lazy_regex(
        r"(?:amounts?|sums?|prices?|costs?|fees?|payments?)(?: of money)?|금액|가격|비용|金[额額]|[价價]格|[费費]用",
        re.IGNORECASE,
    ): lazy_regex(
        r"(?:[$€£¥₩]|\b(?:USD|EUR|GBP|CHF|KRW|CNY|TWD|JPY))\s?\d+(?:[.,]\d+)*(?:\s?(?:thousand|million|billion|bn)\b)?"
        r"|\d+(?:[.,]\d+)*\s?(?:(?:thousand|million|billion|bn)\s)?(?:[$€£¥₩]|(?:USD|EUR|GBP|CHF|KRW|CNY|TWD|JPY|"
        r"dollars?|euros?|pounds?|francs?|won|yuan)\b|만?원|[万萬亿億]?元)"
    ),
}
_ACCOUNT_NUMBER = lazy_regex(r"\b[A-Z]{2}\d\d(?: ?[\dA-Z]{4}){2,7}(?: ?[\dA-Z]{1,3}\b)?")  # IBAN
_VERBS = {  # what is decided is a decision
    noun: extract_terms(verb)[0]
    for noun, verb in (
        *(("decision", "decide"), ("recommendation", "recommend"), ("suggestion", "suggest"), ("proposal", "propose")),
        *(("requirement", "require"), ("obligation", "oblige"), ("prohibition", "prohibit"), ("approval", "approve")),
        *(("restriction", "restrict"), ("exclusion", "exclude"), ("exemption", "exempt"), ("agreement", "agree")),
        *(("conclusion", "conclude"), ("assumption", "assume"), ("complaint", "complain"), ("payment", "pay")),
        *(("commitment", "commit"), ("permission", "permit"), ("refusal", "refuse"), ("failure", "fail")),
    )
}
_ADJECTIVE = lazy_regex(r"\b(?:an?|the|its|his|her|their|our|your|my|(?:\w+ly))\s(\w+(?:ed|ing))\b", re.IGNORECASE)
_PERSON = lazy_regex(
    r"(?:(?:Dr|Mrs?|Ms|Prof)\.? )?(?!(?:New|San|Los|Las|Saint|St|Santa) )(?P<first>[A-Z])[\w’'-]*"
    r"(?: [A-Z][\w.’'-]*)? (?P<last>[A-Z][a-zà-ÿ’'-]{2,}(?:[A-Z][a-zà-ÿ]+)?)"
)
_HONORIFIC = lazy_regex(r"\W*(?:Dr|Mrs?|Ms|Mx|Prof|Professor|Sir|Lady)\.?")
_COUNTED = lazy_regex(  # a sentence of a list in prose: "First, …", "둘째, …"
    r"\W*(?:(?:first|second|third|fourth|fifth|sixth|last|final)(?:ly)?,?\s|첫째|둘째|셋째|넷째|다섯째|여섯째|마지막으로"
    r"|[첫두세네]\s?번째|第[一二三四五六七八九十][，,、]|其[一二三四五六][，,、]|首先|其次|再次|最[后後][，,])",
    re.IGNORECASE,
)
_CODE = lazy_regex(  # a word with a digit in it: "V8", "GPT-4", "10kg"; "제7조", "第7条"
    r"(?<![A-Za-z\d])(?=[A-Za-z\d.-]*\d)(?=[\d.-]*[A-Za-z])[A-Za-z\d]+(?:[-.][A-Za-z\d]+)*"
    r"|[제第]\s?\d+\s?[가-힣\u4e00-\u9fff]"
)
_CODE_PART = lazy_regex(r"[A-Za-z]+|\d+|\.|[가-힣\u4e00-\u9fff]")
_COUNT = lazy_regex(r"(?<![\d.,])\d\d?(?![\d.,])")
_KOREAN_COUNT = lazy_regex(r"(두|세|네|다섯|여섯|일곱|여덟|아홉|열)(?= ?(?:가지|개|종류|단계|항목|곳|명|번))")
_KOREAN_COUNTS = ("두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열")
_DATES = lazy_regex(r"(?:all )?(?:the )?dates?|날짜|일자|日期", re.IGNORECASE)


class MatchFinder:
    """Collects the matches of a topic while passages are read, in document order, and chooses what answers best."""

    def __init__(self, topic: str) -> None:
        """Prepare to look for a topic, such as `risks` or `e-mail addresses`."""
        self._terms = frozenset(extract_terms(topic))
        self._words = frozenset(extract_terms(_CODE.sub(" ", topic)))
        self._codes = [_compile_code(found[0]) for found in _CODE.finditer(topic)]
        self._verb = _VERBS.get(_singular_noun(topic), "")
        self._person = _Person.parse(topic)
        self._value_form = next((value for name, value in _VALUE_FORMS.items() if name.fullmatch(topic)), None)
        self._is_date = bool(_DATES.fullmatch(topic))
        self._by_surname: list[Match] = []  # of the person asked for, if the full name is found too
        self._found: dict[MatchKind, list[Match]] = defaultdict(list)
        self._source = self._title = ""  # of the passage before
        self.passages: dict[int, Passage] = {}  # those with a match

    def read(self, passages: Iterable[Passage]) -> None:
        """Collect the matches of these passages."""
        for passage in passages:
            if passage.source_id != self._source:
                self._source, self._title = passage.source_id, ""
            units = read_units(passage, self._title)
            self._title = units[-1].title if units else self._title
            texts = [unit.text for unit in units]
            labelled = label_table_rows(texts, passage.heading)
            named = [self._is_in_section(passage, unit) for unit in units]
            items = list(self._section_items(passage, units, texts, named))
            self._add("items", passage, items)
            self._add("values", passage, () if items else self._values(labelled))
            is_listed = [is_named and bool(items) for is_named in named]
            prose = list(self._join_announced(units, is_listed, split_paragraphs(passage.text)))
            outside = label_table_rows(prose, passage.heading, texts)
            self._add("sentences", passage, self._sentences(outside))
            self._by_surname += [self._match(passage, text) for text in self._naming_by_surname(outside)]

    def _add(self, kind: MatchKind, passage: Passage, texts: Iterable[str]) -> None:
        for text in texts:
            self._found[kind].append(self._match(passage, text))

    def _match(self, passage: Passage, text: str) -> Match:
        self.passages[passage.id] = passage
        return Match(passage.id, text, passage.title, passage.page_of(text.partition("\n")[0]), passage.sheet)

    def section_items(self) -> list[Match]:
        """Return the list items, or else the sentences, of the sections of that name."""
        return self._found["items"]

    def matches(self) -> list[Match]:
        """Return the items of sections of that name and the values of columns of that name, and sentences about it.

        Where columns are named like the topic, sentences are left out. Each text is listed once, where it stands first.
        """
        named = [*self._found["items"], *self._found["values"]]
        sentences = [] if self._found["values"] else self._found["sentences"]
        by_surname = self._by_surname if sentences else []
        found = sorted([*named, *sentences, *by_surname], key=lambda match: match.passage_id)
        unique: dict[str, Match] = {}
        for match in found:
            unique.setdefault(" ".join(match.text.casefold().split()), match)
        return list(unique.values())

    def _is_in_section(self, passage: Passage, unit: Unit) -> bool:
        """Return whether a unit stands below a heading that names the topic."""
        path = heading_path(passage)
        above = any(
            map(self._is_titled, (*unit.parents, *(path[: path.index(unit.title)] if unit.title in path else ())))
        )
        return bool(self._terms) and not unit.is_title and (above or self._is_titled(unit.title))

    def _section_items(
        self, passage: Passage, units: Sequence[Unit], whole: Sequence[str], named: Sequence[bool]
    ) -> Iterator[str]:
        """Yield the list items below a heading that names the topic, or all sentences and rows if it has no list."""
        inside = [unit.text for unit, is_named in zip(units, named, strict=True) if is_named]
        items = [text for text in inside if is_list_item(text) and not is_table_row(text)]
        labelled = label_table_rows(inside, passage.heading, whole)
        rows = [" — ".join(table_cells(unit)) if is_table_row(unit) else unit for unit in labelled]
        yield from (text for text in map(strip_list_mark, items or rows) if extract_terms(text))

    def _is_titled(self, heading: str) -> bool:
        """Return whether a heading is about the topic and hardly anything else: “Risks”, “Main risks”."""
        return self._is_named_in(heading) and len(frozenset(extract_terms(heading))) <= len(self._terms) + 2

    def _is_named_in(self, text: str) -> bool:
        """Return whether a text has all words of the topic, and its codes such as V8 as one word each."""
        return self._words <= frozenset(extract_terms(text)) and all(code.search(text) for code in self._codes)

    def _values(self, labelled: Sequence[str]) -> Iterator[str]:
        """Yield the values of table columns that are named like the topic."""
        for row in labelled:
            for cell in table_cells(row) if is_table_row(row) and not is_total_row(row) else ():
                name, _, value = cell.rpartition(": ")
                column = frozenset(extract_terms(name.rpartition(CAPTION_SEPARATOR)[2]))
                if column and column == self._terms and any(map(str.isalpha, value)):
                    yield value

    def _join_announced(
        self, units: Sequence[Unit], is_listed: Sequence[bool], paragraphs: Sequence[Sequence[str]]
    ) -> Iterator[str]:
        """Yield the units that are neither titles nor listed; one that announces a list of the topic with that list.

        The announcing sentence and each item or paragraph of the list are lines then.
        """
        following, at = list(paragraphs), 0
        while following:
            paragraph = following.pop(0)
            first, at = at, at + len(paragraph)
            last = at - 1
            is_lead = not any(is_listed[last : at + 1]) and self._announces(paragraph[-1])
            announced = _find_announced(paragraph[-1], following, units[at:]) if is_lead else []
            for unit, is_left_out in zip(units[first:at], is_listed[first:at], strict=True):
                if unit is units[last] and announced:
                    yield "\n".join(map(_join_line, [[unit.text], *announced]))
                elif not (unit.is_title or is_left_out):
                    yield unit.text
            del following[: len(announced)]
            at += sum(map(len, announced))

    def _announces(self, sentence: str) -> bool:
        """Return whether a sentence announces a list about the topic, which is no kind of value."""
        is_value = self._is_date or self._value_form is not None
        return bool(self._terms) and not is_value and announces_more(sentence) and self._states_topic(sentence)

    def _sentences(self, units: Sequence[str]) -> Iterator[str]:
        listed = 0  # the units before this one were yielded as a list
        for at, unit in enumerate(units):
            if at < listed:
                continue
            if self._value_form is not None:
                yield from (found[0] for found in self._value_form.finditer(_ACCOUNT_NUMBER.sub(" ", unit)))
            elif self._is_date:
                if states_date(unit):
                    yield strip_list_mark(unit)
            elif self._terms and ("\n" in unit or not is_heading(unit)) and self._states_topic(unit):
                if announces_more(unit) and (counted := list(takewhile(_COUNTED.match, units[at + 1 :]))):
                    yield from counted
                    listed = at + 1 + len(counted)
                    continue
                yield " — ".join(table_cells(unit)) if is_table_row(unit) else strip_list_mark(unit)

    def _states_topic(self, unit: str) -> bool:
        """Return whether a sentence has the words of the topic, or the verb of a noun: “decided” for “decisions”."""
        if self._is_named_in(unit):
            return True
        return bool(self._verb) and self._verb in extract_terms(_ADJECTIVE.sub("", unit))

    def _naming_by_surname(self, units: Sequence[str]) -> Iterator[str]:
        """Yield the sentences that name the person asked for by the surname alone."""
        person = self._person
        if person is not None:
            yield from (
                strip_list_mark(unit) for unit in units if person.is_named_in(unit) and not self._states_topic(unit)
            )


def _find_announced(lead: str, following: Sequence[Sequence[str]], units: Sequence[Unit]) -> list[Sequence[str]]:
    """Return the paragraphs that a sentence announces: all list items, or else as many as it counts, at least one.

    `units` are the sentences of the paragraphs that follow. No heading and no table row is among those found.
    """
    found: list[Sequence[str]] = []
    is_list = bool(following) and is_list_item(following[0][0])
    if not is_list and not lead.endswith((":", "：")):
        return []
    most = len(following) if is_list else _read_count(lead)
    at = 0
    for paragraph in following[:most]:
        first = paragraph[0]
        if units[at].is_title or is_table_row(first) or is_list_item(first) != is_list:
            break
        found.append(paragraph)
        at += len(paragraph)
    return found


def _read_count(lead: str) -> int:
    """Return how many things a sentence announces: 2 for “two kinds of filters:”; 1 if it does not say."""
    if korean := _KOREAN_COUNT.search(lead):
        return _KOREAN_COUNTS.index(korean[1]) + 2
    counts = _COUNT.findall(normalize_figures(lead))
    return int(counts[-1]) if counts else 1


def _join_line(paragraph: Sequence[str]) -> str:
    return " ".join(join_sentences([strip_list_mark(paragraph[0]), *paragraph[1:]]).split())


def _compile_code(code: str) -> re.Pattern[str]:
    """Return a pattern for a code; “GPT-4” may be “GPT 4”, “V8” may be “V-8”, and “10kg” may be “10 kg”."""
    gap = r"[-‐‑\s]?" if "-" in code or not code[0].isascii() or code[0].isdigit() else "[-‐‑]?"
    parts = gap.join(re.escape(part) for part in _CODE_PART.findall(code))
    return re.compile(rf"(?<![A-Za-z\d]){parts}s?(?![A-Za-z\d])(?!\.\d)", re.IGNORECASE)


def _singular_noun(topic: str) -> str:
    """Return the only content word of a topic without its plural: `decision` for `the decisions`; else nothing."""
    words = [word for word in topic.lower().split() if extract_terms(word)]
    return words[0].removesuffix("s") if len(words) == 1 else ""


@dataclass(frozen=True, slots=True)
class _Person:
    """A person asked for by first name and surname."""

    initial: str
    surname: re.Pattern[str]

    @classmethod
    def parse(cls, topic: str) -> _Person | None:
        """Return the person that a topic names, or None."""
        name = _PERSON.fullmatch(topic.strip())
        return cls(f"{name['first']}.", re.compile(rf"\b{re.escape(name['last'])}\b(?!\s[A-Z])")) if name else None

    def is_named_in(self, sentence: str) -> bool:
        """Return whether the surname stands alone, after a title or after the initial, and not after another name."""
        words_before = (sentence[: found.start()].split()[-1:] for found in self.surname.finditer(sentence))
        return any(not words or self._may_precede(words[0]) for words in words_before)

    def _may_precede(self, word: str) -> bool:
        is_name = word[0].isupper() and word[-1].isalnum() and bool(extract_terms(word))
        return word == self.initial or bool(_HONORIFIC.fullmatch(word)) or not (is_name or word[-1] == ".")
