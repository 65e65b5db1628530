"""Near-duplicate passages: one text in two documents, a notice on every page. The best of them represents all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crag.language import terms

_SHINGLE = 3  # terms
_ALIKE = 0.85
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Features that identify a text: its three-term shingles, its numbers, and the query terms in it."""

    shingles: frozenset[tuple[str, ...]]
    numbers: frozenset[str]
    matched: frozenset[str]


def take_fingerprint(text: str, matched: frozenset[str]) -> Fingerprint:
    """Return the fingerprint of a text that contains the query terms `matched`."""
    cut = terms(text)
    runs = zip(*(cut[start:] for start in range(_SHINGLE)), strict=False) if len(cut) >= _SHINGLE else [tuple(cut)]
    return Fingerprint(frozenset(runs), frozenset(_NUMBER.findall(text)), matched)


def are_duplicates(one: Fingerprint, other: Fingerprint) -> bool:
    """Return whether two texts are interchangeable for this query: nearly equal (Broder 1997), with the same numbers.

    Texts from one template of which only one contains the query terms are not duplicates.
    """
    if one.numbers != other.numbers or one.matched != other.matched:
        return False
    together = len(one.shingles | other.shingles)
    return len(one.shingles & other.shingles) >= _ALIKE * together
