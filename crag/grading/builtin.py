"""Built-in grader: a trained scorer on lexical features, with its reason in words. Needs no model server."""

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
    """Scores a passage by the question's words, names and expected answer type, and by semantic similarity.

    Passages are graded together, because agreement between documents is evidence. Fitted with the built-in embedder;
    another embedder shifts the scores.
    """

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    @property
    def name(self) -> str:
        """Embedding model and coefficients, such as `builtin:wordllama@1f0a93c2`."""
        return f"builtin:{self._embedder.space.model}@{fingerprint()}"

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds chosen when the scorer was fitted."""
        return thresholds()

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Grade every passage in order. Raises `ModelFault` if embedding fails, `Stopped`."""
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
