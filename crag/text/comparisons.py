"""Comparisons of two things by one value: "Which is cheaper, A or B?", "How much more does A cost than B?".

Each thing is asked about by itself; where both values are certain and in the same unit, their difference is stated.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from crag.text import korean
from crag.text.figures import Figure, find_figures, normalize_quantity
from crag.text.language import detect_language, detect_written_language, extract_terms, split_sentences
from crag.text.patterns import lazy_regex

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_OPEN = lazy_regex(
    r"\b(?:which|what|who|it|they|them|this|that|these|those|both|one|other)\b|어느|어떤|哪|[它他她这這那]",
    re.IGNORECASE,
)
_ARTICLE = lazy_regex(r"^(?:the|an?|our|your|my) ", re.IGNORECASE)
_PLURAL = lazy_regex(r"[^s]s$|\band\b", re.IGNORECASE)
_QUANTITY = lazy_regex(
    r"(?P<sign>[$€£¥₩]\s?)?(?<![\dA-Za-z.,:/-])(?P<digits>\d++(?:[.,]\d++)*+)(?P<scale>\s?[천만억千万萬亿億])?"
    r"(?!\s?(?:thousand|million|billion|trillion|bn|mn)\b)"
    r"(?(sign)|(?P<unit>[\s-]?(?:公斤|千克|公里|厘米|千米|分[钟鐘]|小[时時]|[个個]月|개월|시간|킬로그램|센티미터|킬로미터|미터"
    r"|유로|달러|[가-힣]|[\u4e00-\u9fff]|[A-Za-z]+))?)"
)
_BOUND_BEFORE = lazy_regex(
    r"\b(?:from|up to|at (?:least|most)|(?:more|less|fewer) than|over|under|between|or|to|until)\s$"
    r"|(?:최소|최대|약|대략|至少|最多|最少|超[过過]|不到|起[码碼]|[约約从從]|\d\s?[천만억千万萬亿億])\s?$",
    re.IGNORECASE,
)
_BOUND_AFTER = lazy_regex(
    r"\s?(?:or (?:more|less)|to \d|[-–~]\s?\d"
    r"|이상|이하|부터|까지|정도|안팎|미만|초과|以上|以下|左右|起|以[内內]|[到至]\d)",
    re.IGNORECASE,
)
_RATE = lazy_regex(  # "£15 a month", "monthly"
    r"(?:\b(?:an?|per|each|every) |/ ?)(?:hour|day|night|week|month|quarter|year|person|head|child|adult|piece|kilo|kg"
    r"|pair|visit|session|lesson|met(?:er|re)|lit(?:er|re))\w*"
    r"|\b(?:hourly|daily|nightly|weekly|monthly|quarterly|yearly|annual)"
    r"|매[월년주일]|한 ?(?:달|해|시간|주)|[가-힣]당(?= )|[가-힣]마다|[연월](?=간)|[每/] ?一?[\u4e00-\u9fff]",
    re.IGNORECASE,
)
_APPROXIMATION_LENGTH = 20  # characters before a figure: "approximately "
_TRADITIONAL = str.maketrans("钱长时间", "錢長時間")
_POWERS = {"천": 3, "千": 3, "만": 4, "万": 4, "萬": 4, "억": 8, "亿": 8, "億": 8}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things as the question names them, a question for the value of each, and which units it may have."""

    names: tuple[str, str]
    questions: tuple[str, str]
    units: str

    def find_difference(self, answers: tuple[str, str]) -> Difference | None:
        """Return how the values in the answers to both questions differ.

        None unless each answer has one value alone of its thing, both in the same unit.
        """
        first, second = (self._find_value(at, answer) for at, answer in enumerate(answers))
        if first is None or second is None or (first.figure.unit, first.rate) != (second.figure.unit, second.rate):
            return None
        if first.figure.amount == second.figure.amount:
            return Difference((first.text, second.text), None, "")
        larger = int(second.figure.amount > first.figure.amount)
        amount = abs(first.figure.amount - second.figure.amount)
        finer = max((first, second), key=lambda value: value.precision)
        return Difference((first.text, second.text), larger, finer.write(amount))

    def is_about(self, at: int, answer: str) -> bool:
        """Return whether an answer names one of both things."""
        return any(True for _ in self._find_statements(at, answer))

    def _find_value(self, at: int, answer: str) -> _Value | None:
        found: dict[Figure, _Value] = {}
        for said in self._find_statements(at, answer):
            for quantity in _QUANTITY.finditer(normalize_quantity(said)):
                before = quantity.string[: quantity.start()]
                *_, figure = find_figures(before[-_APPROXIMATION_LENGTH:] + quantity[0])
                if _BOUND_BEFORE.search(before) or _BOUND_AFTER.match(quantity.string, quantity.end()):
                    return None
                if re.fullmatch(_unit(self.units), figure.unit or "", re.IGNORECASE):
                    found.setdefault(figure, _Value(figure, quantity, _find_rate(quantity)))
        return next(iter(found.values())) if len(found) == 1 else None

    def _find_statements(self, at: int, answer: str) -> Iterable[str]:
        """Yield the sentences that name one thing, each up to where it goes on about the other."""
        for sentence in split_sentences(answer):
            own, other = (_find_name(_ARTICLE.sub("", name), sentence) for name in (self.names[at], self.names[1 - at]))
            if own >= 0:
                yield sentence[own:other] if other > own else sentence[own:] if other >= 0 else sentence


@dataclass(frozen=True, slots=True)
class Difference:
    """The values of two things as written, in the order of the question, and by how much `larger` has more.

    `larger` is the place of the larger value; None if both are the same, and `amount` is empty then.
    """

    values: tuple[str, str]
    larger: int | None
    amount: str


@dataclass(frozen=True, slots=True)
class _Value:
    figure: Figure
    match: re.Match[str]
    rate: frozenset[str]

    @property
    def text(self) -> str:
        return self.match[0].strip()

    @property
    def precision(self) -> int:
        """Return how fine the last digit is: 2 of £8.50, -4 of 3만 원."""
        return len(self.match["digits"].partition(".")[2]) - self._power

    @property
    def _power(self) -> int:
        return _POWERS[self.match["scale"].strip()] if self.match["scale"] else 0

    def write(self, amount: Decimal) -> str:
        """Return an amount in the form of this value: £24.50, 5 kg, 3만 원."""
        scaled, digits = amount.scaleb(-self._power), self.match["digits"]
        written = f"{scaled:,.{max(self.precision + self._power, 0)}f}"
        written = written if "," in digits or scaled >= 10_000 else written.replace(",", "")
        return f"{self.match['sign'] or ''}{written}{self.match['scale'] or ''}{self.match['unit'] or ''}".strip()


def _find_rate(quantity: re.Match[str]) -> frozenset[str]:
    """Return the words for what a figure is of, such as "a month"; before it, "A day pass" is a name."""
    found = (
        rate[0].lower()
        for rate in _RATE.finditer(quantity.string)
        if rate.start() > quantity.start() or not rate[0].lower().startswith(("a ", "an "))
    )
    return frozenset(found)


@cache
def _forms(language: str) -> list[re.Pattern[str]]:
    forms = _TABLES["forms"][language]
    for name, part in _TABLES["parts"].items():
        forms = [form.replace(f"{{{name}}}", part) for form in forms]
    return [re.compile(form, re.IGNORECASE) for form in forms]


def _unit(name: str) -> str:
    unit: str = _TABLES["units"][name]
    return re.sub(r"\{([a-z]+)\}", lambda part: _TABLES["units"][part[1]], unit)


def parse_comparison(question: str) -> Comparison | None:
    """Return what a question compares by one value; None if it compares nothing, or in another way."""
    language = detect_language(question)
    found = next((match for form in _forms(language) if (match := form.match(question.strip()))), None)
    if found is None:
        return None
    named = found["first"].strip(), found["second"].strip()
    first, second = (_ARTICLE.sub("", name) for name in named)
    if _OPEN.search(f"{first} {second}") or not (extract_terms(first) and extract_terms(second)) or first == second:
        return None
    given = found.groupdict()
    asked = f"{given['asked'] or ''} {given.get('verb') or ''}"
    for measure in _TABLES["measures"][language]:
        if wanted := re.search(measure["asked"], asked, re.IGNORECASE):
            noun = wanted.groupdict().get("noun") or ""
            one, other = (_ask_value(measure["question"], name, noun) for name in named)
            return Comparison(named, (one, other), measure["units"])
    return None


def _ask_value(form: str, name: str, noun: str) -> str:
    is_plural = bool(_PLURAL.search(name))
    verbs = {"is": "are" if is_plural else "is", "does": "do" if is_plural else "does"}
    topics = ("은" if korean.ends_in_consonant(word) else "는" for word in (name, noun))
    if detect_written_language(name + noun) == "zh-Hant":
        form = form.translate(_TRADITIONAL)
    return form.format(name=name, noun=noun, **verbs, **dict(zip(("topic", "noun_topic"), topics, strict=True)))


def _find_name(name: str, sentence: str) -> int:
    """Return where a sentence names something, its words perhaps in another order; -1 if it does not."""
    if (at := sentence.casefold().find(name.casefold())) >= 0:
        return at
    if detect_language(name) != "en":
        found = re.search(re.escape(name.replace(" ", "")), sentence.replace(" ", ""))
        return 0 if found else -1
    return 0 if set(extract_terms(name)) <= set(extract_terms(sentence)) else -1
