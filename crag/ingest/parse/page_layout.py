"""Layout of a PDF page: lines, columns, reading order, headings and paragraphs."""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from crag.ingest.parse.document import Block
from crag.text.language import HAN_KANA_RANGES, detect_language, is_cjk, is_labelled_line
from crag.text.patterns import lazy_regex

_HYPHENATED = lazy_regex("(?<![^\\W\\d_])([^\\W\\d_]++)(?:[\ufffe\x02\u00ad]\\s*+|-\n)([^\\W\\d_]++)")
_WORD = lazy_regex(r"[^\W\d_]++(?:-[^\W\d_]++)*+")
_CJK_CHARACTER = f"[{HAN_KANA_RANGES}\u3000-\u303f\uff00-\uffef]"
_CJK_SPACES = lazy_regex(f"(?<={_CJK_CHARACTER}) +(?={_CJK_CHARACTER})")
_HANGUL_BREAK = lazy_regex("(?<![가-힣])([가-힣]++)\n(?=([가-힣]++))")
_SPACE_BEFORE_END = lazy_regex(r"\n(?=[.,!?)\]」』’”](?:\s|$))")
_KOREAN_UNIT_BREAK = lazy_regex(r"(?<=\d)\n(?=(?:년|월|일|원|명|개|층|호|조|항|회|세|시|분)(?![가-힣]{3}))")
_KOREAN_PARTICLE = lazy_regex(
    "은|는|을|를|의|에|에서|에게|으로|로|와|과|까지|부터|에는|에서는|으로는|이다|입니다|습니다|니다"
    "|에도|에서도|까지는|부터는|이며|이고|이나|으며|으면|었다|았다|였다|었으며|았으며|였으며|라고|이라고"
)
_KOREAN_WORD_END = lazy_regex(
    "(?:은|는|이|가|을|를|의|에|로|와|과|도|만|서|고|며|면|여|지|게|한|된|할|될|던|및|또는|등|까지|부터|하는|거나|라|자|해|[가-힣]다)$"
)
_BULLET = lazy_regex(r"(?:[•‣▪●◦–—*-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s")
_SENTENCE_END = lazy_regex(r"[.!?:;。！？]['\"”’)\]]*$")
_MAX_HEADING_CHARACTERS = 150
_LINES_AROUND = 4
_HEADING_SIZE = 1.15  # share of the letter size of the text, above which a line is a heading
_NOTE_SIZE = 0.8  # share of the letter size of the text, below which a line is a note
_MIN_REPEATED_PAGES = 3  # pages
_MAX_RUNNING_LINES = 4  # at the top and at the bottom of a page
_MAX_RUNNING_LENGTH = 500  # characters; comparing a line takes memory for each of its numbers
_MAX_RUNNING_DISTANCE = 1.6  # in line heights, to the next line of a running header
_NUMBER = lazy_regex(r"\d+")
_COUNTED_PAGE = lazy_regex(  # in a pattern, "Page 1 of 2" on the first page and so on: two such pages are enough
    r"\b(?:page|seite|p\.?) ?#1#|#1# ?(?:/|of|von) ?\d+$|第 ?#1# ?[页頁]|#1# ?(?:쪽|페이지)"
)
_MAX_PAGE_NUMBER_DIGITS = 9  # page numbers are never longer

HeadingLevels = dict[str, int]  # heading levels by normalized heading text


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a page, one cell of it, or a row of a ruled table with its `cells`.

    Lengths are in points, `bottom` from the lower edge of the page.
    """

    text: str
    left: float
    bottom: float
    height: float
    right: float
    is_row: bool = False
    cells: tuple[str, ...] = ()


def normalize_heading(title: str) -> str:
    """Return a heading in comparable form: case-folded letters only, without its number."""
    return "".join(character for character in title.casefold() if character.isalpha())


def remove_running_headers(pages: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
    """Remove headers and footers: lines that repeat at the top or bottom of many pages, of which there may be several.

    Numbers that count up with the pages are ignored in the comparison. Other differing numbers carry meaning: bound
    invoices have their own in the place of a running header.
    """
    left, running = [list(page) for page in pages], [list[TextLine]() for _ in pages]
    for _ in range(_MAX_RUNNING_LINES):
        edges = [
            [line for line in _edge_lines(page) if not any(running) or _is_beside(line, known)]
            for page, known in zip(left, running, strict=True)
        ]
        found = _find_repeated(edges)
        if not any(found):
            break
        running = [[*known, *new] for known, new in zip(running, found, strict=True)]
        left = [[line for line in page if line not in known] for page, known in zip(left, running, strict=True)]
    return left


def _find_repeated(edges: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
    """Return the lines of each page that recur on many pages."""
    patterns = [[(line, _header_patterns(line, number)) for line in page] for number, page in enumerate(edges)]
    counts = Counter(pattern for page in patterns for pattern in {one for _, each in page for one in each})
    least = max(_MIN_REPEATED_PAGES, 0.4 * len(edges))
    repeated = {
        pattern for pattern, count in counts.items() if count >= least or (count > 1 and _COUNTED_PAGE.search(pattern))
    }
    return [[line for line, each in page if each & repeated] for page in patterns]


def _is_beside(line: TextLine, others: Sequence[TextLine]) -> bool:
    return any(abs(line.bottom - other.bottom) <= _MAX_RUNNING_DISTANCE * line.height for other in others)


def _edge_lines(page: Sequence[TextLine]) -> list[TextLine]:
    """Return the highest and the lowest line, unless it is too long for a header or a row of a table.

    The names of columns repeat, too.
    """
    edges = [min(page, key=_line_bottom), max(page, key=_line_bottom)] if page else []
    return [line for line in edges if not line.cells and len(line.text) <= _MAX_RUNNING_LENGTH]


def _line_bottom(line: TextLine) -> float:
    return line.bottom


def _header_patterns(line: TextLine, page: int) -> set[str]:
    """Return the text itself, and a variant per number with that number as its offset from the page index."""
    text = line.text.casefold().strip()
    found = [number for number in _NUMBER.finditer(text) if len(number[0]) <= _MAX_PAGE_NUMBER_DIGITS]
    return {text} | {f"{text[: one.start()]}#{int(one[0]) - page}#{text[one.end() :]}" for one in found}


def build_paragraphs(
    lines: Sequence[TextLine], page: int, body: float, words: set[str], levels: HeadingLevels
) -> Iterator[Block]:
    """Yield the blocks of a page.

    `body` is the main text size in points, `words` the words of the document, `levels` its known headings.
    """
    lines = _move_column_notes(lines, body)
    leadings = [before.bottom - line.bottom for before, line in pairwise(lines)]
    usual = statistics.median([leading for leading in leadings if leading > 1] or [body])
    start = 0
    for end in range(1, len(lines) + 1):
        if (
            end == len(lines)
            or _starts_paragraph(lines[end - 1], lines[end], usual, levels)
            or (_is_item(lines[start]) and _ends_early(lines, end - 1))
            or _ends_heading(lines, end - 1, body)
        ):
            yield _paragraph_block(lines[start:end], page, body, words, levels)
            start = end


def _move_column_notes(lines: Sequence[TextLine], body: float) -> list[TextLine]:
    """Move notes at the foot of a column to the end of the page if they interrupt a sentence of the text."""
    kept, notes, foot = list[TextLine](), list[TextLine](), list[TextLine]()
    for line in lines:
        if kept and line.bottom < (foot or kept)[-1].bottom and not line.is_row and line.height < _NOTE_SIZE * body:
            foot.append(line)
            continue
        (notes if foot and _interrupts(foot, kept[-1], line) else kept).extend(foot)
        foot = []
        kept.append(line)
    return [*kept, *foot, *notes]


def _interrupts(notes: Sequence[TextLine], before: TextLine, after: TextLine) -> bool:
    """Return whether a sentence continues in the next column, past notes with a margin of their own."""
    return (
        not _SENTENCE_END.search(before.text)
        and abs(before.height - after.height) < (1 - _NOTE_SIZE) * before.height
        and after.left > max(before.right, *(line.right for line in notes))
        and after.bottom > before.bottom
        and notes[0].left - before.left < before.height
        and min(line.right - line.left for line in (before, after)) > _MIN_COLUMN_WIDTH * before.height
    )


def _is_item(line: TextLine) -> bool:
    return bool(_BULLET.match(line.text)) or is_labelled_line(line.text)


def _ends_early(lines: Sequence[TextLine], at: int) -> bool:
    """Return whether the next line's first word would have fitted on a line, as wide as the widest lines around it."""
    line, after = lines[at], lines[at + 1]
    rights = sorted(near.right for near in lines[max(0, at - _LINES_AROUND) : at + _LINES_AROUND])
    letter = (after.right - after.left) / max(1, len(after.text))
    return line.right + letter * (2 + len(after.text.split()[0])) < rights[-2]


def _ends_heading(lines: Sequence[TextLine], at: int, body: float) -> bool:
    """Return whether a heading ends here that is as near to the text below as the lines of the text are."""
    line, after = lines[at], lines[at + 1]
    return (
        line.height > _HEADING_SIZE * max(body, after.height)
        and not _SENTENCE_END.search(line.text)
        and not after.text[0].islower()
        and _ends_early(lines, at)
    )


def _starts_paragraph(before: TextLine, line: TextLine, usual: float, levels: HeadingLevels) -> bool:
    """Return whether `line` begins a paragraph: by distance, letter size, bullet, label or indentation."""
    if (
        before.is_row
        or line.is_row
        or (levels and not levels.keys().isdisjoint(map(normalize_heading, (before.text, line.text))))
    ):
        return True
    if _is_item(line) or abs(line.height - before.height) > 0.2 * max(line.height, before.height):
        return True
    leading = before.bottom - line.bottom
    if leading < 0:  # the next column, where a sentence may continue
        return bool(_SENTENCE_END.search(before.text))
    merged = 1 + before.text.count("\ufffe")  # hyphenated lines arrive joined to the next one
    if leading > 1.35 * max(usual, line.height) * merged:  # headings have larger line spacing
        return True
    return line.left > before.left + 0.5 * line.height and bool(_SENTENCE_END.search(before.text))


def _paragraph_block(
    lines: Sequence[TextLine], page: int, body: float, words: set[str], levels: HeadingLevels
) -> Block:
    if lines[0].is_row:
        return Block(lines[0].text, "row", page)
    text = join_lines([line.text for line in lines], words, is_flush=_is_flush(lines))
    if levels and (level := levels.get(normalize_heading(text))):
        return Block(text, "heading", page, level)
    size = lines[0].height / body if body else 1
    if (
        size > _HEADING_SIZE
        and len(text) <= _MAX_HEADING_CHARACTERS
        and not _SENTENCE_END.search(text)
        and re.search(r"[^\W\d_]{2}", text)
    ):
        return Block(text, "heading", page, 1 if size > 1.6 else 2 if size > 1.3 else 3)
    return plain_block(text, page)


def plain_block(text: str, page: int) -> Block:
    """Return a list item if the text starts with a bullet, else a paragraph."""
    return Block(text, "item" if _BULLET.match(text) else "paragraph", page)


def _is_flush(lines: Sequence[TextLine]) -> bool:
    """Return whether all lines but the last end at the same margin: justified, or wrapped after any character."""
    ends = [line.right for line in lines[:-1]]
    return len(ends) > 1 and max(ends) - min(ends) < lines[0].height


def join_lines(lines: Sequence[str], words: set[str], *, is_flush: bool = False) -> str:
    """Join the lines of one paragraph. `is_flush` tells that they end at the same margin."""
    text = _rejoin_hyphenated_words("\n".join(line.strip() for line in lines), words)
    text = _SPACE_BEFORE_END.sub("", text)
    text = _HANGUL_BREAK.sub(lambda found: _join_korean(found, words, is_flush=is_flush), text)
    is_spaced = detect_language(text) == "ko" or not is_cjk(text)
    return _remove_cjk_spaces(_KOREAN_UNIT_BREAK.sub("", text).replace("\n", " " if is_spaced else ""))


def _join_korean(line_break: re.Match[str], words: set[str], *, is_flush: bool) -> str:
    """Join two Korean lines with a space, or without one where the break is probably inside a word.

    It is if the document has the whole word elsewhere, or the second line begins with a particle. Lines that end at the
    same margin may be wrapped after any character: there only a particle or ending before the break suggests a space.
    """
    left, right = line_break.groups()
    inside = (left + right).lower() in words or bool(_KOREAN_PARTICLE.fullmatch(right))
    if is_flush and not inside:
        inside = not _KOREAN_WORD_END.search(left)
    return left if inside else f"{left} "


def _remove_cjk_spaces(text: str) -> str:
    """Remove the spaces that some programs write after every Chinese or Japanese character."""
    spaced = len(_CJK_SPACES.findall(text))
    return _CJK_SPACES.sub("", text) if 2 * spaced > len(re.findall(f"[{HAN_KANA_RANGES}]", text)) else text


def collect_words(lines: Iterable[str]) -> set[str]:
    """Return the words of a document in lower case, and each pair of the parts of a compound.

    The halves of words that are broken at the end of a line are no words.
    """
    found = set(_WORD.findall(_HYPHENATED.sub(" ", "\n".join(lines)).lower()))
    return found.union("-".join(pair) for word in found for pair in pairwise(word.split("-")))


def _rejoin_hyphenated_words(text: str, words: set[str]) -> str:
    """Rejoin words that are broken at the end of a line, with the hyphen if it is that of a compound."""

    def rejoin(broken: re.Match[str]) -> str:
        left, right = broken.groups()
        return f"{left}-{right}" if _is_compound(left, right, words) else left + right

    return _HYPHENATED.sub(rejoin, text)


def _is_compound(left: str, right: str, words: set[str]) -> bool:
    """Return whether the document writes these with a hyphen; if it has neither form, whether both are its words."""
    first, second = left.lower(), right.lower()
    if right[0].isupper() or first + second in words:
        return right[0].isupper()
    return f"{first}-{second}" in words or words.issuperset((first, second))


LineRow = list[TextLine]

WIDE_GAP = 1.5  # in line heights: the smallest gap between table cells
_SPACE_WIDTH = 0.15  # in line heights
_MIN_GUTTER_POINTS = 4.0  # smallest distance between two columns, in points
_MIN_COLUMN_ROWS = 3  # fewer rows are not treated as columns
_MAX_ROW_DISTANCE = 3.0  # in line heights, from the row above
_LIST_NUMBER = lazy_regex(r"[\[(]?(?:\d{1,3}|[a-zA-Z])[\]).:]{0,2}|[^\w\s]")
_MIN_COLUMN_WIDTH = 12.0  # in line heights: anything narrower is a table cell


def order_lines(lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines in reading order.

    Side-by-side cells in several consecutive lines become table rows; others become one line.
    """
    return list(_order_rows(list(_group_rows(lines))))


def _group_rows(lines: Sequence[TextLine]) -> Iterator[LineRow]:
    """Group consecutive lines that are side by side. Parts with a small gap are merged into one line."""
    row: LineRow = []
    for line in lines:
        if row and _continues_line(row[-1], line):
            gap = " " if line.left - row[-1].right > _SPACE_WIDTH * line.height else ""
            row[-1] = replace(row[-1], text=f"{row[-1].text}{gap}{line.text}", right=line.right)
            continue
        if row and not all(_is_side_by_side(line, other) for other in row):
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _is_side_by_side(line: TextLine, other: TextLine) -> bool:
    overlap = min(line.bottom + line.height, other.bottom + other.height) - max(line.bottom, other.bottom)
    apart = line.left >= other.right or other.left >= line.right
    return apart and overlap > 0.5 * min(line.height, other.height)


def _continues_line(line: TextLine, after: TextLine) -> bool:
    return _is_side_by_side(line, after) and 0 <= after.left - line.right < WIDE_GAP * max(line.height, after.height)


def _order_rows(rows: list[LineRow]) -> Iterator[TextLine]:
    start = 0
    while start < len(rows):
        end, middle = _find_columns(rows, start)
        if end > start:
            lines = [line for row in rows[start:end] for line in row]
            sides = [[line for line in lines if (_center_x(line) > middle) == right] for right in (False, True)]
            for side in reversed(sides) if _is_right_to_left(lines) else sides:
                yield from order_lines(side)
        else:
            end = start + 1
            while end < len(rows) and len(rows[start]) > 1 and _is_next_table_row(rows[end - 1], rows[end]):
                end += 1
            yield from (_merge_row(row, is_row=end - start > 1) for row in rows[start:end])
        start = end


def _find_columns(rows: list[LineRow], start: int) -> tuple[int, float]:
    """Return where the columns that begin at `start` end, and the x position that separates them.

    The end equals `start` if there are no columns.
    """
    if len(rows[start]) < 2:
        return start, 0.0
    first, second = sorted(rows[start][:2], key=_center_x)
    low, high = first.right, second.left
    end, pairs = start, []
    for number, row in enumerate(rows[start:], start + 1):
        middle = (low + high) / 2
        low = max([low, *(line.right for line in row if _center_x(line) <= middle)])
        high = min([high, *(line.left for line in row if _center_x(line) > middle)])
        if high - low < _MIN_GUTTER_POINTS:
            break
        if any(_center_x(line) <= middle for line in row) and any(_center_x(line) > middle for line in row):
            end = number
            pairs.append(row)
    widths = [(line.right - line.left) / line.height for row in pairs for line in row if line.height]
    wide = len(pairs) >= _MIN_COLUMN_ROWS and sum(widths) > _MIN_COLUMN_WIDTH * len(widths)
    return (_extend_column(rows, end), (low + high) / 2) if wide else (start, 0.0)


def _extend_column(rows: list[LineRow], end: int) -> int:
    """Return the end of the longer column: lines that follow closely and are at most as wide as a column."""
    last = rows[end - 1]
    widest = max(line.right - line.left for line in last)
    while end < len(rows) and len(rows[end]) == 1:
        line, above = rows[end][0], rows[end - 1][0]
        if line.right - line.left > 1.1 * widest or not 0 < above.bottom - line.bottom < 2 * line.height:
            break
        end += 1
    return end


def _is_next_table_row(above: LineRow, row: LineRow) -> bool:
    """Return whether `row` is the next row of the table."""
    return len(row) > 1 and abs(above[0].bottom - row[0].bottom) < _MAX_ROW_DISTANCE * row[0].height


def _merge_row(row: LineRow, is_row: bool) -> TextLine:
    """Merge a row into one line: table cells with bars, other cells as words of one line."""
    if len(row) == 1:
        return row[0]
    is_row = is_row and not (len(row) == 2 and _LIST_NUMBER.fullmatch(row[0].text))  # else a list, not a table
    text = (" | " if is_row else " ").join(line.text for line in row)
    left, right = min(line.left for line in row), max(line.right for line in row)
    return replace(row[0], text=text, left=left, right=right, is_row=is_row)


def _center_x(line: TextLine) -> float:
    return (line.left + line.right) / 2


def _is_right_to_left(lines: Sequence[TextLine]) -> bool:
    directions = [unicodedata.bidirectional(sign) for line in lines for sign in line.text if sign.isalpha()]
    return 2 * sum(direction in ("R", "AL") for direction in directions) > len(directions)
