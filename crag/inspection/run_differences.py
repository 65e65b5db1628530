"""Differences between two runs: words of their answers, nodes that only one took."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from crag.events import NODES
from crag.runs.trace import Trace
from crag.types import NodeName

_WORD_WITH_SPACE = re.compile(r"(?:\A\s+)?\S+\s*")
_MIN_SIMILARITY = 0.3  # with a lower similarity, nearly every word would be marked
_MAX_COMPARED_WORDS = 4_000  # words; the comparison is quadratic


class TextPiece(NamedTuple):
    """A piece of text, with its white space; `own`: the other text does not have it here."""

    text: str
    own: bool


def compare_texts(first: str, second: str) -> tuple[list[TextPiece], list[TextPiece]] | None:
    """Split both texts into pieces, compared word by word; None if they are too different or too long."""
    left, right = _WORD_WITH_SPACE.findall(first), _WORD_WITH_SPACE.findall(second)
    if max(len(left), len(right)) > _MAX_COMPARED_WORDS:
        return None
    matcher = SequenceMatcher(None, _strip_words(left), _strip_words(right), autojunk=False)
    if matcher.ratio() < _MIN_SIMILARITY:
        return None
    pieces: tuple[list[TextPiece], list[TextPiece]] = [], []
    for what, start, end, other_start, other_end in matcher.get_opcodes():
        for held, words in zip(pieces, (left[start:end], right[other_start:other_end]), strict=True):
            if words:
                held.append(TextPiece("".join(words), own=what != "equal"))
    return pieces


def _strip_words(words: list[str]) -> list[str]:
    """Strip the white space of words: line breaks make no difference."""
    return [word.strip() for word in words]


def nodes_only_in(first: Trace, second: Trace) -> list[NodeName]:
    """Return the nodes that the first run took and the second did not, in graph order."""
    taken, others = ({step.node for step in trace.steps} for trace in (first, second))
    return [node for node in NODES if node in taken - others]
