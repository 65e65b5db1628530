"""Listwise grader: all passages in one model call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.errors import ModelFault
from crag.grading.list_scores import Item, score_list
from crag.grading.reasons import nearest_sentence, points, unjudged, unreadable
from crag.options import Thresholds
from crag.prompts.language import detect
from crag.protocols import ChatModel
from crag.questions import read_question
from crag.scoring import CountedTerms
from crag.stopping import Stop
from crag.types import Grade, Passage

_THRESHOLDS = Thresholds(lower=0.3, upper=0.7)  # 7 points of 9 and more, fewer than 3


class ListwiseGrader:
    """Gives every passage 0 to 9 points relative to the others: one prompt, one short reply.

    The prompt is not a prefix of the answer prompt, though that would save processing the passages again: the answer
    prompt holds only relevant passages, best first and without the discarded strips.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Name with the model, such as `listwise:ollama:llama3.1:8b@365c0bd3c000`."""
        return f"listwise:{self._model.fingerprint}"

    @property
    def thresholds(self) -> Thresholds:
        """Thresholds that make seven points and more relevant, two and fewer irrelevant."""
        return _THRESHOLDS

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Yield all grades of a call when its reply arrives. After a transient fault the remaining ones are unknown."""
        if not passages:
            return
        asked = read_question(question, CountedTerms(passage.text for passage in passages))
        language = detect(question)
        left = set(range(len(passages)))
        try:
            items = [Item(passage, passage.text) for passage in passages]
            for index, score, usage in score_list(self._model, question, items, stop):
                left.discard(index)
                if score is None:
                    yield index, Grade(None, unreadable(language).reason, usage)
                else:
                    reason = points(score, language, nearest_sentence(asked, passages[index].text))
                    yield index, Grade(score, reason, usage)
        except ModelFault as fault:
            for index in sorted(left):
                yield index, unjudged(fault)
