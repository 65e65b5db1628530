"""Token budget for passages in a prompt."""

from __future__ import annotations

from crag.protocols import ChatModel

_MARKS = 400  # tokens for titles, delimiters, the chat format, and one retry
_LEAST = 100


def room_for_text(model: ChatModel, *around: str) -> int:
    """Return the tokens left for passages, besides the texts `around` them and the reply.

    Servers truncate an overlong prompt from its start, which would drop the instructions.
    """
    taken = sum(model.count_tokens(text) for text in around)
    return max(_LEAST, model.window - model.answer_limit - taken - _MARKS)


def clip(text: str, tokens: int, model: ChatModel) -> str:
    """Truncate a text to at most this many tokens."""
    while len(text.encode("utf-8", "replace")) > tokens and (count := model.count_tokens(text)) > tokens:
        text = text[: int(0.95 * len(text) * tokens / count)]
    return text
