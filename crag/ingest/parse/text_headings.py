"""Headings of plain text: numbered, named as a chapter or clause, underlined, in capitals, or short above prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from crag.ingest.parse.document import Block
from crag.text.language import is_labelled_line, is_table_row
from crag.text.patterns import MONTHS, SEVERAL

_LONGEST = 80  # characters of a heading
_LONGEST_LINE = 1_000  # characters of a line with a heading, which the text of a clause may follow
_LONGEST_TITLE = 60  # characters after a number or in capitals
_SHORTEST_PROSE = 60  # characters of a line that would have held more words than a title above it
_MOST_WORDS = 9
_LOWEST_LEVEL = 6

_UNDERLINE = re.compile(r"\s*(={3,}|-{3,}|~{3,})\s*")
_BULLET = re.compile(r"\s*[-*+•·‣▪–]\s")
_COLUMNS = re.compile(r"\S(?: {2,}|\t)\S")
_FULL_STOP = re.compile(r"[.!?。！？]['\"”’」』)\]）]*\s*$")
_SENTENCE_END = re.compile(r"[.!?:;,。！？：；，…]['\"”’」』)\]）]*$")
_OPEN_END = re.compile(r"\b(?:an?|the|of|and|or|to|in|on|at|for|by|with|from|as|is|are|was|were)$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5}(?=\.))(?P<mark>[.)]?)\s+(?P<title>\S.*)")
_DATE_OR_AMOUNT = re.compile(
    rf"(?:{'|'.join(f'{month}|{month[:3]}' for month in MONTHS)}|sept|percent|million|billion|hundred|thousand)\b|%"
    r"|[$€£¥]|(?:EUR|USD|GBP|CHF|GB|MB|KB|TB|MHz|GHz|kWh?|PM|AM)\b",
    re.IGNORECASE,
)
_CHAPTER = re.compile(
    r"(?P<name>part|book|chapter|appendix|annex|schedule|section|article)\s+"
    rf"(?:\d{{1,3}}(?:\.\d{{1,2}})*|[IVXLC]{{1,7}}|[A-Z]|one|{SEVERAL})"
    r"(?:[.:]?|(?:\s?[.:–—-])?\s+(?-i:[A-Z0-9“\"‘(]).*)",
    re.IGNORECASE,
)
_CJK_NUMBER = r"(?:\d{1,4}|[一二三四五六七八九十百千零〇两兩]{1,6})"
_CJK_CHAPTER = re.compile(
    rf"(?P<name>제\s?\d{{1,4}}\s?[편장절관조](?:의\s?\d+)?|第\s?{_CJK_NUMBER}\s?[编編篇部卷章节節条條])"
    r"(?:\s*(?P<bracket>[(（【\[][^()（）【】\[\]]{1,40}[)）】\]])(?P<rest>.*)|\s*[:：.]?\s*|[\s\u3000:：.]+(?P<title>\S.{0,30}))"
)
_CJK_JOINED = re.compile(r"(?:및|또는|내지|와|과|[,，、]|제\s?\d|[와과]|第|和|及|至|与|與|或)")
_CJK_SENTENCE = re.compile(r"(?:다|은|는|을|를|에|의|고|며)$")
_CHAPTER_LEVELS = {"part": 1, "book": 1, "section": 3, "article": 4}
_CJK_LEVELS = {**dict.fromkeys("편编編篇部卷", 1), **dict.fromkeys("절节節관", 3), **dict.fromkeys("조条條", 4)}
_CHAPTER_LEVEL = 2  # of a chapter, an appendix, a Roman number and a line underlined with hyphens
_ROMAN = {"I": 1, "V": 5, "X": 10}


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading: its text, its level, how many lines it takes, and what follows it on its last line."""

    text: str
    level: int
    lines: int = 1
    rest: str = ""


@dataclass(frozen=True, slots=True)
class _Number:
    """The number of a line that may be a heading or a list item; `siblings` come before or after it."""

    at: int
    parts: tuple[int, ...]
    is_roman: bool
    title: str

    @property
    def depth(self) -> int:
        """Number of parts: 2 for 5.1."""
        return len(self.parts)

    def is_like(self, other: _Number) -> bool:
        """Return whether both are on the same level."""
        return self.depth == other.depth and self.is_roman == other.is_roman

    def beside(self, step: int) -> tuple[bool, tuple[int, ...]]:
        """Return the number that many steps on, on the same level, with whether it is Roman."""
        return self.is_roman, (*self.parts[:-1], self.parts[-1] + step)


def split_at_headings(text: str) -> tuple[Block, ...]:
    """Return the headings and, between them, the paragraphs of plain text, which blank lines separate."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = _find_numbered(lines)
    blocks: list[Block] = []
    paragraph: list[str] = []

    def end_paragraph() -> None:
        if any(line.strip() for line in paragraph):
            blocks.append(Block("\n".join(paragraph)))
        paragraph.clear()

    at = 0
    while at < len(lines):
        heading = _read_heading(lines, at, found, starts_block=not paragraph)
        if heading:
            end_paragraph()
            blocks.append(Block(heading.text, "heading", level=heading.level))
            paragraph += [heading.rest] if heading.rest else []
        elif lines[at].strip():
            paragraph.append(lines[at])
        else:
            end_paragraph()
        at += heading.lines if heading else 1
    end_paragraph()
    return tuple(blocks)


def _read_heading(
    lines: Sequence[str], at: int, numbered: dict[int, _Heading], *, starts_block: bool
) -> _Heading | None:
    """Return the heading that begins on a line, or None. `starts_block`: a heading or a blank line is above it."""
    line = lines[at].strip()
    if not line or len(line) > _LONGEST_LINE:
        return None
    if not starts_block and not _FULL_STOP.search(lines[at - 1]):
        return None
    return (
        numbered.get(at)
        or _read_cjk_chapter(line)
        or _read_chapter(lines, at)
        or (_read_unnumbered(lines, at) if starts_block else None)
    )


def _read_unnumbered(lines: Sequence[str], at: int) -> _Heading | None:
    return _read_underlined(lines, at) or _read_capitals(lines, at) or _read_short_line(lines, at)


def _read_short_line(lines: Sequence[str], at: int) -> _Heading | None:
    """Read a title right above a much longer line: prose that is wrapped fills its first line."""
    line, below = lines[at].strip(), _line(lines, at + 1).strip()
    is_above_prose = len(below) >= _SHORTEST_PROSE and len(below) > 2 * len(line) and below[0].isupper()
    if not is_above_prose or not line[0].isupper() or is_labelled_line(below) or _COLUMNS.search(line):
        return None
    return _Heading(line, _LOWEST_LEVEL) if _is_title(line, _LONGEST_TITLE) else None


def _read_underlined(lines: Sequence[str], at: int) -> _Heading | None:
    """Read a title above a rule, which may also have a rule above it."""
    is_boxed = bool(_UNDERLINE.fullmatch(lines[at])) and _line(lines, at + 2).strip() == lines[at].strip()
    title, rule = (_line(lines, at + 1 + n).strip() for n in ((0, 1) if is_boxed else (-1, 0)))
    below = _UNDERLINE.fullmatch(rule)
    if not below or not _is_title(title, _LONGEST) or 2 * len(below[1]) < len(title) or _COLUMNS.search(title):
        return None
    return _Heading(title, 1 if below[1][0] == "=" else _CHAPTER_LEVEL, 3 if is_boxed else 2)


def _read_capitals(lines: Sequence[str], at: int) -> _Heading | None:
    line = lines[at].strip()
    letters = sum(map(str.isalpha, line))
    if _line(lines, at + 1).strip() or not line.isupper() or letters < max(4, 0.6 * len(line)):
        return None
    return _Heading(line, 1) if _is_title(line, _LONGEST_TITLE) and not _COLUMNS.search(line) else None


def _read_chapter(lines: Sequence[str], at: int) -> _Heading | None:
    """Read a line such as “Chapter 3: Rent”, or “CHAPTER 3” with its title on the line below."""
    line = lines[at].strip()
    match = _CHAPTER.fullmatch(line)
    if not match or not line[0].isupper() or not _is_title(line.rstrip(".:"), _LONGEST):
        return None
    level = _CHAPTER_LEVELS.get(match["name"].casefold(), _CHAPTER_LEVEL)
    title = _line(lines, at + 1).strip()
    is_bare = len(line.split()) == 2
    if is_bare and _is_title(title, _LONGEST_TITLE) and title[0].isupper() and not _line(lines, at + 2).strip():
        return _Heading(f"{line} {title}", level, 2)
    return _Heading(line, level)


def _read_cjk_chapter(line: str) -> _Heading | None:
    """Read “제1장 총칙”, “第三章 租金” or “제3조(보증금)”, which a sentence may follow on the same line."""
    match = _CJK_CHAPTER.fullmatch(line)
    if not match:
        return None
    name, title = match["name"], match["title"] or ""
    if title and (_CJK_JOINED.match(title) or _CJK_SENTENCE.search(title) or _SENTENCE_END.search(title)):
        return None
    level = next((_CJK_LEVELS[sign] for sign in name if sign in _CJK_LEVELS), _CHAPTER_LEVEL)
    rest = (match["rest"] or "").strip()
    return _Heading(line.removesuffix(rest).strip(), level, rest=rest)


def _find_numbered(lines: Sequence[str]) -> dict[int, _Heading]:
    """Return the numbered headings by line.

    A number begins a heading if text comes before the next number of its level, as in no list, and if that number, the
    one before or its first part (5.1 after 5) is there too.
    """
    numbers = [number for at, line in enumerate(lines) if (number := _read_number(at, line))]
    by_line = {number.at: number for number in numbers}
    filled = [at for at, line in enumerate(lines) if line.strip()]
    below = dict(pairwise(filled))
    above = {after: before for before, after in below.items()}
    open_numbers = [
        number
        for number in numbers
        if not any(
            (near := by_line.get(other)) and near.is_like(number)
            for other in (above.get(number.at, -1), below.get(number.at, -1))
        )
        and _is_title(number.title, _LONGEST_TITLE)
        and below.get(number.at) is not None
        and not _is_continued(lines, number.at, below[number.at])
    ]
    known = {number.beside(0) for number in open_numbers}
    return {
        number.at: _Heading(lines[number.at].strip(), _level(number))
        for number in open_numbers
        if not known.isdisjoint((number.beside(-1), number.beside(1))) or _begins_with(lines[below[number.at]], number)
    }


def _read_number(at: int, line: str) -> _Number | None:
    match = _NUMBERED.fullmatch(line.strip())
    if not match or _DATE_OR_AMOUNT.match(match["title"]) or line[:1].isspace():
        return None
    is_roman = not match["number"][0].isdigit()
    parts = (_read_roman(match["number"]),) if is_roman else tuple(map(int, match["number"].split(".")))
    return _Number(at, parts, is_roman, match["title"])


def _read_roman(written: str) -> int:
    digits = [_ROMAN[letter] for letter in written]
    return sum(-one if any(one < after for after in digits[at:]) else one for at, one in enumerate(digits))


def _is_continued(lines: Sequence[str], at: int, below: int) -> bool:
    """Return whether the line below continues a numbered line: it is indented or begins in lower case."""
    after = lines[below]
    return below == at + 1 and (after[:1].isspace() or after[:1].islower())


def _begins_with(line: str, number: _Number) -> bool:
    """Return whether a line has the first number below another one: 5.1 for 5."""
    return line.startswith(f"{'.'.join(map(str, number.parts))}.1") and not number.is_roman


def _level(number: _Number) -> int:
    return _CHAPTER_LEVEL if number.is_roman else min(_LOWEST_LEVEL, _CHAPTER_LEVEL + number.depth)


def _is_title(text: str, longest: int) -> bool:
    """Return whether a line is short, begins like a title and does not end like a sentence."""
    return (
        0 < len(text) <= longest
        and len(text.split()) <= _MOST_WORDS
        and not text[0].islower()
        and any(map(str.isalpha, text))
        and not _SENTENCE_END.search(text)
        and not _OPEN_END.search(text)
        and not _BULLET.match(text)
        and not is_labelled_line(text)
        and not is_table_row(text)
        and ".." not in text
    )


def _line(lines: Sequence[str], at: int) -> str:
    return lines[at] if 0 <= at < len(lines) else ""
