"""Conditions on numbers, as in “more than 3 million”: read from a question, and written as SQL for a column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from crag.tables.cell_numbers import SCALES, read_number
from crag.tables.data_table import TableColumn
from crag.tables.wording import WORDS

_UNITS = (
    r"euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?|won|yuan|percent|people|days?|hours?|kg|km|m²|units?|pieces?"
    r"|[%€$£㎡]|[원명개건일시점대세]|[分岁歲]|[元圆人个個件台天名%]"
)
_SCALE = r"thousand|million|billion|백만|십억|[천만억조千万萬亿億]|[kM](?![a-z])"
_NUMBER = rf"[$€£¥₩]?\s?((?<!\d)\d[\d,]*+(?:\.\d++)?|(?<=than )half)\s?({_SCALE})?\s?(?:(?:{_UNITS})(?![a-z]))?"
YEAR_RANGE = range(1900, 2101)
_HAS_ENGLISH_WORD = re.compile("[a-z]{2}")
_DIGIT = re.compile(r"\d")


@cache
def _comparison_forms(*, is_ascii: bool, has_digit: bool) -> list[tuple[str, re.Pattern[str]]]:
    """Return the forms that such a question can have: English ones if it is ASCII, without numbers if it has none."""
    return [
        (sign, re.compile(form.replace("#", _NUMBER), re.IGNORECASE))
        for sign, forms in WORDS["comparisons"].items()
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
    """Return the conditions on numbers in a question; a range of two years is a period instead."""
    found: list[Comparison] = []
    forms = _comparison_forms(is_ascii=question.isascii(), has_digit=bool(_DIGIT.search(question)))
    for sign, form in forms:
        for match in form.finditer(question):
            if any(one.start < match.end() and match.start() < one.end for one in found):
                continue
            texts = [(match[at] or "", match[at + 1] or "") for at in range(1, form.groups + 1, 2)]
            pairs = [(50.0 if text.lower() == "half" else read_number(text), scale) for text, scale in texts]
            numbers = tuple((value, scale) for value, scale in pairs if value is not None)
            years = all(not scale and value in YEAR_RANGE for value, scale in numbers)
            if len(numbers) == len(pairs) and not (sign == "between" and years):
                found.append(Comparison(sign, numbers, match.start(), match.end()))
    return found


def write_comparison(column: TableColumn, comparison: Comparison) -> str:
    """Return the condition as SQL."""
    if comparison.sign == "< 0":
        return f"{column.quoted} < 0"
    numbers = [f"{number:.12g}" for number in sorted(scale_numbers(column, comparison))]
    if comparison.sign == "between":
        return f"{column.quoted} BETWEEN {numbers[0]} AND {numbers[1]}"
    return f"{column.quoted} {comparison.sign} {numbers[0]}"


def scale_numbers(column: TableColumn, comparison: Comparison) -> list[float]:
    """Return the numbers of a comparison in the unit of the column."""
    scales = [scale for _, scale in comparison.numbers]
    return [_rescale(value, scale or scales[-1], column.unit) for value, scale in comparison.numbers]


def _rescale(value: float, scale: str, unit: str) -> float:
    """Return a number in the unit of a column, as 50 for 500,000 won in a column of 만원."""
    factor = SCALES.get(scale, SCALES.get(scale.lower(), 1.0))
    own = next((SCALES[name] for name in SCALES if len(name) > 1 and name in unit.lower()), None)
    own = own or next((SCALES[name] for name in SCALES if not name.isascii() and name in unit), 1.0)
    return value * factor / own if scale else value
