"""Numbers in the cells of a column, in the notation that the column shows: 38,500, 1.234,5, (500), € 3.2M, 12 %."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from crag.text.patterns import lazy_regex

SCALES = {
    **dict.fromkeys(("k", "K", "thousand", "천", "千"), 1e3),
    **dict.fromkeys(("M", "mn", "mio", "Mio", "million", "백만", "百万", "百萬"), 1e6),
    **dict.fromkeys(("B", "bn", "Bn", "billion", "십억", "十亿", "十億"), 1e9),
    **dict.fromkeys(("만", "万", "萬"), 1e4),
    **dict.fromkeys(("억", "亿", "億"), 1e8),
    **dict.fromkeys(("조", "兆"), 1e12),
}
_CURRENCY = r"[$€£¥₩￥]|(?:USD|EUR|GBP|CHF|KRW|CNY|JPY|RMB|US\$|C\$|A\$)(?![A-Za-z])"
_NUMBER = lazy_regex(
    rf"(?P<before>{_CURRENCY})?\s?(?P<sign>[-−–+])?\s?(?P<money>{_CURRENCY})?\s?"
    r"(?P<digits>\d+(?:[.,'’ \u00a0\u202f]\d+)*)"
    r"\s?(?P<scale>thousand|million|billion|mn|bn|Bn|mio|Mio|백만|십억|百[万萬]|十[亿億]|[천만억조千万萬亿億兆]"
    r"|(?:(?<=\d)[kKMB](?![A-Za-z/])))?"
    r"\s?(?P<unit>[%°℃‰]|[€$£¥₩]|[^\W\d_][^\W_]{0,11}(?:[/·][^\W\d_]{1,6})?[²³]?(?: [a-z]{1,9})?)?\.?"
)
# Atomic: a long number that is none of these would otherwise be divided into parts in every way there is.
_PART = r"(?>\d[\d,]*(?:\.\d+)?\s?[십백천十百千]?[만억조万萬亿億兆]?)"
_COMPOUND = lazy_regex(rf"({_PART}(?:\s?{_PART})*+)\s?([^\W\d_]{{0,4}})")  # 3억 2,000만원, 5천만원, 1亿2000万元
_COMPOUND_PART = lazy_regex(r"(\d[\d,]*(?:\.\d+)?)\s?([십백천十百千]?)([만억조万萬亿億兆]?)")
_SMALL_SCALES = {"": 1.0, **dict.fromkeys("십十", 1e1), **dict.fromkeys("백百", 1e2), **dict.fromkeys("천千", 1e3)}
_OPEN = 1e8
_GROUPS = re.compile(r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*")
_COMMA_DECIMAL = re.compile(r"\d{1,3}(?:[. '’\u00a0\u202f]\d{3})*,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?")
_POINT_DECIMAL = re.compile(
    r"\d{1,3}(?:,\d{3})*\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3}){2,}(?:\.\d+)?|\d{1,3}(?:,\d{3})+\.\d+"
)


@dataclass(frozen=True, slots=True)
class CellNumber:
    """A number with the unit that its cell states: a currency, `%` or a word; may be empty."""

    value: float
    unit: str


def read_numbers(cells: Sequence[str]) -> list[CellNumber | None]:
    """Return the number in each cell of a column; None without one, or in another notation than the others."""
    compound = [_split_compound(cell) for cell in cells]
    matches = [None if parts else _match(cell) for cell, parts in zip(cells, compound, strict=True)]
    digits = [match["digits"] for match in matches if match]
    commas = sum(bool(_COMMA_DECIMAL.fullmatch(one)) for one in digits)
    points = sum(bool(_POINT_DECIMAL.fullmatch(one)) for one in digits)
    if commas and points:
        return [None] * len(cells)
    decimal = "," if commas else "."
    found = [match and _convert(match, cell, decimal) for cell, match in zip(cells, matches, strict=True)]
    return [_add_up(parts) if parts else one for parts, one in zip(compound, found, strict=True)]


def read_number(text: str) -> float | None:
    """Return the number that a text is, in the notation with a decimal point."""
    (found,) = read_numbers([text])
    return found.value if found else None


class _Part(NamedTuple):
    """A part of a compound number, as 5천만 of 1억 5천만원: its figure, its scales, and what follows it."""

    figure: float
    small: float
    large: float
    unit: str


def _split_compound(cell: str) -> list[_Part]:
    """Return the parts of a number that has several or two scales, as 3억 2,000만원 and 5천만원; none for others."""
    found = _COMPOUND.fullmatch(cell)
    if found is None:
        return []
    parts = [
        _Part(float(digits.replace(",", "")), _SMALL_SCALES[small], SCALES.get(large, 1.0), found[2])
        for digits, small, large in _COMPOUND_PART.findall(found[1])
    ]
    return parts if sum((part.small > 1) + (part.large > 1) for part in parts) > 1 else []


def _add_up(parts: Sequence[_Part]) -> CellNumber | None:
    """Return the number of parts that become smaller; None if it may be another, as 1억 5천 may be 1억 5천만."""
    factors = [part.small * part.large for part in parts]
    is_falling = all(before > after for before, after in pairwise(factors))
    is_open = any(before.large >= _OPEN and after.large == 1 for before, after in pairwise(parts))
    if is_open or not is_falling:
        return None
    return CellNumber(sum(part.figure * factor for part, factor in zip(parts, factors, strict=True)), parts[0].unit)


def _match(cell: str) -> re.Match[str] | None:
    bare = cell[1:-1].strip() if cell.startswith(("(", "（")) and cell.endswith((")", "）")) else cell
    return _NUMBER.fullmatch(bare)


def _convert(match: re.Match[str], cell: str, decimal: str) -> CellNumber | None:
    digits = match["digits"]
    if not _GROUPS.fullmatch(digits):
        return None
    grouping = "." if decimal == "," else ","
    whole, _, fraction = re.sub(r"[ \u00a0\u202f'’]", "", digits).partition(decimal)
    groups = whole.split(grouping)
    if any(len(group) != 3 for group in groups[1:]) or (len(groups[0]) > 3 < len(whole) and len(groups) > 1):
        return None
    if not (fraction or "0").isdigit():
        return None
    money = match["before"] or match["money"] or ""
    scale, unit = match["scale"] or "", match["unit"] or ""
    if money and unit == "m" and not scale:
        scale, unit = "M", ""
    value = float(f"{''.join(groups)}.{fraction or '0'}") * SCALES.get(scale, 1.0)
    is_negative = match["sign"] in ("-", "−", "–") or cell[0] in "(（"
    return CellNumber(-value if is_negative else value, money or unit)
