"""Groups of words that may stand for each other."""

from __future__ import annotations

from collections.abc import Sequence


def index_synonyms(groups: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return for each word of the groups, which are written with spaces, every word that may stand for it."""
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        words = tuple(group.split())
        for word in words:
            found[word] = (*found.get(word, ()), *words)
    return found
