"""Numbers of a text, normalised so that they compare equal however they are written."""

from __future__ import annotations

import re
from decimal import Decimal

_NUMBER = re.compile(
    r"(?P<sign>(?:^|(?<=[\s(]))[-−])?(?P<digits>\d+(?:[.,]\d+)*)"
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|[천만억조千万萬亿億兆]))?",
    re.IGNORECASE,
)
_POWERS = {3: "thousand 천 千", 4: "만 万 萬", 6: "million", 8: "억 亿 億", 9: "billion", 12: "trillion 조 兆"}
_SCALES = {name: 10**power for power, names in _POWERS.items() for name in names.split()}
_PLAIN = re.compile(r"(?:(?:^|(?<=[\s(]))-)?\d+(?:\.\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WORDS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty"
)
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100}
_NUMBER_WORDS = {word: value for value, word in enumerate(_WORDS.split(), start=2)} | _TENS | {"dozen": 12}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_ONE = re.compile(r"\bone\b|一(?=[個个種种次位名])", re.IGNORECASE)
_CHINESE_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CHINESE_NUMBER = re.compile(
    r"(?!一[個个種种次位名])[零〇一二两兩三四五六七八九十百]{1,12}(?=[年月日號号個个名位次倍座條条種种人歲岁天週周屆届])"
)
MONTH_NAMES = "January February March April May June July August September October November December"
_MONTHS = {name.lower(): str(number) for number, name in enumerate(MONTH_NAMES.split(), start=1)}
_OTHER_MONTHS = MONTH_NAMES.replace("May ", "").replace(" ", "|")
_MONTH = re.compile(rf"\b({_OTHER_MONTHS}|(?<=\d )May|May(?= \d))\b")


def plain_figures(text: str) -> str:
    """Write every number of a text in plain digits: `1,284`, `2.5 million`, `3만`, `twelve`, `十二個`.

    Not `one`, which is rarely a count.
    """
    text = _NUMBER_WORD.sub(lambda match: str(_NUMBER_WORDS[match[0].lower()]), text)
    text = _CHINESE_NUMBER.sub(lambda match: _chinese_value(match[0]), text)
    return _NUMBER.sub(_plain, text)


def figures(text: str) -> frozenset[str]:
    """Return the numbers of a text in plain digits."""
    return frozenset(_PLAIN.findall(plain_figures(text)))


def allowed_figures(text: str) -> frozenset[str]:
    """Return the numbers that an answer may state from a text: its figures, and 1 where the text says one."""
    return figures(text) | ({"1"} if _ONE.search(text) else set())


def months(text: str) -> frozenset[str]:
    """Return the numbers of the months that a text names in English; `may` counts only next to a number."""
    return frozenset(_MONTHS[name.lower()] for name in _MONTH.findall(text))


def _plain(match: re.Match[str]) -> str:
    digits, scale = match["digits"], _SCALES.get((match["scale"] or "").lower(), 1)
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    parts = [digits.replace(",", ".")] if len(re.findall("[.,]", digits)) < 2 else re.split("[.,]", digits)
    values = " ".join(f"{(Decimal(part) * scale).normalize():f}" for part in parts)
    return f"-{values}" if match["sign"] else values


def _chinese_value(digits: str) -> str:
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
