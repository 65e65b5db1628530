"""Shortens a question that exceeds a model's window: keeps beginning and end, and reports what was left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from crag.models.fitting import TOKENS_PER_MESSAGE
from crag.models.tokens import count_tokens
from crag.prompts import compose
from crag.prompts.language import detect
from crag.protocols import ChatModel, ShortenedQuestion

_LONGEST_UNBOUND = 4096  # tokens
_SHORTEST = 64
_TELLS_LANGUAGE = 2000  # characters
_SAFELY = 0.98
_BROKEN_WORD_AFTER, _BROKEN_WORD_BEFORE = re.compile(r"\s\S{0,30}$"), re.compile(r"^\S{0,30}\s")


def shortener(models: Sequence[ChatModel]) -> Callable[[str], ShortenedQuestion]:
    """Return a function that fits questions into half of the smallest window's room, leaving the rest for passages.

    Without models the built-in engine has no window but reads at most `_MAX_BUILTIN_TOKENS` tokens.
    """

    def shorten(question: str) -> ShortenedQuestion:
        limit = min((_room_for_question(model, question) for model in models), default=_LONGEST_UNBOUND)
        return shorten_question(question, limit, count_tokens)

    return shorten


def shorten_question(question: str, limit: int, count: Callable[[str], int]) -> ShortenedQuestion:
    """Shorten the question to `limit` tokens, keeping beginning and end, where the actual question usually is."""
    tokens = count(question)
    kept = len(question)
    text, left = question, tokens
    while left > limit:
        kept = min(kept - 1, int(kept * limit / left * _SAFELY))
        half = max(1, kept // 2)
        text = f"{_BROKEN_WORD_AFTER.sub('', question[:half])}\n[…]\n{_BROKEN_WORD_BEFORE.sub('', question[-half:])}"
        left = count(text)
    return ShortenedQuestion(text, tokens, tokens - left)


def _room_for_question(model: ChatModel, question: str) -> int:
    around = compose("answer", detect(question[:_TELLS_LANGUAGE]), question="", knowledge="")
    taken = model.answer_limit + sum(count_tokens(prompt.text) + TOKENS_PER_MESSAGE for prompt in around)
    return max(_SHORTEST, (model.window - taken) // 2)
