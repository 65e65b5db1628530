"""Passages that say the same: a text in two documents, a notice on every page. The best of them stands for all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crag.language import terms

_SHINGLE = 3  # terms
_ALIKE = 0.85
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a text is recognized by: its runs of three terms, its numbers, and the terms of the query in it."""

    shingles: frozenset[tuple[str, ...]]
    numbers: frozenset[str]
    matched: frozenset[str]


def take_fingerprint(text: str, matched: frozenset[str]) -> Fingerprint:
    """The fingerprint of a text that holds the terms `matched` of the query."""
    cut = terms(text)
    runs = zip(*(cut[start:] for start in range(_SHINGLE)), strict=False) if len(cut) >= _SHINGLE else [tuple(cut)]
    return Fingerprint(frozenset(runs), frozenset(_NUMBER.findall(text)), matched)


def are_duplicates(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two texts say the same to the one who asked: nearly equal (Broder 1997), with the same numbers.

    Texts from one form, of which only one names what was asked for, are not the same.
    """
    if one.numbers != other.numbers or one.matched != other.matched:
        return False
    together = len(one.shingles | other.shingles)
    return len(one.shingles & other.shingles) >= _ALIKE * together
