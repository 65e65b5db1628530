"""Knowledge strips: passages split into one to three sentences, of which the helpful ones are kept.

Follows CRAG (arXiv 2401.15884, section 4.4): the best five above a floor, in document order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.features import read_units
from crag.language import is_heading, is_item, join, sentences
from crag.protocols import Embedder, TermStatistics
from crag.questions import Question, read_question
from crag.scoring import score_sentences
from crag.stopping import Stop
from crag.types import Passage, Strip

MOST_KEPT = 5
FLOOR = 0.5
_UNITS = 3
_LIST_UNITS = 8
_LENGTH = 560  # characters, about 80 English words


def cut(text: str) -> list[str]:
    """Split a passage into strips, in order. One or two sentences form one strip; headings stay with what follows."""
    units = sentences(text)
    if len(units) <= 2:
        return [join(units)] if units else []
    groups: list[list[str]] = []
    for unit in units:
        if groups and _belongs(groups[-1], unit):
            groups[-1].append(unit)
        else:
            groups.append([unit])
    return [join(group) for group in groups]


def _belongs(group: list[str], unit: str) -> bool:
    """Return whether a sentence belongs to the current strip."""
    if all(is_heading(held) for held in group):
        return True
    length = sum(_width(held) for held in group) + _width(unit)
    if is_heading(unit) or length > _LENGTH:
        return False
    listed = is_item(unit) and is_item(group[-1])
    if is_item(unit) and not listed and not group[-1].endswith((":", "：")):
        return False
    return len(group) < (_LIST_UNITS if listed else _UNITS)


def _width(text: str) -> int:
    """Return the length in Latin characters: a Chinese or Korean character counts as three."""
    return sum(3 if character > "\u1100" else 1 for character in text)


class BuiltinRefiner:
    """Keeps the strips whose best sentence scores above a floor, and always the best strip."""

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    def refine(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage, in order. Raises `ModelFault` if embedding fails, `Stopped`."""
        asked = read_question(question, self._statistics)
        for index, passage in enumerate(passages):
            stop.check()
            parts = cut(passage.text)
            yield index, keep_best(parts, self._scores(asked, passage, parts))

    def _scores(self, asked: Question, passage: Passage, parts: Sequence[str]) -> list[float]:
        units = [sentences(part) for part in parts]
        reading = read_units((unit for part in units for unit in part), f"{passage.title} {passage.heading}")
        sentence_scores = iter(score_sentences(asked, reading, self._embedder))
        scores: list[float] = []
        for part in units:
            own = max(next(sentence_scores) for _ in part)
            # A list means little without its lead-in, and answers the question if the lead-in does.
            lead = max(scores[-2:], default=0.0) if is_item(part[0]) else 0.0
            scores.append(max(own, 0.9 * lead))
        return scores


def keep_best(parts: Sequence[str], scores: Sequence[float | None]) -> tuple[Strip, ...]:
    """Keep the best five strips above the floor, and always the best one; unknown scores count as the floor."""
    known = [FLOOR if score is None else score for score in scores]
    order = sorted(range(len(parts)), key=lambda index: -known[index])
    kept = {index for index in order[:MOST_KEPT] if known[index] >= FLOOR} | set(order[:1])
    return tuple(Strip(part, scores[index], index in kept) for index, part in enumerate(parts))
