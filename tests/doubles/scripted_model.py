"""A chat model that replies as a function of its prompt, and remembers its prompts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from crag.cancellation import Cancellation
from crag.protocols import Reply, ReplyPiece, TokenChoice
from crag.types import Prompt, Usage


class ScriptedModel:
    """`reply` gets the whole prompt as text and returns the reply, or raises; `alternatives` does so for one token."""

    name = "scripted"
    fingerprint = "scripted@1"
    window = 8192
    answer_limit = 512

    def __init__(
        self,
        reply: Callable[[str], str],
        concurrency: int = 4,
        alternatives: Callable[[str], dict[str, float]] = lambda prompt: {},
    ) -> None:
        self.concurrency = concurrency
        self._alternatives = alternatives
        self.asked: list[Sequence[Prompt]] = []
        self.schemas: list[dict[str, Any] | None] = []
        self._reply = reply
        self._lock = threading.Lock()

    def count_tokens(self, text: str) -> int:
        return len(text) // 3

    def complete(self, prompts: Sequence[Prompt], stop: Cancellation, *, schema: dict[str, Any] | None = None) -> Reply:
        stop.check()
        with self._lock:
            self.asked.append(prompts)
            self.schemas.append(schema)
        return Reply(self._reply("\n".join(prompt.text for prompt in prompts)), Usage(100, 1, "stop"))

    def first_token(self, prompts: Sequence[Prompt], stop: Cancellation) -> TokenChoice:
        reply = self.complete(prompts, stop)
        prompt = "\n".join(prompt.text for prompt in prompts)
        return TokenChoice(reply.text, self._alternatives(prompt), reply.usage)

    def choose_word(self, prompts: Sequence[Prompt], words: Sequence[str], stop: Cancellation) -> TokenChoice:
        reply = self.complete(prompts, stop, schema={"enum": list(words)})
        return TokenChoice(reply.text, usage=reply.usage)

    def stream(self, prompts: Sequence[Prompt], stop: Cancellation) -> Iterator[ReplyPiece]:
        yield ReplyPiece(self.complete(prompts, stop).text)
