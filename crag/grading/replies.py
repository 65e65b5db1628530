"""Prompts with passages for language models, JSON replies, and one retry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from crag.protocols import ChatModel, Prompt, Reply
from crag.stopping import Stop
from crag.types import Passage, Usage

T = TypeVar("T")
_REMINDED = 500  # characters of an unreadable reply that are quoted to the model


def question_block(question: str) -> str:
    """Return the question for a prompt. It comes first, so that the server's prompt cache serves all passages."""
    return f"Question: {question}"


def passage_block(question: str, passage: Passage, text: str) -> str:
    """Return the passage with its title and heading, between delimiters that it cannot forge."""
    over = " / ".join(part for part in (passage.title, passage.heading) if part)
    return fenced("passage", f"{over}\n\n{text}", question)


def fenced(what: str, text: str, question: str) -> str:
    """Enclose untrusted text in delimiters that it cannot forge: their name is a digest prefix that is not in the text.

    The prefix is as short as possible, because its tokens are paid for with every passage.
    """
    digest = hashlib.sha256(f"{question}\x1f{text}".encode("utf-8", "surrogatepass")).hexdigest()
    mark = next(name for length in range(2, 65) if (name := f"{what}-{digest[:length]}") not in text)
    return f"<{mark}>\n{text}\n</{mark}>"


def judging(purpose: str, system: str, question: str, *blocks: str) -> list[Prompt]:
    """Return the messages that ask about `blocks` of text, labelled with purpose and question."""
    text = "\n\n".join([question_block(question), *blocks])
    return [Prompt("system", system), Prompt("user", text, about=f"{purpose}: {question}")]


def ask_twice(
    model: ChatModel,
    prompts: Sequence[Prompt],
    schema: dict[str, Any],
    read: Callable[[str], T | None],
    stop: Stop,
) -> tuple[T | None, Usage]:
    """Parse the reply with `read`; if that fails, ask once more for the required format.

    Returns the parsed value and the tokens of both calls. Raises `ModelFault`, `Stopped`.
    """
    reply = model.complete(prompts, stop, schema=schema)
    found = read(reply.text)
    if found is not None:
        return found, reply.usage
    again = ask_again(model, prompts, reply.text, schema, stop)
    return read(again.text), add_usage(reply.usage, again.usage)


def ask_again(model: ChatModel, prompts: Sequence[Prompt], said: str, schema: dict[str, Any], stop: Stop) -> Reply:
    """Ask for a reply in the required format, quoting the unreadable one. Raises `ModelFault`, `Stopped`."""
    request = f"That could not be read. Reply with one JSON object only, as in: {json.dumps(schema)}"
    before = Prompt("assistant", said.strip()[:_REMINDED] or "-")
    return model.complete([*prompts, before, Prompt("user", request)], stop, schema=schema)


def add_usage(one: Usage, other: Usage) -> Usage:
    """Return the total tokens of two calls."""
    return Usage(
        _sum(one.prompt_tokens, other.prompt_tokens), _sum(one.answer_tokens, other.answer_tokens), other.finish_reason
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)
