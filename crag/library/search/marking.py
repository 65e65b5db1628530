"""Spans of query terms in a passage, for highlighting."""

from __future__ import annotations

from collections.abc import Collection

from crag.language import tokens
from crag.library.search.fulltext import index_terms


def find_terms(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """Return the spans (start, end) of text indexed by any term in `wanted`, in order, adjacent ones merged."""
    places: list[tuple[int, int]] = []
    for start, token in tokens(text):
        found = index_terms(token).split()
        if len(found) == 1 and found[0] in wanted:
            places.append((start, start + len(token)))
        elif len(found) > 1:  # Chinese or Korean, indexed by pairs of characters
            pairs = (at for at in range(len(token) - 1) if token[at : at + 2] in wanted)
            places.extend((start + at, start + at + 2) for at in pairs)
    return _merged(places)


def _merged(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged
