"""Headers of tables: the rows that name columns, with the periods, units and titles above them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from crag.text.patterns import MONTHS

CAPTION_SEPARATOR = " · "

_FIGURE_CELL = re.compile(
    r"[^\w]*\d[\d.,:%/+~\s-]*+[^\w]*+(?:[A-Za-z%]{1,12}(?: [a-z]{1,9}){0,2}|[가-힣\u4e00-\u9fff]{1,3})?"
)
_NO_VALUE = re.compile(r"[-–—]+|n\.?/?a\.?", re.IGNORECASE)  # in place of a figure
_PERIOD_CELL = re.compile(
    r"(?:19|20)\d\d(?:[/–-](?:\d\d){1,2}(?:-\d\d)?)?(?:[년年]?度?)?|\d{1,2}[월月]|\d분기|\d{1,2}차"
)  # names columns where there are several
_MONTHS = "|".join(["Sept", *(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS)])  # in full or abbreviated
_PERIOD = re.compile(
    rf"^(?:{_MONTHS})\.?(?: \d{{1,2}})?$|^\d{{1,2}}[월月]|"
    r"(?<![\d.,])(?:19|20)\d\d(?![\d.,]\d|\d)|\b(?:[QH][1-4]|FY ?\d\d)\b|[1-4]분기|第[一二三四]季度"
)
_UNIT = re.compile(
    r"^\(?in (?:(?-i:[A-Z]{2,3})|€|\$|£)|\b(?:in )?(?:thousands|millions|billions)\b|단위|單位|单位"
    r"|^\(?(?:[A-Z]{3} )?(?:000s?|[mb]n)\)?$",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[\d.,:\s]")
_MIN_COLUMNS = 3  # fewer may be labels and values
_MIN_ROWS = 2
_SENTENCE = re.compile(r"[.。;!?]$")
_MAX_CAPTION_LENGTH = 100  # characters; a longer line is a paragraph


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The names of the columns, each with what stands above it alone; `captions` stand above the whole table.

    `height` is the number of rows that say so.
    """

    names: tuple[str, ...]
    captions: tuple[str, ...] = ()
    height: int = 1

    @property
    def cells(self) -> tuple[str, ...]:
        """The names of the columns in one row, with the captions of the table before the first."""
        return (_join([*self.captions, self.names[0]]), *self.names[1:])

    def in_section(self, title: str) -> TableHeader:
        """Return the header of the rows below a period in the middle of the table."""
        kept = [caption for caption in self.captions if not names_period(caption)]
        return replace(self, captions=(*kept, title))


def find_header(rows: Sequence[Sequence[str]]) -> TableHeader | None:
    """Return the header with which the rows of a table begin: above figures, dates or codes, or above a rule."""
    if not rows:
        return None
    if find_figures(rows[0], is_first=True):
        return TableHeader(tuple(rows[0])) if _differs_from_rows(rows[0], rows[1:]) else None
    if is_caption(rows) and (below := find_header(rows[1:])):
        return _put_above(rows[0], below)
    is_header = any(_is_below(row, rows[0]) for row in rows[1:3]) or _differs_from_rows(rows[0], rows[1:])
    return TableHeader(tuple(rows[0])) if is_header else None


def is_caption(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row leaves open, or repeats, columns that the next row names, and has no figures."""
    if len(rows) < 3 or find_figures(rows[0], is_first=True) or find_figures(rows[1], is_first=True):
        return False
    first, names = _pad(rows[0], rows[1])
    if title := lone_cell(first):
        return is_short(title)
    are_periods = all(map(names_period, filter(None, first[1:])))
    corner = not names[0] or first[0] in ("", names[0]) or bool(_UNIT.search(first[0])) or are_periods
    open_names = [name for above, name in zip(first[1:], names[1:], strict=True) if name and not above]
    repeated = any(above and above == left for left, above in pairwise(first[1:]))
    repeated = repeated or (are_periods and len({*names[1:]}) < len(names[1:]))
    return corner and (bool(open_names) or repeated) and sum(map(bool, names)) > 1


def lone_cell(row: Sequence[str]) -> str:
    """Return the text of a row with a single filled cell; else nothing."""
    texts = [cell for cell in row if cell]
    return texts[0] if len(texts) == 1 else ""


def is_short(title: str) -> bool:
    """Return whether a line can be a caption rather than a sentence or a footnote."""
    return len(title) <= _MAX_CAPTION_LENGTH and not _SENTENCE.search(title)


def names_period(text: str) -> bool:
    """Return whether a text names a year, half-year or quarter, or is a month."""
    return bool(_PERIOD.search(text))


def names_unit(text: str) -> bool:
    """Return whether a text names the unit of figures, as in “in millions of CHF”."""
    return bool(_UNIT.search(text))


def is_figure(cell: str) -> bool:
    """Return whether a cell holds a figure, with a unit or without."""
    return bool(_FIGURE_CELL.fullmatch(cell))


def find_figures(cells: Sequence[str], *, is_first: bool = False) -> list[str]:
    """Return the cells that hold figures, or say that there is none.

    Periods that name columns are none: several of them, or a single one in the first row of a table if that row begins
    with a unit or an empty cell.
    """
    figures = [cell for cell in cells if _FIGURE_CELL.fullmatch(cell) or _NO_VALUE.fullmatch(cell)]
    periods = [cell for cell in figures if _PERIOD_CELL.fullmatch(cell)]
    single = is_first and bool(periods) and (not cells[0] or cells[0] in periods or names_unit(cells[0]))
    return [] if (len(set(periods)) > 1 or single) and periods == figures else figures


def _is_below(row: Sequence[str], header: Sequence[str]) -> bool:
    """Return whether a row shows that the one above is a header: a rule, or figures in as many cells."""
    is_rule = not re.search(r"\w", "".join(row))
    return is_rule or (len(row) == len(header) and bool(find_figures(row)))


def _differs_from_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a row has words where all the rows below have digits, and no figure in the unit of those below.

    So "Step, Planned, Now" stands above dates, and "Group, 1 visit, Month" above prices.
    """
    if len(header) < _MIN_COLUMNS or len(rows) < _MIN_ROWS or any(len(row) != len(header) for row in rows):
        return False
    columns = [(name, [row[at] for row in rows]) for at, name in enumerate(header)]
    is_figure_below = any(
        is_figure(name) and _DIGITS.sub("", name) in {_DIGITS.sub("", cell) for cell in cells}
        for name, cells in columns
    )
    return not is_figure_below and any(
        name and not re.search(r"\d", name) and all(re.search(r"\d", cell) for cell in cells) for name, cells in columns
    )


def _put_above(caption: Sequence[str], below: TableHeader) -> TableHeader:
    """Return the header with another row above its names: over the columns it spans, or over the whole table."""
    above, names = _pad(caption, below.names)
    header = replace(below, height=below.height + 1)
    if title := lone_cell(above):
        return replace(header, captions=(title, *below.captions))
    titles = list(dict.fromkeys(filter(None, above[1:])))
    spread = _spread(above, names)
    if not spread or (len(titles) == 1 and names_period(titles[0])):
        texts = dict.fromkeys([*titles, *below.captions])
        return replace(header, captions=tuple(texts), names=(_join([above[0], names[0]]), *names[1:]))
    return replace(header, names=tuple(_join(pair) for pair in zip(spread, names, strict=True)))


def _spread(above: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Return what stands above each column, where a title is written once above several; None if that is open."""
    columns = [at for at in range(1, len(names)) if names[at] or above[at]]
    titled = [at for at in columns if above[at]]
    repeated = any(above[at] == above[at + 1] for at in titled if at + 1 < len(above))
    if repeated or len(titled) == len(columns):
        return list(above)
    groups = [[at for _, at in group] for _, group in groupby(enumerate(columns), lambda pair: pair[1] - pair[0])]
    size, rest = divmod(len(columns), len(titled))
    shares = [] if rest else [columns[start : start + size] for start in range(0, len(columns), size)]
    for parts in (groups, shares, _split_at_repeated(names)) if len(titled) > 1 else ():
        owners = [[above[at] for at in part if above[at]] for part in parts]
        if all(len(owner) == 1 for owner in owners) and len(parts) == len(titled):
            found = {at: owner[0] for part, owner in zip(parts, owners, strict=True) for at in part}
            return [above[0], *(found.get(at, "") for at in range(1, len(names)))]
    if len(titled) > 1 and titled[0] != columns[0]:
        return None
    group = next(part for part in groups if titled[-1] in part)
    found = {at: above[max(one for one in titled if one <= at)] for at in columns if titled[0] <= at <= group[-1]}
    return [above[0], *(found.get(at, "") for at in range(1, len(names)))]


def _split_at_repeated(names: Sequence[str]) -> list[list[int]]:
    """Return the groups of columns that begin with the same name, as A, B, A, B, C has two."""
    first = next((at for at in range(1, len(names)) if names[at] and names[at] in names[at + 1 :]), len(names))
    starts = [at for at in range(first, len(names)) if names[at] == names[first]]
    return [list(range(start, end)) for start, end in pairwise([*starts, len(names)])]


def _pad(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], list[str]]:
    width = max(len(first), len(second))
    return [*first, *[""] * (width - len(first))], [*second, *[""] * (width - len(second))]


def _join(texts: Sequence[str]) -> str:
    return CAPTION_SEPARATOR.join(dict.fromkeys(filter(None, texts)))
