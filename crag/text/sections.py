"""Sections of a document: the heading above each sentence of its passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.text.language import is_heading, is_table_row, split_sentences
from crag.types import HEADING_SEPARATOR, Passage


def heading_path(passage: Passage) -> list[str]:
    """Return the headings above a passage, without the column names of a table."""
    return [name for name in passage.heading.split(HEADING_SEPARATOR) if name and not is_table_row(name)]


def title_units(passage: Passage) -> Iterator[tuple[str, str]]:
    """Yield each sentence, list item or row of a passage with the nearest heading above it, which may be empty.

    Headings themselves are left out.
    """
    path = heading_path(passage)
    title = path[-1] if path else ""
    for unit in split_sentences(passage.text):
        if is_heading(unit):
            title = unit
        else:
            yield title, unit


def section_titles(passage: Passage) -> list[str]:
    """Return all headings above and within a passage."""
    return [*heading_path(passage), *filter(is_heading, split_sentences(passage.text))]


def title_units_at_depth(document: Sequence[Passage], depth: int) -> Iterator[tuple[str, str, Passage]]:
    """Yield title, unit and passage of a document, with the headings of `depth` levels; without any if it is 0."""
    for passage in document:
        path = heading_path(passage)
        title = path[:depth][-1] if path[:depth] else ""
        for _, unit in title_units(passage):
            yield title, unit, passage
