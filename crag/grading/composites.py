"""Composite graders: the cascade of two graders, and the grader with a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.cancellation import Cancellation
from crag.concurrency.caches import LRUCache
from crag.protocols import Grader
from crag.text.language import detect_language
from crag.types import Grade, Passage, Thresholds

# Below this share of its lower threshold the built-in grader rejects without the model. 6 % of the right passages of
# SQuAD score below it, 12 % below the threshold itself (docs/measurements.md).
_SURE_REJECTION_SHARE = 1 / 3


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

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield clear rejections first, then the deciding passage, then the rest. Raises `ModelFault`, `Stopped`."""
        language = detect_language(question)
        comparable = {index for index, passage in enumerate(passages) if detect_language(passage.text) == language}
        held: dict[int, Grade] = {}
        for index, grade in self._first.grade(question, passages, stop):
            moved = replace(grade, score=_rescale_score(grade.score, self._first.thresholds, self.thresholds))
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
        return grade.score is not None and grade.score < _SURE_REJECTION_SHARE * self._first.thresholds.lower

    def _accepts(self, grade: Grade) -> bool:
        return self.thresholds.verdict_for(grade.score) == "relevant"


def _rescale_score(score: float | None, old: Thresholds, new: Thresholds) -> float | None:
    """Map the score to a scale with other thresholds: piecewise linear between 0, the two thresholds, and 1."""
    if score is None:
        return None
    if score >= old.upper:
        return _map_linear(score, (old.upper, 1.0), (new.upper, 1.0))
    if score < old.lower:
        return _map_linear(score, (0.0, old.lower), (0.0, new.lower))
    return _map_linear(score, (old.lower, old.upper), (new.lower, new.upper))


def _map_linear(score: float, old: tuple[float, float], new: tuple[float, float]) -> float:
    width = old[1] - old[0]
    share = (score - old[0]) / width if width else 1.0
    return new[0] + share * (new[1] - new[0])


GradeKey = tuple[str, str, str]  # question, digest of the passage, grader


GradeCache = LRUCache[GradeKey, Grade]


class CachedGrader:
    """A grader that asks another one only for grades that are not cached. Failures are not cached."""

    def __init__(self, grader: Grader, cache: GradeCache) -> None:
        self._grader = grader
        self._cache = cache

    @property
    def name(self) -> str:
        """The name of the wrapped grader."""
        return self._grader.name

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the wrapped grader."""
        return self._grader.thresholds

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield cached grades first, then the others as they are graded. Raises `ModelFault`, `Stopped`."""
        stop.check()
        keys = [self._key(question, passage) for passage in passages]
        known = {key: grade for key in keys if (grade := self._cache.get(key))}
        yield from ((index, known[key]) for index, key in enumerate(keys) if key in known)
        missing = [index for index, key in enumerate(keys) if key not in known]
        if not missing:
            return
        for position, grade in self._grader.grade(question, [passages[index] for index in missing], stop):
            if grade.score is not None:
                self._cache.put(keys[missing[position]], replace(grade, usage=None))  # a cached grade costs nothing
            yield missing[position], grade

    def _key(self, question: str, passage: Passage) -> GradeKey:
        seen = "\x1f".join((passage.title, passage.heading, passage.text))
        return question, hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest(), self._grader.name
