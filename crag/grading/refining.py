"""Refiners that ask a language model which strips of a passage help to answer, one per model grader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crag.errors import ModelFault
from crag.grading.list_scores import Item, score_list
from crag.grading.parallel import in_parallel
from crag.grading.reasons import raise_unless_passing
from crag.grading.replies import ask_twice, judging, passage_block, question_block
from crag.grading.room import clip, room_for_text
from crag.grading.score import ask_yes_or_no
from crag.grading.strips import cut, keep_best
from crag.language import terms
from crag.prompts import load
from crag.prompts.language import detect
from crag.protocols import ChatModel
from crag.questions import read_question
from crag.replies import first_object, without_thoughts
from crag.scoring import CountedTerms
from crag.stopping import Stop
from crag.types import Passage, Strip

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"keep": {"type": "array", "items": {"type": "integer"}}},
    "required": ["keep"],
}
Scored = Iterable[tuple[int, float | None]]


class StripsToScore:
    """The strips of several passages as one list, returned per passage as their scores arrive.

    A passage with a single strip needs no score: it is kept.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._parts = [cut(passage.text) for passage in passages]
        self._places = [
            (index, at) for index, parts in enumerate(self._parts) for at in range(len(parts)) if len(parts) > 1
        ]
        self.items = [Item(passages[index], self._parts[index][at]) for index, at in self._places]

    def whole(self) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the passages with at most one strip."""
        for index, parts in enumerate(self._parts):
            if len(parts) < 2:
                yield index, tuple(Strip(part, None, kept=True) for part in parts)

    def scored(self, scores: Scored) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield each other passage as soon as all its strips are scored; `scores` holds (index into `items`, score)."""
        known: dict[int, dict[int, float | None]] = {}
        for number, score in scores:
            index, at = self._places[number]
            held = known.setdefault(index, {})
            held[at] = score
            if len(held) == len(self._parts[index]):
                yield index, keep_best(self._parts[index], [held[place] for place in sorted(held)])


class ScoreRefiner:
    """Asks for one token per strip, as many in parallel as the model serves."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def refine(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage as they are scored.

        Raises `Stopped`, and any `ModelFault` that requires the user to act.
        """
        strips = StripsToScore(passages)
        yield from strips.whole()

        def judge(number: int) -> float | None:
            item = strips.items[number]
            try:
                return ask_yes_or_no(self._model, question, item.passage, item.text, stop)[0]
            except ModelFault as fault:
                raise_unless_passing(fault)
                return None

        if strips.items:
            yield from strips.scored(in_parallel(judge, len(strips.items), self._model.concurrency, stop))


class ListwiseRefiner:
    """Gives the strips of all passages points in one call."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def refine(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage as they are scored.

        Raises `Stopped`, and any `ModelFault` that requires the user to act.
        """
        strips = StripsToScore(passages)
        yield from strips.whole()
        yield from strips.scored(self._scores(question, strips.items, stop))

    def _scores(self, question: str, items: Sequence[Item], stop: Stop) -> Scored:
        left = set(range(len(items)))
        try:
            for number, score, _ in score_list(self._model, question, items, stop):
                left.discard(number)
                yield number, score
        except ModelFault as fault:
            raise_unless_passing(fault)
            yield from ((number, None) for number in sorted(left))


class ExplainedRefiner:
    """Asks a language model which strips to keep, one call per passage.

    An unreadable reply keeps all strips; a reply that keeps none keeps the strip nearest to the question.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def refine(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage as its reply arrives.

        Raises `Stopped`, and any `ModelFault` that requires the user to act.
        """
        if not passages:
            return

        def choose(index: int) -> tuple[Strip, ...]:
            return self._choose(question, passages[index], stop)

        yield from in_parallel(choose, len(passages), self._model.concurrency, stop)

    def _choose(self, question: str, passage: Passage, stop: Stop) -> tuple[Strip, ...]:
        parts = cut(passage.text)
        if len(parts) < 2:
            return tuple(Strip(part, None, kept=True) for part in parts)
        system, asked = load("refine", detect(question)), question_block(question)
        numbered = "\n".join(f"[{number}] {part}" for number, part in enumerate(parts, start=1))
        numbered = clip(numbered, room_for_text(self._model, system, asked), self._model)
        prompts = judging("refine", system, question, passage_block(question, passage, numbered))
        try:
            keep, _ = ask_twice(self._model, prompts, _SCHEMA, lambda reply: read_numbers(reply, len(parts)), stop)
        except ModelFault as fault:
            raise_unless_passing(fault)
            keep = None
        kept = keep or ({_nearest(question, parts)} if keep is not None else range(1, len(parts) + 1))
        return tuple(Strip(part, None, number in kept) for number, part in enumerate(parts, start=1))


def _nearest(question: str, parts: Sequence[str]) -> int:
    """Return the number of the strip that covers most of the question: a relevant passage keeps at least one."""
    asked = read_question(question, CountedTerms(parts))
    return 1 + max(range(len(parts)), key=lambda index: asked.covered(terms(parts[index])))


def read_numbers(reply: str, most: int) -> frozenset[int] | None:
    """Return the strip numbers in a reply, from 1 to `most`.

    None if the reply is unreadable or names only numbers that do not exist; an empty list is valid.
    """
    found = (first_object(without_thoughts(reply)) or {}).get("keep")
    if not isinstance(found, list):
        return None
    numbers = frozenset(n for n in found if isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= most)
    return numbers if numbers or not found else None
