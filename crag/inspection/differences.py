"""Differences between two runs: the words of their answers, and the nodes that only one of them took."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from crag.events import Node
from crag.inspection.facts import NODES
from crag.runs import Trace

_WORDS = re.compile(r"\s*\S+\s*")
_ALIKE = 0.3  # with a lower similarity, nearly every word would be marked
_LONGEST = 4_000  # words; the comparison is quadratic


class Piece(NamedTuple):
    """A piece of text, with its white space; `own`: the other text does not have it here."""

    text: str
    own: bool


def compared(one: str, other: str) -> tuple[list[Piece], list[Piece]] | None:
    """Split both texts into pieces, compared word by word; None if they are too different or too long."""
    left, right = _WORDS.findall(one), _WORDS.findall(other)
    if max(len(left), len(right)) > _LONGEST:
        return None
    matcher = SequenceMatcher(None, _bare(left), _bare(right), autojunk=False)
    if matcher.ratio() < _ALIKE:
        return None
    pieces: tuple[list[Piece], list[Piece]] = [], []
    for what, start, end, other_start, other_end in matcher.get_opcodes():
        for held, words in zip(pieces, (left[start:end], right[other_start:other_end]), strict=True):
            if words:
                held.append(Piece("".join(words), own=what != "equal"))
    return pieces


def _bare(words: list[str]) -> list[str]:
    """Strip the white space of words: line breaks make no difference."""
    return [word.strip() for word in words]


def only_in(one: Trace, other: Trace) -> list[Node]:
    """Return the nodes that the first run took and the second did not, in graph order."""
    taken, others = ({step.node for step in trace.steps} for trace in (one, other))
    return [node for node in NODES if node in taken - others]
