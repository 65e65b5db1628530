"""Grader and refiner that ask an evaluator: a trained model of this machine, but no language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.cancellation import Cancellation
from crag.grading.composites import rescale_score
from crag.grading.listwise import ListItem
from crag.grading.model_replies import nearest_sentence, quote_sentence
from crag.grading.refiners import ScoringRefiner, StripScores
from crag.protocols import Evaluator, Grader, Refiner
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.translation import N_
from crag.types import Grade, Passage, Strip, Thresholds

_NOT_SCORED = N_("Could not be judged: the evaluator gave no score.")


class EvaluatorGrader:
    """Scores each passage with its title; the reason quotes the sentence nearest to the question.

    `other` grades questions in a language that the evaluator does not read; its scores are moved to this scale.
    """

    thresholds = Thresholds(lower=0.3, upper=0.7)  # those of the score grader: no evaluator is known well enough

    def __init__(self, evaluator: Evaluator, other: Grader) -> None:
        self._evaluator = evaluator
        self._other = other

    @property
    def name(self) -> str:
        """Name with the exact evaluator, such as `evaluator:minilm@1f0a93c24d5e`."""
        return f"evaluator:{self._evaluator.fingerprint}"

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Grade every passage in order. Raises `ModelFault`, `Stopped`."""
        if not self._evaluator.reads(question):
            for index, grade in self._other.grade(question, passages, stop):
                score = rescale_score(grade.score, self._other.thresholds, self.thresholds)
                yield index, replace(grade, score=score)
            return
        asked = analyze_question(question, CountedTermStatistics(passage.text for passage in passages))
        scores = self._evaluator.score(question, [passage.with_title(passage.text) for passage in passages], stop)
        for index, (passage, score) in enumerate(zip(passages, scores, strict=True)):
            if score is None:
                yield index, Grade(None, _NOT_SCORED)
                continue
            sentence = nearest_sentence(asked, passage.text)
            yield index, Grade(score, quote_sentence(N_("Score {score:.2f}; nearest").format(score=score), sentence))


class EvaluatorRefiner(ScoringRefiner):
    """Scores strips as passages are scored: below the title of their passage.

    `other` refines for questions in a language that the evaluator does not read.
    """

    def __init__(self, evaluator: Evaluator, other: Refiner) -> None:
        self._evaluator = evaluator
        self._other = other

    def refine(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage as soon as all of them are scored. Raises `ModelFault`, `Stopped`."""
        if self._evaluator.reads(question):
            return super().refine(question, passages, stop)
        return self._other.refine(question, passages, stop)

    def _scores(self, question: str, items: Sequence[ListItem], stop: Cancellation) -> StripScores:
        texts = [item.passage.with_title(item.text) for item in items]
        return enumerate(self._evaluator.score(question, texts, stop))
