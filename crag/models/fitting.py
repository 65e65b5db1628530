"""Fits an answer's prompt into the window: history goes first, then the lowest-ranked knowledge, never the question.

A server that gets too long a prompt cuts it from its start, silently, and with it the instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crag.prompts import compose
from crag.prompts.language import detect
from crag.protocols import Prompt, PromptFit
from crag.types import Knowledge, Turn

HISTORY_TURNS = 4
# What the chat format adds around each message, generously.
_TOKENS_PER_MESSAGE = 8
_SHORTEST_CHARACTERS = 200
_SHORTENING = 0.8
# The numbers of an earlier answer name other sources than those of this one.
_CITATION = re.compile(r"\s?\[\d+\]")
_TAG = re.compile(r"<(?=/?knowledge\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FittedPrompt:
    """The messages to send and how they fit."""

    prompts: tuple[Prompt, ...]
    fit: PromptFit


def fit_prompt(
    question: str,
    knowledge: Sequence[Knowledge],
    history: Sequence[Turn],
    *,
    window: int,
    answer_limit: int,
    count_tokens: Callable[[str], int],
) -> FittedPrompt:
    """The answer's prompt within `window - answer_limit` tokens, as far as leaving out can bring it there.

    `knowledge` comes in the order of its rank. `left_out` counts the pieces of knowledge that were dropped or, when
    only one is left, shortened.
    """
    kept, turns, shortened = list(knowledge), list(history[-HISTORY_TURNS:]), 0
    while True:
        prompts = _messages(question, kept, turns)
        tokens = sum(count_tokens(prompt.text) + _TOKENS_PER_MESSAGE for prompt in prompts)
        if tokens <= window - answer_limit or not _give_way(kept, turns):
            return FittedPrompt(prompts, PromptFit(tokens, window, len(knowledge) - len(kept) + shortened))
        shortened = int(len(kept) == 1 and kept[0].text != knowledge[0].text)


def _give_way(kept: list[Knowledge], turns: list[Turn]) -> bool:
    """Drop the least important thing that is left; False when there is nothing more to drop."""
    if turns:
        del turns[0]
    elif len(kept) > 1:
        del kept[-1]
    elif kept and len(kept[0].text) > _SHORTEST_CHARACTERS:
        text = kept[0].text[: int(len(kept[0].text) * _SHORTENING)]
        kept[0] = Knowledge(kept[0].n, kept[0].passage, text)
    else:
        return False
    return True


def _messages(question: str, knowledge: Sequence[Knowledge], history: Sequence[Turn]) -> tuple[Prompt, ...]:
    numbered = "\n\n".join(_numbered(item) for item in knowledge)
    system, user = compose("answer", detect(question), question=question, knowledge=numbered)
    return system, *(Prompt(turn.role, _CITATION.sub("", turn.text)) for turn in history), user


def _numbered(item: Knowledge) -> str:
    """One piece of knowledge under its number; it cannot close the frame it stands in."""
    title = " ".join(item.passage.title.split())
    return _TAG.sub("‹", f"[{item.n}] {title}\n{item.text.strip()}")
