"""How language models are asked for JSON and how their replies are read, for the grader and the refiner."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from crag.protocols import ChatModel, Prompt
from crag.stopping import Stop
from crag.types import Passage

T = TypeVar("T")


def question_block(question: str) -> str:
    """The question as models see it; it comes first, so that the server's prompt cache serves all passages."""
    return f"Question: {question}"


def passage_block(question: str, passage: Passage, text: str) -> str:
    """The passage between marks that it cannot close: their name is a digest of what stands between them."""
    over = " / ".join(part for part in (passage.title, passage.heading) if part)
    mark = "passage-" + hashlib.sha256(f"{question}\x1f{over}\x1f{text}".encode()).hexdigest()[:16]
    return f"<{mark}>\n{over}\n\n{text}\n</{mark}>"


def ask_twice(
    model: ChatModel,
    prompts: Sequence[Prompt],
    schema: dict[str, Any],
    read: Callable[[str], T | None],
    stop: Stop,
) -> T | None:
    """What `read` makes of the reply; when it makes nothing of it, the model is asked once more to keep to the form."""
    reply = model.complete(prompts, stop, schema=schema).text
    found = read(reply)
    if found is not None:
        return found
    again = Prompt("user", f"That could not be read. Reply with one JSON object only, as in: {json.dumps(schema)}")
    said = Prompt("assistant", reply.strip()[:500] or "-")
    return read(model.complete([*prompts, said, again], stop, schema=schema).text)


def without_thoughts(reply: str) -> str:
    """The reply without what a reasoning model thought aloud."""
    return re.sub(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)", "", reply, flags=re.DOTALL).strip()


def first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text, bare or inside prose or a code block; None when there is none."""
    if text.startswith("["):
        return None
    decoder = json.JSONDecoder()
    for brace in re.finditer(r"\{", text[:20_000]):
        try:
            found, _ = decoder.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None
