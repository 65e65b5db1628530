"""The grader that needs no model server: a trained scorer on cheap features, with its reason in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.features import read_text
from crag.grading.explanations import explain
from crag.options import Thresholds
from crag.protocols import Embedder, TermStatistics
from crag.questions import read_question
from crag.scoring import fingerprint, score_passages, thresholds
from crag.stopping import Stop
from crag.types import Grade, Passage


class BuiltinGrader:
    """Scores a passage by the words, names and kind of answer a question asks for, and by nearness of meaning.

    Passages are judged together, for what several documents say is likely the answer. It was fitted with the built-in
    embedder; another one shifts the scores.
    """

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    @property
    def name(self) -> str:
        """Such as `builtin:wordllama@1f0a93c2`: vectors and coefficients."""
        return f"builtin:{self._embedder.space.model}@{fingerprint()}"

    @property
    def thresholds(self) -> Thresholds:
        """As chosen when it was fitted."""
        return thresholds()

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Every passage in order. Raises `ModelFault` when something cannot be embedded, `Stopped`."""
        stop.check()
        if not passages:
            return
        asked = read_question(question, self._statistics)
        readings = [read_text(passage.text, f"{passage.title} {passage.heading}") for passage in passages]
        texts = [passage.text for passage in passages]
        sources = [passage.source_id or passage.location or str(passage.id) for passage in passages]
        scores = score_passages(asked, list(zip(texts, readings, strict=True)), self._embedder, sources)
        for index, (score, reading) in enumerate(zip(scores, readings, strict=True)):
            stop.check()
            yield index, Grade(score, explain(asked, reading))
