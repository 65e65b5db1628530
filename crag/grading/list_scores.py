"""Scoring of many texts in one call: a numbered list, and 0 to 9 points for each number.

The reply is a JSON object from number to points, four to six tokens per text. An array would be shorter, but a model
that skips one text would shift the points of all following ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crag.grading.parallel import in_parallel
from crag.grading.replies import add_usage, ask_again, judging, passage_block
from crag.grading.room import clip, room_for_text
from crag.prompts import load
from crag.prompts.language import detect
from crag.protocols import ChatModel
from crag.replies import first_object, without_thoughts
from crag.stopping import Stop
from crag.types import Passage, Usage

MOST_IN_A_CALL = 16
_POINTS = 9
_TOKENS_AROUND = 30  # for the delimiters and the number of a text


@dataclass(frozen=True, slots=True)
class Item:
    """A text to score, and the passage that it is or is a strip of."""

    passage: Passage
    text: str


def score_list(
    model: ChatModel, question: str, items: Sequence[Item], stop: Stop
) -> Iterator[tuple[int, float | None, Usage | None]]:
    """Yield (index into `items`, score in 0..1, tokens); the score is None for texts that the model omitted twice.

    Texts that do not fit the context window are split over several calls; the tokens of a call are reported with its
    first item. Raises `ModelFault`, `Stopped`.
    """
    room = room_for_text(model, load("listwise", detect(question)), question)
    batches = list(_batches([Item(item.passage, clip(item.text, room, model)) for item in items], room, model))

    def judge(number: int) -> tuple[dict[int, float], Usage]:
        return _score_batch(model, question, batches[number], stop)

    starts = [sum(len(batch) for batch in batches[:number]) for number in range(len(batches))]
    for number, (scores, usage) in in_parallel(judge, len(batches), model.concurrency, stop):
        for position in range(len(batches[number])):
            yield starts[number] + position, scores.get(position + 1), usage if position == 0 else None


def _batches(items: Sequence[Item], room: int, model: ChatModel) -> Iterator[list[Item]]:
    batch: list[Item] = []
    taken = 0
    for item in items:
        tokens = model.count_tokens(item.text) + _TOKENS_AROUND
        if batch and (taken + tokens > room or len(batch) == MOST_IN_A_CALL):
            yield batch
            batch, taken = [], 0
        batch.append(item)
        taken += tokens
    if batch:
        yield batch


def _score_batch(model: ChatModel, question: str, batch: Sequence[Item], stop: Stop) -> tuple[dict[int, float], Usage]:
    blocks = (f"[{n}]\n{passage_block(question, item.passage, item.text)}" for n, item in enumerate(batch, start=1))
    prompts = judging("grade", load("listwise", detect(question)), question, *blocks)
    numbers = range(1, len(batch) + 1)
    reply = model.complete(prompts, stop, schema=_schema(numbers))
    scores = read_points(reply.text, len(batch))
    missing = [number for number in numbers if number not in scores]
    if not missing:
        return scores, reply.usage
    again = ask_again(model, prompts, reply.text, _schema(missing), stop)
    return read_points(again.text, len(batch)) | scores, add_usage(reply.usage, again.usage)


def _schema(numbers: Sequence[int]) -> dict[str, Any]:
    points = {"type": "integer", "minimum": 0, "maximum": _POINTS}
    names = [str(number) for number in numbers]
    return {"type": "object", "properties": dict.fromkeys(names, points), "required": names}


def read_points(reply: str, count: int) -> dict[int, float]:
    """Return the score in 0..1 of each number from 1 to `count` with 0 to 9 points; others are left out."""
    found = first_object(without_thoughts(reply)) or {}
    points = {number: found.get(str(number)) for number in range(1, count + 1)}
    return {number: int(str(given)) / _POINTS for number, given in points.items() if _are_points(given)}


def _are_points(given: Any) -> bool:
    return re.fullmatch(r"[0-9]", str(given)) is not None and not isinstance(given, bool)
