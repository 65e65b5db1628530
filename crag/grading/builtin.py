"""The grader that needs no model server: a trained scorer on cheap features, with its reason in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.language import join
from crag.protocols import Embedder, TermStatistics
from crag.questions import Kind, Question, fitting, read_question
from crag.scoring import Reading, best_window, fingerprint, read_text, score_passages, thresholds
from crag.stopping import Stop
from crag.types import Grade, Passage, Thresholds

_LACKS: dict[Kind, str] = {"time": "gives no date", "number": "gives no number", "person": "names nobody else"}


class BuiltinGrader:
    """Scores a passage by the words, names and kind of answer a question asks for, and by nearness of meaning.

    The coefficients were fitted with the built-in embedder; another one shifts the scores.
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
        """As chosen when the coefficients were fitted."""
        return thresholds()

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Every passage in order. Raises `ModelFault` when something cannot be embedded, `Stopped`."""
        stop.check()
        if not passages:
            return
        asked = read_question(question, self._statistics)
        readings = [read_text(passage.text, f"{passage.title} {passage.heading}") for passage in passages]
        texts = [passage.text for passage in passages]
        scores = score_passages(asked, list(zip(texts, readings, strict=True)), self._embedder)
        for index, (score, reading) in enumerate(zip(scores, readings, strict=True)):
            stop.check()
            yield index, Grade(score, explain(asked, reading))


def explain(question: Question, reading: Reading) -> str:
    """One short sentence on what of the question the passage holds and what it lacks."""
    every = reading.around.union(*reading.terms)
    held = [word for word, parts in question.words if _mostly(parts, every)]
    lacking = [word for word, parts in question.words if not _mostly(parts, every)]
    if not question.words:
        return "The question has no key words to look for."
    if not held:
        return f"Says nothing of {_listed(lacking)}."
    at, _ = best_window(question, reading)
    window = set().union(*reading.terms[at : at + 2])
    count = sum(_mostly(parts, window) for _, parts in question.words)
    reason = f"Names {_listed(held)}; best sentences cover {count} of {len(question.words)} key words"
    if lacking:
        return f"{reason}; nothing of {_listed(lacking)}."
    if question.kind in _LACKS and fitting(question, join(reading.sentences[at : at + 2])) < 0:
        return f"{reason}, but {_LACKS[question.kind]}."
    return f"{reason}."


def _mostly(parts: tuple[str, ...], held: set[str] | frozenset[str]) -> bool:
    return 2 * sum(part in held for part in parts) > len(parts)


def _listed(words: list[str], most: int = 4) -> str:
    unique = list(dict.fromkeys(word[:40] for word in words))[:most]
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"
