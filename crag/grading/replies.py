"""How language models are given passages and asked for JSON, and asked again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from crag.protocols import ChatModel, Prompt, Reply
from crag.stopping import Stop
from crag.types import Passage, Usage

T = TypeVar("T")
_REMINDED = 500  # characters of an unreadable reply that the model is shown again


def question_block(question: str) -> str:
    """The question as models see it; it comes first, so that the server's prompt cache serves all passages."""
    return f"Question: {question}"


def passage_block(question: str, passage: Passage, text: str) -> str:
    """The passage with what stands over it, between marks that it cannot close."""
    over = " / ".join(part for part in (passage.title, passage.heading) if part)
    return fenced("passage", f"{over}\n\n{text}", question)


def fenced(what: str, text: str, question: str) -> str:
    """A text of strangers between marks that it cannot close: their name is as much of a digest as is not in it.

    That is short, for it is paid for with every passage.
    """
    digest = hashlib.sha256(f"{question}\x1f{text}".encode("utf-8", "surrogatepass")).hexdigest()
    mark = next(name for length in range(2, 65) if (name := f"{what}-{digest[:length]}") not in text)
    return f"<{mark}>\n{text}\n</{mark}>"


def judging(purpose: str, system: str, question: str, *blocks: str) -> list[Prompt]:
    """The messages that ask about `blocks` of text; what they are for and the question are said beside them."""
    text = "\n\n".join([question_block(question), *blocks])
    return [Prompt("system", system), Prompt("user", text, about=f"{purpose}: {question}")]


def ask_twice(
    model: ChatModel,
    prompts: Sequence[Prompt],
    schema: dict[str, Any],
    read: Callable[[str], T | None],
    stop: Stop,
) -> tuple[T | None, Usage]:
    """What `read` makes of the reply; when it makes nothing of it, the model is asked once more to keep to the form.

    With the tokens that both took. Raises `ModelFault`, `Stopped`.
    """
    reply = model.complete(prompts, stop, schema=schema)
    found = read(reply.text)
    if found is not None:
        return found, reply.usage
    again = ask_again(model, prompts, reply.text, schema, stop)
    return read(again.text), add_usage(reply.usage, again.usage)


def ask_again(model: ChatModel, prompts: Sequence[Prompt], said: str, schema: dict[str, Any], stop: Stop) -> Reply:
    """The reply to a request to keep to the form, after what was said before. Raises `ModelFault`, `Stopped`."""
    request = f"That could not be read. Reply with one JSON object only, as in: {json.dumps(schema)}"
    before = Prompt("assistant", said.strip()[:_REMINDED] or "-")
    return model.complete([*prompts, before, Prompt("user", request)], stop, schema=schema)


def add_usage(one: Usage, other: Usage) -> Usage:
    """The tokens of two calls."""
    return Usage(
        _sum(one.prompt_tokens, other.prompt_tokens), _sum(one.answer_tokens, other.answer_tokens), other.finish_reason
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)
