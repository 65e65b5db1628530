"""Composite graders: the cascade of two graders, with its assessor, and the grader with a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crag.cancellation import Cancellation
from crag.concurrency.caches import LRUCache
from crag.concurrency.workers import map_parallel
from crag.grading.sufficiency import SufficiencyJudge, rank_passages
from crag.protocols import Grader, Refiner
from crag.text.language import detect_language
from crag.types import Assessment, Grade, Passage, Thresholds, Turn

# Below this share of its lower threshold the built-in grader rejects without the model. 7 % of the right passages of
# SQuAD score below it, 10 % below the threshold itself (docs/measurements.md).
_SURE_REJECTION_SHARE = 1 / 3


class CascadeGrader:
    """`first` grades every passage without tokens, and `second` those that it leaves unclear, all at once.

    Clear are rejections far below the lower threshold, and acceptances of passages that state everything. Grades of
    `first` do not count for passages in another language than the question, and the best of passages that are all
    rejected is unclear, since one unknown word can be why. Scores are on the scale of `second`.
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
        """Yield the clear grades first, then those of the model. Raises `ModelFault`, `Stopped`."""
        first = self.grade_first(question, passages, stop)
        yield from ((index, grade) for index, grade in first.grades.items() if index not in first.unclear)
        unclear = [passages[index] for index in first.unclear]
        yield from ((first.unclear[at], grade) for at, grade in self.ask_model(question, unclear, stop))

    def grade_first(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> FirstGrades:
        """Grade every passage without tokens, and say which of them the model should grade."""
        language, thresholds = detect_language(question), self._first.thresholds
        grades: dict[int, Grade] = {}
        unclear: list[int] = []
        is_accepted = False
        for index, grade in self._first.grade(question, passages, stop):
            grades[index] = replace(grade, score=rescale_score(grade.score, thresholds, self.thresholds))
            accepts = thresholds.verdict_for(grade.score) == "relevant" and grade.complete is not False
            rejects = grade.score is not None and grade.score < _SURE_REJECTION_SHARE * thresholds.lower
            is_foreign = detect_language(passages[index].text) != language
            is_accepted = is_accepted or (accepts and not is_foreign)
            if is_foreign or not (accepts or rejects):
                unclear.append(index)
        if grades and not unclear and not is_accepted:  # never decline without the model
            unclear.append(max(grades, key=lambda index: (grades[index].score or 0.0, -index)))
        foreign = [index for index in unclear if detect_language(passages[index].text) != language]
        return FirstGrades(grades, unclear, foreign if is_accepted else unclear)

    def ask_model(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Return the grades that the model gives, as they arrive. Raises `ModelFault`, `Stopped`."""
        return self._second.grade(question, passages, stop) if passages else iter(())


@dataclass(frozen=True, slots=True)
class FirstGrades:
    """Grades without tokens by index; the `unclear` ones, and which of them still matter for the `answer`.

    If a passage is clearly accepted, only those in another language do: the best excerpts of all of them are judged
    together anyway.
    """

    grades: dict[int, Grade]
    unclear: list[int]
    decisive: list[int]


class CascadeAssessor:
    """`Assessor` with one round of questions: unclear passages are graded while the best excerpts of all are judged.

    Which excerpts are best follows from the grades without tokens. Of an unclear passage, too, the model reads only the
    excerpts that `refiner` keeps, which are what an answer would be written from.
    """

    def __init__(self, grader: CascadeGrader, judge: SufficiencyJudge, refiner: Refiner) -> None:
        self._grader = grader
        self._judge = judge
        self._refiner = refiner

    def assess(
        self,
        question: str,
        passages: Sequence[Passage],
        stop: Cancellation,
        *,
        refine: bool = True,
        history: Sequence[Turn] = (),
    ) -> Iterator[tuple[int, Grade] | Assessment]:
        """Yield the clear grades, those of the model, then the assessment, if any. Raises `ModelFault`, `Stopped`."""
        first = self._grader.grade_first(question, passages, stop)
        usable = [index for index, grade in first.grades.items() if self._is_usable(index, grade, first)]
        candidates = rank_passages((passages[index], first.grades[index]) for index in usable)
        yield from ((index, grade) for index, grade in first.grades.items() if index not in first.decisive)

        def judge() -> list[tuple[int, Grade] | Assessment]:
            return [self._judge.judge(question, candidates, stop, refine=refine, history=history)]

        def grade_rest() -> list[tuple[int, Grade] | Assessment]:
            unclear = [passages[index] for index in first.decisive]
            shown = self._cut_passages(question, unclear, stop) if refine else unclear
            return [(first.decisive[at], grade) for at, grade in self._grader.ask_model(question, shown, stop)]

        work = ([judge] if candidates else []) + ([grade_rest] if first.decisive else [])
        done = dict(map_parallel(lambda number: work[number](), len(work), len(work), stop))
        for number in sorted(done, reverse=True):
            yield from done[number]

    def _cut_passages(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> list[Passage]:
        """Return the passages with only those strips as text that help to answer."""
        cut = dict(self._refiner.refine(question, passages, stop))
        kept = ["\n".join(strip.text for strip in cut[index] if strip.kept) for index in range(len(passages))]
        return [replace(passage, text=text or passage.text) for passage, text in zip(passages, kept, strict=True)]

    def _is_usable(self, index: int, grade: Grade, first: FirstGrades) -> bool:
        return index in first.decisive or self._grader.thresholds.verdict_for(grade.score) != "irrelevant"


def rescale_score(score: float | None, old: Thresholds, new: Thresholds) -> float | None:
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
