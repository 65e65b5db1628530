"""Listwise grader: all passages in one model call, 0 to 9 points each.

The reply is a JSON object from number to points, four to six tokens per text. An array would be shorter, but a model
that skips one text would shift the points of all following ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.grading.model_replies import (
    UNREADABLE,
    ModelGrader,
    ask_again,
    ask_in_parallel,
    failed_grade,
    grading_prompts,
    nearest_sentence,
    passage_block,
    points_reason,
    raise_unless_transient,
    remaining_tokens,
    truncate_to_tokens,
)
from crag.prompts import find_json_object, load_prompt, strip_thoughts
from crag.protocols import ChatModel
from crag.text.language import detect_language
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Grade, Passage, Thresholds, Usage

MAX_TEXTS_PER_CALL = 16
_MAX_POINTS = 9
_ITEM_OVERHEAD_TOKENS = 30  # for the delimiters and the number of a text


@dataclass(frozen=True, slots=True)
class ListItem:
    """A text to score, and the passage that it is or is a strip of."""

    passage: Passage
    text: str


def score_list(
    model: ChatModel, question: str, items: Sequence[ListItem], stop: Cancellation
) -> Iterator[tuple[int, float | None, Usage | None]]:
    """Yield (index into `items`, score in 0..1, tokens); the score is None for texts that the model omitted twice.

    Texts that do not fit the context window are split over several calls; the tokens of a call are reported with its
    first item. Raises `ModelFault`, `Stopped`.
    """
    room = remaining_tokens(model, load_prompt("listwise", detect_language(question)), question)
    batches = list(
        _make_batches(
            [ListItem(item.passage, truncate_to_tokens(item.text, room, model)) for item in items], room, model
        )
    )

    def judge(number: int, limited: Cancellation) -> tuple[dict[int, float], Usage]:
        return _score_batch(model, question, batches[number], limited)

    def give_up(_number: int, fault: ModelFault) -> tuple[dict[int, float], Usage]:
        raise fault

    starts = [sum(len(batch) for batch in batches[:number]) for number in range(len(batches))]
    for number, (scores, usage) in ask_in_parallel(model, judge, len(batches), give_up, stop):
        for position in range(len(batches[number])):
            yield starts[number] + position, scores.get(position + 1), usage if position == 0 else None


def _make_batches(items: Sequence[ListItem], token_budget: int, model: ChatModel) -> Iterator[list[ListItem]]:
    batch: list[ListItem] = []
    taken = 0
    for item in items:
        tokens = model.count_tokens(item.text) + _ITEM_OVERHEAD_TOKENS
        if batch and (taken + tokens > token_budget or len(batch) == MAX_TEXTS_PER_CALL):
            yield batch
            batch, taken = [], 0
        batch.append(item)
        taken += tokens
    if batch:
        yield batch


def _score_batch(
    model: ChatModel, question: str, batch: Sequence[ListItem], stop: Cancellation
) -> tuple[dict[int, float], Usage]:
    blocks = (f"[{n}]\n{passage_block(question, item.passage, item.text)}" for n, item in enumerate(batch, start=1))
    prompts = grading_prompts("grade", load_prompt("listwise", detect_language(question)), question, *blocks)
    numbers = range(1, len(batch) + 1)
    reply = model.complete(prompts, stop, schema=_points_schema(numbers))
    scores = read_points(reply.text, len(batch))
    missing = [number for number in numbers if number not in scores]
    if not missing:
        return scores, reply.usage
    again = ask_again(model, prompts, reply.text, _points_schema(missing), stop)
    return read_points(again.text, len(batch)) | scores, reply.usage + again.usage


def _points_schema(numbers: Sequence[int]) -> dict[str, Any]:
    points = {"type": "integer", "minimum": 0, "maximum": _MAX_POINTS}
    names = [str(number) for number in numbers]
    return {"type": "object", "properties": dict.fromkeys(names, points), "required": names}


def read_points(reply: str, count: int) -> dict[int, float]:
    """Return the score in 0..1 of each number from 1 to `count` with 0 to 9 points; others are left out."""
    found = find_json_object(strip_thoughts(reply)) or {}
    points = {number: found.get(str(number)) for number in range(1, count + 1)}
    return {number: int(str(given)) / _MAX_POINTS for number, given in points.items() if _is_points(given)}


def _is_points(given: Any) -> bool:
    return re.fullmatch(r"[0-9]", str(given)) is not None and not isinstance(given, bool)


class ListwiseGrader(ModelGrader):
    """Gives every passage 0 to 9 points relative to the others: one prompt, one short reply.

    The prompt is not a prefix of the answer prompt, though that would save processing the passages again: the answer
    prompt holds only relevant passages, best first and without the discarded strips.
    """

    kind = "listwise"
    thresholds = Thresholds(lower=0.3, upper=0.7)  # 7 points of 9 and more are relevant, fewer than 3 irrelevant

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield all grades of a call when its reply arrives. After a transient fault the remaining ones are unknown."""
        if not passages:
            return
        asked = analyze_question(question, CountedTermStatistics(passage.text for passage in passages))
        left = set(range(len(passages)))
        try:
            items = [ListItem(passage, passage.text) for passage in passages]
            for index, score, usage in score_list(self._model, question, items, stop):
                left.discard(index)
                if score is None:
                    yield index, replace(UNREADABLE, usage=usage)
                else:
                    reason = points_reason(score, nearest_sentence(asked, passages[index].text))
                    yield index, Grade(score, reason, usage)
        except ModelFault as fault:
            raise_unless_transient(fault)
            for index in sorted(left):
                yield index, failed_grade(index, fault)
