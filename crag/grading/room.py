"""How much text a model's window takes beside the instructions: a server cuts what is too long from its start."""

from __future__ import annotations

from crag.protocols import ChatModel

_MARKS = 400  # tokens for titles, marks, the chat format, and asking once more
_LEAST = 100


def room_for_text(model: ChatModel, *around: str) -> int:
    """The tokens left for passages, beside the texts `around` them and a reply."""
    taken = sum(model.count_tokens(text) for text in around)
    return max(_LEAST, model.window - model.answer_limit - taken - _MARKS)


def clip(text: str, tokens: int, model: ChatModel) -> str:
    """The beginning of a text that has at most so many tokens."""
    while len(text.encode("utf-8", "replace")) > tokens and (count := model.count_tokens(text)) > tokens:
        text = text[: int(0.95 * len(text) * tokens / count)]
    return text
