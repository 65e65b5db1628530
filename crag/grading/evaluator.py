"""Grader and refiner that ask an evaluator: a trained model of this machine, but no language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.cancellation import Cancellation
from crag.grading.listwise import ListItem
from crag.grading.model_replies import nearest_sentence, quote_sentence
from crag.grading.refiners import ScoringRefiner, StripScores
from crag.protocols import Evaluator
from crag.text.language import detect_language
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Grade, Language, Passage, Thresholds

_REASONS: dict[Language, str] = {
    "en": "Score {score:.2f}; nearest",
    "ko": "점수 {score:.2f}, 가장 가까운 문장",
    "zh": "得分 {score:.2f}；最接近的句子",
}


class EvaluatorGrader:
    """Scores each passage with its title; the reason quotes the sentence nearest to the question."""

    thresholds = Thresholds(lower=0.3, upper=0.7)  # those of the score grader: no evaluator is known well enough

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    @property
    def name(self) -> str:
        """Name with the exact evaluator, such as `evaluator:minilm@1f0a93c24d5e`."""
        return f"evaluator:{self._evaluator.fingerprint}"

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Grade every passage in order. Raises `ModelFault`, `Stopped`."""
        asked = analyze_question(question, CountedTermStatistics(passage.text for passage in passages))
        reason = _REASONS[detect_language(question)]
        scores = self._evaluator.score(question, [passage.with_title(passage.text) for passage in passages], stop)
        for index, (passage, score) in enumerate(zip(passages, scores, strict=True)):
            sentence = nearest_sentence(asked, passage.text)
            yield index, Grade(score, quote_sentence(reason.format(score=score), sentence))


class EvaluatorRefiner(ScoringRefiner):
    """Scores strips as passages are scored: below the title of their passage."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def _scores(self, question: str, items: Sequence[ListItem], stop: Cancellation) -> StripScores:
        texts = [item.passage.with_title(item.text) for item in items]
        return enumerate(self._evaluator.score(question, texts, stop))
