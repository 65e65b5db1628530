"""Lines of a page to paragraphs and headings, with hyphenated words rejoined."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crag.language import CHARACTERS, cjk
from crag.library.parse.document import Block

_BROKEN = re.compile("([^\\W\\d_]+)(?:[\ufffe\x02\u00ad]\\s*|-\n)([^\\W\\d_]+)")
_WIDE = f"[{CHARACTERS}\u3000-\u303f\uff00-\uffef]"
_SPACED = re.compile(f"(?<={_WIDE}) +(?={_WIDE})")
_BULLET = re.compile(r"(?:[•‣▪●◦–—*-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s")
_ENDED = re.compile(r"[.!?:;。！？]['\"”’)\]]*$")
_LONGEST_HEADING = 150
_FEWEST_REPEATED = 4  # pages
_NUMBER = re.compile(r"\d+")
_LONGEST_NUMBER = 9  # page numbers are never longer

Levels = dict[str, int]  # heading levels by normalized heading text


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page, or one cell of it. Lengths are in points, `bottom` from the lower edge of the page."""

    text: str
    left: float
    bottom: float
    height: float
    right: float
    is_row: bool = False


def squeezed(title: str) -> str:
    """Return a heading in comparable form: case-folded letters only, without its number."""
    return "".join(character for character in title.casefold() if character.isalpha())


def without_running_headers(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Remove the lines that repeat at the top or bottom of many pages.

    Numbers that count up with the pages are ignored in the comparison. Other differing numbers carry meaning: bound
    invoices have their own in the place of a running header.
    """
    edges = [[(line, _patterns(line, number)) for line in _edges(page)] for number, page in enumerate(pages)]
    counts = Counter(pattern for page in edges for pattern in {one for _, patterns in page for one in patterns})
    least = max(_FEWEST_REPEATED, 0.4 * len(pages))
    repeated = {pattern for pattern, count in counts.items() if count >= least}
    running = [[line for line, patterns in page if patterns & repeated] for page in edges]
    return [[line for line in page if line not in left] for page, left in zip(pages, running, strict=True)]


def _edges(page: Sequence[Line]) -> list[Line]:
    """Return the highest and the lowest line."""
    return [min(page, key=_bottom), max(page, key=_bottom)] if page else []


def _bottom(line: Line) -> float:
    return line.bottom


def _patterns(line: Line, page: int) -> set[str]:
    """Return the text itself, and a variant per number with that number as its offset from the page index."""
    text = line.text.casefold().strip()
    found = [number for number in _NUMBER.finditer(text) if len(number[0]) <= _LONGEST_NUMBER]
    return {text} | {f"{text[: one.start()]}#{int(one[0]) - page}#{text[one.end() :]}" for one in found}


def paragraphs(lines: Sequence[Line], page: int, body: float, words: set[str], levels: Levels) -> Iterator[Block]:
    """Yield the blocks of a page.

    `body` is the main text size in points, `words` the words of the document, `levels` its known headings.
    """
    leadings = [before.bottom - line.bottom for before, line in pairwise(lines)]
    usual = statistics.median([leading for leading in leadings if leading > 1] or [body])
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or _parted(lines[end - 1], lines[end], usual, levels):
            yield _block(lines[start:end], page, body, words, levels)
            start = end


def _parted(before: Line, line: Line, usual: float, levels: Levels) -> bool:
    """Return whether `line` begins a paragraph: by distance, letter size, bullet or indentation."""
    if (
        before.is_row
        or line.is_row
        or (levels and not levels.keys().isdisjoint(map(squeezed, (before.text, line.text))))
    ):
        return True
    if _BULLET.match(line.text) or abs(line.height - before.height) > 0.2 * max(line.height, before.height):
        return True
    leading = before.bottom - line.bottom
    if leading < 0:  # the next column, where a sentence may continue
        return bool(_ENDED.search(before.text))
    merged = 1 + before.text.count("\ufffe")  # hyphenated lines arrive joined to the next one
    if leading > 1.35 * max(usual, line.height) * merged:  # headings have larger line spacing
        return True
    return line.left > before.left + 0.5 * line.height and bool(_ENDED.search(before.text))


def _block(lines: Sequence[Line], page: int, body: float, words: set[str], levels: Levels) -> Block:
    if lines[0].is_row:
        return Block(lines[0].text, "row", page)
    text = joined([line.text for line in lines], words)
    if levels and (level := levels.get(squeezed(text))):
        return Block(text, "heading", page, level)
    size = lines[0].height / body if body else 1
    if size > 1.15 and len(text) <= _LONGEST_HEADING and not _ENDED.search(text) and re.search(r"[^\W\d_]{2}", text):
        return Block(text, "heading", page, 1 if size > 1.6 else 2 if size > 1.3 else 3)
    return plain(text, page)


def plain(text: str, page: int) -> Block:
    """Return a list item if the text starts with a bullet, else a paragraph."""
    return Block(text, "item" if _BULLET.match(text) else "paragraph", page)


def joined(lines: Sequence[str], words: set[str]) -> str:
    """Join the lines of one paragraph."""
    text = _mend("\n".join(line.strip() for line in lines), words)
    return _close_up(text.replace("\n", "" if cjk(text) else " "))


def _close_up(text: str) -> str:
    """Remove the spaces that some programs write after every Chinese or Japanese character."""
    spaced = len(_SPACED.findall(text))
    return _SPACED.sub("", text) if 2 * spaced > len(re.findall(f"[{CHARACTERS}]", text)) else text


def _mend(text: str, words: set[str]) -> str:
    """Rejoin words hyphenated at a line end; keep the hyphen if the document uses it elsewhere."""

    def mended(broken: re.Match[str]) -> str:
        left, right = broken.groups()
        with_hyphen = f"{left}-{right}"
        compound = with_hyphen.lower() in words and (left + right).lower() not in words
        return with_hyphen if compound or right[0].isupper() else left + right

    return _BROKEN.sub(mended, text)
