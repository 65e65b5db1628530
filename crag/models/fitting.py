"""Fits an answer's prompt into the window: drops history first, then the lowest-ranked strips, never the question.

A server silently truncates a prompt that is too long at its start, which loses the instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crag.models.faults import question_too_long
from crag.prompts import compose, load
from crag.prompts.language import detect
from crag.protocols import Prompt, PromptFit
from crag.types import Knowledge, Strip, Turn

HISTORY_TURNS = 4
# Overhead of the chat format per message, a generous estimate.
TOKENS_PER_MESSAGE = 8
_SHORTEST_CHARACTERS = 200
_SHORTENING = 0.8
_TELLS_LANGUAGE = 2000  # characters
_SAFELY = 0.98
_BEGUN_SHARE = 3
# Citation numbers of an earlier answer refer to other sources than those of this one.
_CITATION = re.compile(r"\s?\[\d+\]")
_TAG = re.compile(r"<(?=/?knowledge\b)", re.IGNORECASE)
_NUMBER = re.compile(r"^(\s*)\[(?=\d+\])", re.MULTILINE)

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class FittedPrompt:
    """Messages to send, and how they fit."""

    prompts: tuple[Prompt, ...]
    fit: PromptFit


def fit_prompt(
    question: str,
    knowledge: Sequence[Knowledge],
    history: Sequence[Turn],
    *,
    window: int,
    answer_limit: int,
    count_tokens: Count,
    begun: str = "",
) -> FittedPrompt:
    """Fit the answer's prompt into `window - answer_limit` tokens.

    Raises `ModelFault` when the question alone is longer. `knowledge` is ordered by rank. `left_out` counts the dropped
    strips and, when only one is left, whether it was shortened; a passage without strips counts as one. `begun` is an
    answer to continue; of a very long one the model sees only the end.
    """
    room = window - answer_limit
    going_on = _going_on(question, begun, room // _BEGUN_SHARE, count_tokens) if begun else ()
    kept, turns, forgotten = _Kept(knowledge, count_tokens), list(history[-HISTORY_TURNS:]), 0
    while True:
        prompts = *_messages(question, kept.knowledge(), turns), *going_on
        tokens = sum(count_tokens(prompt.text) + TOKENS_PER_MESSAGE for prompt in prompts)
        if tokens <= room:
            return FittedPrompt(prompts, PromptFit(tokens, window, kept.left_out, forgotten))
        if turns:
            del turns[0]
            forgotten += 1
        elif not kept.give_way(tokens - room):
            raise question_too_long(tokens, room)


class _Kept:
    """Knowledge still in the prompt, strip by strip."""

    def __init__(self, knowledge: Sequence[Knowledge], count_tokens: Count) -> None:
        self._knowledge = knowledge
        self._count = count_tokens
        self._strips = {item.n: list(item.strips or (Strip(item.text, None, kept=True),)) for item in knowledge}
        self._lowest_first = self._ranked()
        self._shortened = False
        self.left_out = 0

    def knowledge(self) -> list[Knowledge]:
        """Return the remaining knowledge without passages that lost every strip."""
        return [
            replace(item, text="\n".join(strip.text for strip in self._strips[item.n]))
            for item in self._knowledge
            if self._strips[item.n]
        ]

    def give_way(self, tokens: int) -> bool:
        """Drop the lowest-ranked strips worth about this many tokens; return False if nothing is left to drop."""
        dropped = False
        while tokens > 0 and len(self._lowest_first) > 1:
            n, strip = self._lowest_first.pop(0)
            self._strips[n].remove(strip)
            self.left_out += 1
            tokens -= self._count(strip.text)
            dropped = True
        return dropped or self._shorten_last()

    def _ranked(self) -> list[tuple[int, Strip]]:
        """Return the strips by score, lowest first; ties by the rank of their passage, last passage first.

        A strip without a score ranks with the best: no grader rated it lower.
        """
        places = [(item.n, strip) for item in self._knowledge for strip in self._strips[item.n]]
        ranked = sorted(enumerate(places), key=lambda place: (_score(place[1][1]), -place[0]))
        return [place for _, place in ranked]

    def _shorten_last(self) -> bool:
        if not self._lowest_first or len(self._lowest_first[0][1].text) <= _SHORTEST_CHARACTERS:
            return False
        n, strip = self._lowest_first[0]
        shorter = replace(strip, text=strip.text[: int(len(strip.text) * _SHORTENING)])
        self._strips[n], self._lowest_first = [shorter], [(n, shorter)]
        self.left_out += not self._shortened
        self._shortened = True
        return True


def _score(strip: Strip) -> float:
    return 1.0 if strip.score is None else strip.score


def _messages(question: str, knowledge: Sequence[Knowledge], history: Sequence[Turn]) -> tuple[Prompt, ...]:
    numbered = "\n\n".join(_numbered(item) for item in knowledge)
    system, user = compose("answer", detect(question), question=question, knowledge=numbered)
    return system, *(Prompt(turn.role, _CITATION.sub("", turn.text)) for turn in history), user


def _going_on(question: str, begun: str, limit: int, count: Count) -> tuple[Prompt, Prompt]:
    while (tokens := count(begun)) > limit:
        begun = begun[-int(len(begun) * limit / tokens * _SAFELY) :]
    return Prompt("assistant", begun), Prompt("user", load("continue", detect(question[:_TELLS_LANGUAGE])))


def _numbered(item: Knowledge) -> str:
    """Format one piece of knowledge under its number, escaped so that it cannot forge a tag or another number."""
    title = " ".join(item.passage.title.split())
    text = _NUMBER.sub(r"\1‹", item.text.strip())
    return _TAG.sub("‹", f"[{item.n}] {title}\n{text}")
