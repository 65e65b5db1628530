"""Sections of a document: the heading above each sentence of its passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from crag.text.language import is_heading, is_list_item, is_table_row, split_sentences
from crag.types import HEADING_SEPARATOR, Passage

_NUMBER = re.compile(r"\W*\d+[.)]")
_LONGEST_LABEL = 60  # characters of a line above a list that names it


def heading_path(passage: Passage) -> list[str]:
    """Return the headings above a passage, without the column names of a table."""
    return [name for name in passage.heading.split(HEADING_SEPARATOR) if name and not is_table_row(name)]


class Unit(NamedTuple):
    """A sentence, list item or row with the nearest heading above it, which may be empty; or a heading itself."""

    text: str
    title: str
    is_title: bool = False


def read_units(passage: Passage, before: str = "") -> list[Unit]:
    """Return the units of a passage. `before` is the last heading of the passage before, for one without headings."""
    path, texts = heading_path(passage), split_sentences(passage.text)
    title, units = path[-1] if path else before, []
    for text, after in pairwise([*texts, ""]):
        is_title = is_heading(text) or _is_label(text, after)
        title = text.rstrip(":：") if is_title else title
        units.append(Unit(text, title, is_title))
    return units


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


def title_units_at_depth(document: Sequence[Passage], depth: int) -> Iterator[tuple[str, str, Passage]]:
    """Yield title, unit and passage of a document, with the headings of `depth` levels; without any if it is 0."""
    for passage in document:
        path = heading_path(passage)
        title = path[:depth][-1] if path[:depth] else ""
        for _, unit in title_units(passage):
            yield title, unit, passage


def is_numbered(text: str, number: str) -> bool:
    """Return whether a heading or clause has this number: “3. Rent”, “§ 3 Rent”, “Chapter 3”; 3 also stands for 3.1."""
    bare = re.escape(number)
    marked = rf"(?:§|chapter|section|clause|part|article|第|제)? ?{bare}(?:\.\d+)*"
    return bool(
        re.match(
            rf"\W*(?:{marked}(?:[.)]|\.\d+|[장절조항章节節条條])|(?:§|chapter|section|clause|part|article) {bare}\b)",
            text,
            re.IGNORECASE,
        )
    )
