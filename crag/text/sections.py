"""Sections of a document: the heading above each sentence of its passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from crag.text.language import breaks_off, extract_terms, is_heading, is_list_item, is_table_row, split_paragraphs
from crag.types import HEADING_SEPARATOR, Passage

_NUMBER = re.compile(r"\W*\d+[.)]")
_HEADING_NUMBER = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})[.)]?[ \t]+(?=[^\W\d_a-z])[^\n]*$", re.MULTILINE)
_LONGEST_HEADING = 80  # characters
_LONGEST_NUMBER = 12  # characters, as in “Chapter 3.”
_NOTE = re.compile(r"(?:\d{1,3} (?=[“‘\"A-ZÀ-Þ])|\d{1,3}(?=[A-Z][a-zA-Z]{2})|[†‡]{1,3} ?)\S+ \S")
_SENTENCE_ENDS = tuple(".!?:;,。！？：；，")
_LONGEST_LABEL = 60  # characters of a line above a list that names it


def heading_path(passage: Passage) -> list[str]:
    """Return the headings above a passage, without the column names of a table."""
    return [name for name in passage.heading.split(HEADING_SEPARATOR) if name and not is_table_row(name)]


def path_to(title: str, passage: Passage) -> list[str]:
    """Return the headings above a unit with this title: that of its own section, where the passage holds several."""
    path = heading_path(passage)
    levels = [found[1].count(".") for one in (title, *path[-1:]) if (found := _HEADING_NUMBER.match(one))]
    return [*path[:-1], title] if len(levels) > 1 and levels[0] == levels[1] else path


class Unit(NamedTuple):
    """A sentence, list item or row with the nearest heading above it, which may be empty; or a heading itself.

    `parents` are headings of the same passage whose section that heading is in: one directly above it, or with the
    beginning of its number. `is_note` tells that it is, or continues, what looks like a note at the foot of a page: a
    paragraph after a bare number.
    """

    text: str
    title: str
    is_title: bool = False
    parents: tuple[str, ...] = ()
    is_note: bool = False


def read_units(passage: Passage, before: str = "") -> list[Unit]:
    """Return the units of a passage. `before` is the last heading of the passage before, for one without headings."""
    path = heading_path(passage)
    paragraphs = split_paragraphs(passage.text)
    notes = _find_notes(paragraphs) if passage.page else [False] * len(paragraphs)
    texts = [
        (text, " ".join(part) in path or _is_line(text, part), is_note)
        for part, is_note in zip(paragraphs, notes, strict=True)
        for text in part
    ]
    title = path[-1] if path else before
    units: list[Unit] = []
    numbered = {*path, *_numbered_headings(passage.text)}
    parents: tuple[str, ...] = ()
    for (text, is_line, is_note), (after, *_) in pairwise([*texts, ("", True, False)]):
        is_title = not is_note and ((is_line and is_heading(text)) or text in numbered or _is_label(text, after))
        if is_title:
            follows_title = bool(units) and units[-1].is_title
            parents = tuple(one for one in (*parents, title) if _is_part_of(text, one, follows_title=follows_title))
            title = text.rstrip(":：")
        units.append(Unit(text, title, is_title, parents, is_note))
    return units


def _find_notes(paragraphs: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each paragraph whether it is a note, or continues one that breaks off."""
    notes: list[bool] = []
    for before, part in pairwise([[""], *paragraphs]):
        continues = bool(notes) and notes[-1] and not before[-1].endswith(_SENTENCE_ENDS[:3])
        notes.append(continues or bool(_NOTE.match(part[0]) and not is_heading(part[0])))
    return notes


def _is_line(text: str, paragraph: Sequence[str]) -> bool:
    """Return whether a sentence is a line of its own, perhaps after “Part 3.”: no heading is the end of a paragraph."""
    return sum(map(len, paragraph[: paragraph.index(text)])) <= _LONGEST_NUMBER


def _is_part_of(title: str, other: str, *, follows_title: bool) -> bool:
    """Return whether a heading begins a part of the section of an earlier one; without numbers, if right below it."""
    number, above = _HEADING_NUMBER.match(title), _HEADING_NUMBER.match(other)
    if number and above:
        return number[1].startswith(f"{above[1]}.")
    return bool(other) and follows_title


def _numbered_headings(text: str) -> Iterator[str]:
    """Yield paragraphs such as “5. Repairs” or “5.1 Roof”: a number, a short title, and no such paragraph beside it."""
    paragraphs = [part.strip() for part in text.split("\n\n")]
    for before, part, after in zip(["", *paragraphs], paragraphs, [*paragraphs[1:], ""], strict=False):
        number = _HEADING_NUMBER.match(part)
        if (
            number
            and after
            and len(part) <= _LONGEST_HEADING
            and not (part.endswith(_SENTENCE_ENDS) or breaks_off(part))
        ):
            depths = [len(found[1].split(".")) for one in (before, after) if (found := _HEADING_NUMBER.match(one))]
            if len(number[1].split(".")) not in depths:
                yield part


def title_units(passage: Passage) -> Iterator[tuple[str, str]]:
    """Yield title and text of each unit of a passage that is no heading."""
    return ((unit.title, unit.text) for unit in read_units(passage) if not unit.is_title)


def _is_label(unit: str, after: str) -> bool:
    """Return whether a line names the list after it, such as “Action items:” or “6. Action items”."""
    if len(unit) > _LONGEST_LABEL or unit.endswith((".", "!", "?", "。")) or is_table_row(unit):
        return False
    is_followed = is_list_item(after) and not _NUMBER.match(after)
    return is_followed and (unit.endswith((":", "：")) or bool(_NUMBER.match(unit)))


def section_titles(passage: Passage) -> list[str]:
    """Return all headings above and within a passage."""
    return [*heading_path(passage), *(unit.title for unit in read_units(passage) if unit.is_title)]


def names_section(title: str, name: str) -> bool:
    """Return whether a heading has all words of a name: “9. Conclusions” those of “conclusion”."""
    asked = frozenset(extract_terms(name))
    return bool(asked) and asked <= frozenset(extract_terms(title))


def is_numbered(text: str, number: str) -> bool:
    """Return whether a heading or clause has this number: “3 Rent”, “§ 3”, “Chapter 3”; 3 also stands for 3.1.

    A sentence such as “3 Members form a quorum.” has none.
    """
    if heading := _HEADING_NUMBER.match(text):
        is_title = "." in heading[1] or (len(text) <= _LONGEST_HEADING and not text.endswith(_SENTENCE_ENDS))
        if is_title and f"{heading[1]}.".startswith(f"{number}."):
            return True
    bare = re.escape(number)
    marked = rf"(?:§|chapter|section|clause|part|article|第|제)? ?{bare}(?:\.\d+)*"
    return bool(
        re.match(
            rf"\W*(?:{marked}(?:[.)]|\.\d+|[장절조항章節节條条])|(?:§|chapter|section|clause|part|article) {bare}\b)",
            text,
            re.IGNORECASE,
        )
    )
