"""Refiners: cut passages into knowledge strips of one to three sentences and keep those that help to answer.

Follows CRAG (arXiv 2401.15884, section 4.4): keep the best five above a floor, in document order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.grading.listwise import ListItem, score_list
from crag.grading.model_replies import (
    ask_in_parallel,
    ask_with_retry,
    grading_prompts,
    passage_block,
    question_block,
    raise_unless_transient,
    remaining_tokens,
    truncate_to_tokens,
)
from crag.grading.score import ask_yes_or_no
from crag.prompts import find_json_object, load_prompt, strip_thoughts
from crag.protocols import ChatModel, Embedder, Quotation
from crag.text.coverage import find_gaps
from crag.text.language import (
    detect_language,
    extract_terms,
    is_heading,
    is_list_item,
    join_sentences,
    restricts_previous,
    split_sentences,
)
from crag.text.question_parts import separate_questions
from crag.text.questions import AnalyzedQuestion, TermStatistics, analyze_question, announces_more
from crag.text.relevance_features import tokenize_sentences
from crag.text.relevance_scores import CountedTermStatistics, score_sentences
from crag.text.tables import label_units
from crag.types import Passage, Strip

MAX_STRIPS_PER_PASSAGE = 5  # the graph limits the scored strips of all passages together, too
MIN_STRIP_SCORE = 0.5
_MAX_SENTENCES = 3
_MAX_LIST_ITEMS = 8
_MAX_STRIP_WIDTH = 560  # characters, about 80 English words


def cut_strips(text: str) -> list[str]:
    """Split a passage into strips, in order. One or two sentences form one strip; headings stay with what follows."""
    units = split_sentences(text)
    if len(units) <= 2:
        return [join_sentences(units)] if units else []
    groups: list[list[str]] = []
    for unit in units:
        if groups and _belongs_to_strip(groups[-1], unit):
            groups[-1].append(unit)
        else:
            groups.append([unit])
    return [join_sentences(group) for group in groups]


def _belongs_to_strip(group: list[str], unit: str) -> bool:
    """Return whether a sentence belongs to the current strip."""
    if all(is_heading(held) for held in group) or restricts_previous(unit):
        return True
    length = sum(_text_width(held) for held in group) + _text_width(unit)
    if is_heading(unit) or length > _MAX_STRIP_WIDTH:
        return False
    listed = is_list_item(unit) and is_list_item(group[-1])
    if is_list_item(unit) and not listed and not group[-1].endswith((":", "：")):
        return False
    return len(group) < (_MAX_LIST_ITEMS if listed else _MAX_SENTENCES)


def _text_width(text: str) -> int:
    """Return the length in Latin characters: a Chinese or Korean character counts as three."""
    return sum(3 if character > "\u1100" else 1 for character in text)


class BuiltinRefiner:
    """Keeps the strips whose best sentence scores above a floor, and always the best and the one that lacks least."""

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    def refine(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage, in order. Raises `ModelFault` if embedding fails, `Stopped`."""
        asked = analyze_question(question, self._statistics)
        for index, passage in enumerate(passages):
            stop.check()
            parts = cut_strips(passage.text)
            yield index, self._select(asked, passage, parts)

    def _select(self, asked: AnalyzedQuestion, passage: Passage, texts: Sequence[str]) -> tuple[Strip, ...]:
        labelled = label_units(passage)
        units = [split_sentences(part) for part in texts]
        said = [[labelled.get(unit) or unit for unit in part] for part in units]
        reading = tokenize_sentences(chain.from_iterable(said), passage.subject, asked.text)
        by_question = [score_sentences(part, reading, self._embedder) for part in separate_questions(asked)]
        sentence_scores = map(max, zip(*by_question, strict=True))
        scores: list[float] = []
        before = ""
        for part in units:
            own = max(next(sentence_scores) for _ in part)
            # A list answers the question if its lead-in does, and so do the sentences that another one announces.
            follows = is_list_item(part[0]) or announces_more(before)
            lead = max(scores[-2:], default=0.0) if follows else 0.0
            scores.append(max(own, 0.9 * lead))
            before = part[-1]
        lacking = [min(find_gaps(asked, Quotation(unit, ""), None).count for unit in part) for part in said]
        fewest = min(lacking, default=0)
        needed = {at for at, count in enumerate(lacking) if count == fewest < max(lacking)}
        return select_strips(texts, scores, needed=needed)


def select_strips(
    texts: Sequence[str],
    scores: Sequence[float | None],
    limit: int = MAX_STRIPS_PER_PASSAGE,
    needed: Collection[int] = (),
) -> tuple[Strip, ...]:
    """Keep the best strips of a passage above the floor, and always the best one; unknown scores count as the floor.

    The strips at `needed` places need not reach the floor.
    """
    known = [MIN_STRIP_SCORE if score is None else score for score in scores]
    order = sorted(range(len(texts)), key=lambda index: -known[index])
    kept = {index for index in order[:limit] if known[index] >= MIN_STRIP_SCORE or index in needed} | set(order[:1])
    return tuple(Strip(part, scores[index], index in kept) for index, part in enumerate(texts))


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"keep": {"type": "array", "items": {"type": "integer"}}},
    "required": ["keep"],
}
StripScores = Iterable[tuple[int, float | None]]


class ScoringRefiner(ABC):
    """Keeps the strips with the best scores. A passage with a single strip needs no score: it is kept."""

    def refine(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage as soon as all of them are scored.

        Raises `Stopped`, and any `ModelFault` that requires the user to act.
        """
        parts = [cut_strips(passage.text) for passage in passages]
        yield from ((index, _keep_all(own)) for index, own in enumerate(parts) if len(own) < 2)
        places = [(index, at) for index, own in enumerate(parts) for at in range(len(own)) if len(own) > 1]
        items = [ListItem(passages[index], parts[index][at]) for index, at in places]
        known: dict[int, dict[int, float | None]] = {}
        for number, score in self._scores(question, items, stop):
            index, at = places[number]
            held = known.setdefault(index, {})
            held[at] = score
            if len(held) == len(parts[index]):
                yield index, select_strips(parts[index], [held[place] for place in sorted(held)])

    @abstractmethod
    def _scores(self, question: str, items: Sequence[ListItem], stop: Cancellation) -> StripScores:
        """Yield (index into `items`, score), None for a strip that could not be scored."""


class ScoreRefiner(ScoringRefiner):
    """Asks for one token per strip, as many in parallel as the model serves."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def _scores(self, question: str, items: Sequence[ListItem], stop: Cancellation) -> StripScores:
        def judge(number: int, limited: Cancellation) -> float | None:
            return ask_yes_or_no(self._model, question, items[number].passage, items[number].text, limited).score

        return ask_in_parallel(self._model, judge, len(items), lambda *_: None, stop)


class ListwiseRefiner(ScoringRefiner):
    """Gives the strips of all passages points in one call."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def _scores(self, question: str, items: Sequence[ListItem], stop: Cancellation) -> StripScores:
        left = set(range(len(items)))
        try:
            for number, score, _ in score_list(self._model, question, items, stop):
                left.discard(number)
                yield number, score
        except ModelFault as fault:
            raise_unless_transient(fault)
            yield from ((number, None) for number in sorted(left))


class ExplainedRefiner:
    """Asks a language model which strips to keep, one call per passage.

    An unreadable reply keeps all strips; a reply that keeps none keeps the strip nearest to the question.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def refine(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield the strips of each passage as its reply arrives.

        Raises `Stopped`, and any `ModelFault` that requires the user to act.
        """

        def choose(index: int, limited: Cancellation) -> tuple[Strip, ...]:
            return self._choose(question, passages[index], limited)

        def keep_all(index: int, _: ModelFault) -> tuple[Strip, ...]:
            return _keep_all(cut_strips(passages[index].text))

        yield from ask_in_parallel(self._model, choose, len(passages), keep_all, stop)

    def _choose(self, question: str, passage: Passage, stop: Cancellation) -> tuple[Strip, ...]:
        parts = cut_strips(passage.text)
        if len(parts) < 2:
            return _keep_all(parts)
        system, asked = load_prompt("refine", detect_language(question)), question_block(question)
        numbered = "\n".join(f"[{number}] {part}" for number, part in enumerate(parts, start=1))
        numbered = truncate_to_tokens(numbered, remaining_tokens(self._model, system, asked), self._model)
        prompts = grading_prompts("refine", system, question, passage_block(question, passage, numbered))
        keep, _ = ask_with_retry(
            self._model, prompts, _SCHEMA, lambda reply: read_strip_numbers(reply, len(parts)), stop
        )
        kept = keep or ({_nearest_strip(question, parts)} if keep is not None else range(1, len(parts) + 1))
        return tuple(Strip(part, None, number in kept) for number, part in enumerate(parts, start=1))


def _keep_all(parts: Sequence[str]) -> tuple[Strip, ...]:
    return tuple(Strip(part, None, kept=True) for part in parts)


def _nearest_strip(question: str, texts: Sequence[str]) -> int:
    """Return the number of the strip that covers most of the question: a relevant passage keeps at least one."""
    asked = analyze_question(question, CountedTermStatistics(texts))
    return 1 + max(range(len(texts)), key=lambda index: asked.covered_share(extract_terms(texts[index])))


def read_strip_numbers(reply: str, most: int) -> frozenset[int] | None:
    """Return the strip numbers in a reply, from 1 to `most`.

    None if the reply is unreadable or names only numbers that do not exist; an empty list is valid.
    """
    found = (find_json_object(strip_thoughts(reply)) or {}).get("keep")
    if not isinstance(found, list):
        return None
    numbers = frozenset(n for n in found if isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= most)
    return numbers if numbers or not found else None
