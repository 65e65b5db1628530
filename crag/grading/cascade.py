"""Cascade grader: a language model decides only where the built-in grader is not enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.options import Thresholds
from crag.prompts.language import detect
from crag.protocols import Grader
from crag.stopping import Stop
from crag.types import Grade, Passage

# Below this share of its lower threshold the built-in grader rejects without the model. 6 % of the right passages of
# SQuAD score below it, 12 % below the threshold itself (docs/measurements.md).
_SURELY = 1 / 3


class CascadeGrader:
    """`first` grades every passage without tokens; `second` confirms the best one that `first` accepts.

    If confirmed, the documents answer the question, and the other passages keep the grade of `first`. If not, or if
    `first` accepts nothing, `second` grades everything that `first` does not clearly reject. Grades of `first` do not
    count for passages in another language than the question. Scores are on the scale of `second`.
    """

    def __init__(self, first: Grader, second: Grader) -> None:
        self._first = first
        self._second = second

    @property
    def name(self) -> str:
        """Names of both graders, such as `cascade:builtin:wordllama@1f0a93c2+score:ollama:llama3.1:8b@365c0bd3c000`."""
        return f"cascade:{self._first.name}+{self._second.name}"

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the second grader."""
        return self._second.thresholds

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Yield clear rejections first, then the deciding passage, then the rest. Raises `ModelFault`, `Stopped`."""
        language = detect(question)
        comparable = {index for index, passage in enumerate(passages) if detect(passage.text) == language}
        held: dict[int, Grade] = {}
        for index, grade in self._first.grade(question, passages, stop):
            moved = replace(grade, score=_move(grade.score, self._first.thresholds, self.thresholds))
            if index in comparable and self._rejects(grade):
                yield index, moved
            else:
                held[index] = moved
        accepted = [index for index in held if index in comparable and self._accepts(held[index])]
        if accepted:
            best = max(accepted, key=lambda index: held[index].score or 0.0)
            held.pop(best)
            (_, grade), *_ = self._second.grade(question, [passages[best]], stop)
            yield best, grade
            if self._accepts(grade):
                yield from [(index, held.pop(index)) for index in list(held) if index in comparable]
        left = list(held)
        if left:
            for position, grade in self._second.grade(question, [passages[index] for index in left], stop):
                yield left[position], grade

    def _rejects(self, grade: Grade) -> bool:
        return grade.score is not None and grade.score < _SURELY * self._first.thresholds.lower

    def _accepts(self, grade: Grade) -> bool:
        return self.thresholds.word(grade.score) == "relevant"


def _move(score: float | None, old: Thresholds, new: Thresholds) -> float | None:
    """Map the score to a scale with other thresholds: piecewise linear between 0, the two thresholds, and 1."""
    if score is None:
        return None
    if score >= old.upper:
        return _stretch(score, (old.upper, 1.0), (new.upper, 1.0))
    if score < old.lower:
        return _stretch(score, (0.0, old.lower), (0.0, new.lower))
    return _stretch(score, (old.lower, old.upper), (new.lower, new.upper))


def _stretch(score: float, old: tuple[float, float], new: tuple[float, float]) -> float:
    width = old[1] - old[0]
    share = (score - old[0]) / width if width else 1.0
    return new[0] + share * (new[1] - new[0])
