"""Probe questions for calibration: pairs of a question that a collection answers and one that it does not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from crag.calibration import cloze
from crag.calibration.sampling import Drawn, draw_elsewhere, draw_passages
from crag.calibration.values import ProbeKind
from crag.calibration.written import QuestionWriter, Written
from crag.database import Database
from crag.language import terms
from crag.prompts.language import detect
from crag.stopping import Stop
from crag.types import Passage

_DRAWN_FOR_ONE = 3  # not every passage has enough content for a question
_STRANGE = 200
_NEAR = 2  # retrieved passages that swapped facts are taken from

Find = Callable[[str], list[Passage]]


@dataclass(frozen=True, slots=True)
class Probe:
    """A question with the passages to grade for it, best first."""

    question: str
    kind: ProbeKind
    answerable: bool
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question answered by a sentence of a passage, with its retrieved passages and foreign (`strange`) pieces."""

    question: str
    of: Drawn
    sentence: str
    strange: Sequence[str]
    found: Sequence[Passage]
    written: Written | None


class ProbeMaker:
    """Samples passages, makes questions of them, and retrieves passages to grade. Deterministic for one seed."""

    def __init__(
        self, database: Database, find: Find, k: int, writer: QuestionWriter | None = None, seed: int = 0
    ) -> None:
        """Take `find`, which retrieves far more than `k` passages, so that some can be hidden.

        Without a `writer`, questions are made by rules alone.
        """
        self._database = database
        self._find = find
        self._k = k
        self._writer = writer
        self._chance = random.Random(seed)  # noqa: S311 — a sample, no secret

    def make(self, collection: str, count: int, stop: Stop) -> Iterator[Probe]:
        """Yield, for each of at most `count` passages, a question it answers and one that nothing answers.

        Raises `ModelFault`, `Stopped`.
        """
        drawn = draw_passages(self._database, collection, _DRAWN_FOR_ONE * count, self._chance)
        elsewhere = iter(draw_elsewhere(self._database, collection, count, self._chance))
        pool = [piece for one in drawn[:_STRANGE] for piece in _pieces(one.text)]
        kinds: Iterator[ProbeKind] = cycle(("hidden", "swapped", "elsewhere"))
        asked = (self._ask(one, pool, stop) for one in drawn)
        for _, one in zip(range(count), filter(None, asked), strict=False):
            yield Probe(one.question, "passage", True, tuple(one.found[: self._k]))
            yield self._unanswered(one, next(kinds), elsewhere, pool, stop)

    def _ask(self, one: Drawn, pool: Sequence[str], stop: Stop) -> _Asked | None:
        """Make a question about the passage; None if it says too little."""
        stop.check()
        if not (told := cloze.telling_sentences(one.text)):
            return None
        sentence = self._chance.choice(told)
        strange = _foreign(one.text, self._chance.sample(pool, min(_STRANGE, len(pool))))
        made = cloze.make_question(sentence, strange, self._chance)
        written = self._writer.write(one, stop) if self._writer and made else None
        question = written.answered if written else made
        return _Asked(question, one, sentence, strange, self._find(question), written) if question else None

    def _unanswered(
        self, one: _Asked, kind: ProbeKind, elsewhere: Iterator[Drawn], pool: Sequence[str], stop: Stop
    ) -> Probe:
        """Return an unanswerable question of this kind, or the same question with its passage hidden."""
        if kind == "elsewhere" and (other := next(elsewhere, None)) and (asked := self._ask(other, pool, stop)):
            return Probe(asked.question, kind, False, tuple(asked.found[: self._k]))
        if kind == "swapped" and (question := self._swap(one)):
            return Probe(question, kind, False, tuple(self._find(question)[: self._k]))
        return Probe(one.question, "hidden", False, self._without(one))

    def _swap(self, one: _Asked) -> str | None:
        """Return the question with one fact replaced by a fact from a nearby passage."""
        if one.written:
            return one.written.unanswered
        others = [passage for passage in one.found if passage.id != one.of.id][:_NEAR]
        swapped = _foreign(one.of.text, [piece for passage in others for piece in _pieces(passage.text)])
        return cloze.make_question(one.sentence, one.strange, self._chance, swapped) if swapped else None

    def _without(self, one: _Asked) -> tuple[Passage, ...]:
        """Return the passages found without those of its document.

        If too few remain, only the passage and its neighbours are left out.
        """
        saying = {passage.id for passage in one.found if one.sentence in passage.text}
        others = [
            passage for passage in one.found if passage.id not in saying and passage.source_id != one.of.source_id
        ]
        if len(others) < self._k:
            near = range(one.of.id - 1, one.of.id + 2)  # passages of one document have consecutive ids
            others = [passage for passage in one.found if passage.id not in saying and passage.id not in near]
        return tuple(others[: self._k])


def _pieces(text: str) -> list[str]:
    return [piece for piece in cloze.pieces(text, detect(text)) if terms(piece)]


def _foreign(text: str, candidates: Sequence[str]) -> list[str]:
    """Return the candidates that share no term with the text."""
    held = set(terms(text))
    return [piece for piece in candidates if held.isdisjoint(terms(piece))]
