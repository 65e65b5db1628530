"""Figures: the numbers of a text in plain digits, however they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from crag.text.patterns import lazy_regex

_NUMBER = lazy_regex(
    r"(?P<sign>(?:^|(?<=[\s(]))[-−])?(?P<digits>\d+(?:[.,]\d+)*)"
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|[천만억조千万萬亿億兆]))?",
    re.IGNORECASE,
)
_POWERS = {3: "thousand 천 千", 4: "만 万 萬", 6: "million", 8: "억 亿 億", 9: "billion", 12: "trillion 조 兆"}
_SCALES = {name: power for power, names in _POWERS.items() for name in names.split()}
_PLAIN_NUMBER = lazy_regex(r"(?:(?:^|(?<=[\s(]))-)?\d+(?:\.\d+)?")
_GROUPED_NUMBER = lazy_regex(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_SMALL_NUMBER_WORDS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty"
)
_TENS_WORDS = {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
}
_NUMBER_WORDS = (
    {word: value for value, word in enumerate(_SMALL_NUMBER_WORDS.split(), start=2)} | _TENS_WORDS | {"dozen": 12}
)
_NUMBER_WORD = lazy_regex(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_WORD_ONE = lazy_regex(r"\bone\b|一(?=[個个種种次位名])", re.IGNORECASE)
_CHINESE_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CHINESE_NUMBER = lazy_regex(
    r"(?!一[個个種种次位名])[零〇一二两兩三四五六七八九十百]{1,12}(?=[年月日號号個个名位次倍座條条種种人歲岁天週周屆届])"
)
_UNIT = lazy_regex(  # the word after a number, or of unspaced scripts the first sign, as far as that is unambiguous
    r"[\s-]?(?P<unit>[%°℃]|개월|시간|[公小個个千毫平分][㐀-鿿가-힣]|[㐀-鿿가-힣]|[^\W\d_㐀-鿿가-힣]+)"
)
_APPROXIMATE = lazy_regex(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|some|circa|ca?\.)|[약約约近]|대략)\s?[$€£¥₩]?$",
    re.IGNORECASE,
)
_COUNTED = (
    r"(?:\s(?:years?|months?|weeks?|days?|hours?|minutes?|euros?|pounds?|dollars?|percent|met(?:er|re)s?|miles?|km|kg)\b"
    r"|\s?(?:개월|시간|[개명원권층대살세회번점㎡元天個个名位次座歲岁]))?"
)
_STATED_NUMBER = lazy_regex(
    r"(?<![\w.,:/-])[$€£¥₩]?\d+(?:[.,]\d+)*(?:\s?(?:%|thousand|million|billion|trillion)|[천만억조千万萬亿億兆]+)?"
    rf"(?![\d/:-]|[.,]\d|[a-z]|[년월일年月日]){_COUNTED}|{_NUMBER_WORD.pattern}{_COUNTED}"
    r"|\bone (?:years?|months?|weeks?|days?|hours?|minutes?)\b",
    re.IGNORECASE,
)
_MAX_BEFORE, _MAX_UNIT = 20, 30  # characters


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with the exponent of its last digit and its unit: the sign before it or the word after it.

    `unit` is None if the number is approximate.
    """

    amount: Decimal
    unit: str | None

    def agrees_with(self, other: Figure) -> bool | None:
        """Return whether both are the same, rounded like the coarser; None if they differ and so may their units."""
        last_digit = max(int(amount.as_tuple().exponent) for amount in (self.amount, other.amount))
        if abs(self.amount - other.amount) <= Decimal(5).scaleb(last_digit - 1):
            return True
        return False if self.unit == other.unit is not None else None


def find_figures(text: str) -> list[Figure]:
    """Return the numbers in digits, and Chinese numerals before a unit, with their units, in order."""
    text = normalize_chinese_numbers(text)
    figures = []
    for match in _NUMBER.finditer(text):
        before = text[max(0, match.start() - _MAX_BEFORE) : match.start()]
        unit = _find_unit(before, text[match.end() : match.end() + _MAX_UNIT])
        figures += [Figure(amount, unit) for amount in _parse_amounts(match)]
    return figures


def find_figure_spans(text: str) -> list[tuple[int, int]]:
    """Return where a text states numbers, with usual units: `$1.2 million`, `5%`, `twelve days`, not `19th`."""
    return [match.span() for match in _STATED_NUMBER.finditer(text)]


def _find_unit(before: str, after: str) -> str | None:
    if _APPROXIMATE.search(before):
        return None
    if before.endswith(("$", "€", "£", "¥", "₩")):
        return before[-1]
    match = _UNIT.match(after)
    return match["unit"].lower().removesuffix("s") if match else ""


def normalize_figures(text: str) -> str:
    """Write every number of a text in plain digits: `1,284`, `2.5 million`, `3만`, `twelve`, `十二個`.

    Not `one`, which is rarely a count.
    """
    return _NUMBER.sub(_normalize_number, normalize_chinese_numbers(_replace_number_words(text)))


def _replace_number_words(text: str) -> str:
    return _NUMBER_WORD.sub(lambda match: str(_NUMBER_WORDS[match[0].lower()]), text)


def normalize_quantity(quantity: str) -> str:
    """Write the words for numbers in a quantity as digits, also *one*: "one month"."""
    return _WORD_ONE.sub("1", _replace_number_words(quantity))


def normalize_chinese_numbers(text: str) -> str:
    """Write the Chinese numerals before a unit in plain digits: `十二個`, `一九七五年四月`."""
    return _CHINESE_NUMBER.sub(lambda match: _parse_chinese_number(match[0]), text)


def extract_figures(text: str) -> frozenset[str]:
    """Return the numbers of a text in plain digits."""
    return frozenset(_PLAIN_NUMBER.findall(normalize_figures(text)))


def allowed_figures(text: str) -> frozenset[str]:
    """Return the numbers that an answer may state from a text: its figures, and 1 where the text says one."""
    return extract_figures(text) | ({"1"} if _WORD_ONE.search(text) else set())


def _normalize_number(match: re.Match[str]) -> str:
    values = " ".join(f"{amount.normalize():f}" for amount in _parse_amounts(match))
    return f"-{values}" if match["sign"] else values


def _parse_amounts(match: re.Match[str]) -> list[Decimal]:
    """Return the amounts of a number with the exponent of the last digit stated; of 1.2.3 there are three."""
    digits, power = match["digits"], _SCALES.get((match["scale"] or "").lower(), 0)
    if _GROUPED_NUMBER.fullmatch(digits):
        digits = digits.replace(",", "")
    parts = [digits.replace(",", ".")] if len(re.findall("[.,]", digits)) < 2 else re.split("[.,]", digits)
    return [Decimal(part).scaleb(power) for part in parts]


def _parse_chinese_number(digits: str) -> str:
    """Convert a Chinese numeral to digits: `十二` is 12, `二百三十` 230, `一九九八` 1998."""
    if not re.search("[十百]", digits):
        return str(int("".join(str(_CHINESE_DIGITS[sign]) for sign in digits)))
    total = digit = 0
    for sign in digits:
        if sign in "十百":
            total += (digit or 1) * (10 if sign == "十" else 100)
            digit = 0
        else:
            digit = _CHINESE_DIGITS[sign]
    return str(total + digit)
