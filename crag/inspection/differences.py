"""In what two runs differ: the words of their answers, and the nodes that only one of them took."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from crag.events import Node
from crag.inspection.facts import NODES
from crag.runs import Trace

_WORDS = re.compile(r"\s*\S+\s*")
_ALIKE = 0.3  # less in common than this, and marks would lie over nearly every word
_LONGEST = 4_000  # words; comparing takes time with their square


class Piece(NamedTuple):
    """A piece of a text, with its white space; `own`: the other text does not have it here."""

    text: str
    own: bool


def compared(one: str, other: str) -> tuple[list[Piece], list[Piece]] | None:
    """Both texts in pieces, compared word by word; None where they have too little in common, or are too long."""
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
    """Without white space: where a line ends makes no difference."""
    return [word.strip() for word in words]


def only_in(one: Trace, other: Trace) -> list[Node]:
    """The nodes that the first took and the second did not, in the order of the graph."""
    taken, others = ({step.node for step in trace.steps} for trace in (one, other))
    return [node for node in NODES if node in taken - others]
