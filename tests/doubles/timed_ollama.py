"""A scripted Ollama as slow as a real one, simulated by deadlines so that errors do not add up.

    with TimedOllama(prompt_rate=400, shared=True, generation_rate=25) as ollama:
        ...
        ollama.served[-1].processed   # tokens of the prompt that its slot did not hold already

- Prompts: tokens a second, which all prompts in work share equally (one GPU), or for each slot its own.
- Replies: so many tokens a second for each slot, the first one included, whatever the other slots do: a server makes
  the tokens of all slots in one batch and lets prompts ride along.
- Prompt cache: a request goes to the free slot whose last prompt and reply begin like its own for longest (among
  equals to the one unused for longest); only what follows is processed, and always the last token.
- Tokens are those of the project's tokenizer over the whole prompt as Llama 3 is sent it, roles included.
- Further requests wait for a slot; a client that goes away leaves its slot at once. Embedding takes no time.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from crag.models.token_counts import load_llama_tokenizer
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_connection import Due
from tests.doubles.ollama_values import Asked, Say
from tests.doubles.prompt_processor import PromptProcessor

_BEGIN, _HEADER, _END_HEADER, _BLANK, _END_TURN = range(40_000, 40_005)  # above every id of the tokenizer


@dataclass
class Slot:
    """One of the server's sequences, with the tokens that it last held."""

    held: list[int] = field(default_factory=list)


@dataclass
class Served:
    """What one chat request took: tokens of its prompt, and how many of them were not in its slot yet."""

    asked: Asked
    slot: Slot
    prompt: list[int]
    processed: int
    reply: list[int] = field(default_factory=list)


@dataclass
class TimedOllama(ScriptedOllama):
    """The server. Rates are in tokens a second; `served` holds the chat requests that were given a slot, in order."""

    prompt_rate: float = 400.0
    shared: bool = True
    generation_rate: float = 25.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.served: list[Served] = []
        self._serving: dict[int, Served] = {}
        self._idle = [Slot() for _ in range(self.slots)]
        self._processor = PromptProcessor(self.prompt_rate, self.shared)
        self._timing = threading.Lock()

    @contextmanager
    def working(self, asked: Asked) -> Iterator[None]:
        """As in the base class; a chat's prompt is processed from when it has its slot."""
        with super().working(asked):
            if asked.path != "/api/chat":
                yield
                return
            served = self._admit(asked)
            try:
                yield
            finally:
                self._release(served)

    def reply_to(self, asked: Asked) -> Say:
        """The script's reply, with an honest count of the prompt."""
        say = super().reply_to(asked)
        served = self._serving[id(asked)]
        served.reply = tokens_of(say.text)
        return replace(say, prompt_tokens=len(served.prompt))

    def first_token_due(self, asked: Asked, say: Say) -> Due:
        """The prompt's end, and what the first word takes, or the whole reply where it is not streamed."""
        words = 1 if asked.body.get("stream", True) else len(say.text.split(" "))
        return self._words_due(asked, say, words)

    def next_token_due(self, asked: Asked, say: Say) -> Due:
        """The prompt's end, and what all words up to the next take."""
        return self._words_due(asked, say, asked.tokens_sent + 1)

    def _words_due(self, asked: Asked, say: Say, words: int) -> Due:
        served = self._serving[id(asked)]
        takes = len(tokens_of(" ".join(say.text.split(" ")[:words]))) / self.generation_rate
        return lambda: self._prompt_due(served) + takes

    def _prompt_due(self, served: Served) -> float:
        with self._timing:
            return self._processor.due(id(served), time.monotonic())

    def _admit(self, asked: Asked) -> Served:
        prompt = rendered(asked.body)
        with self._timing:
            slot = max(self._idle, key=lambda slot: _shared(slot.held, prompt))
            self._idle.remove(slot)
            processed = len(prompt) - min(_shared(slot.held, prompt), len(prompt) - 1)
            served = Served(asked, slot, prompt, processed)
            self.served.append(served)
            self._serving[id(asked)] = served
            self._processor.begin(id(served), processed, time.monotonic())
            return served

    def _release(self, served: Served) -> None:
        """The slot then holds what was processed of the prompt and, where it was all, the reply as far as it was sent.

        A reply that broke off counts as whole: it could serve only a prompt that repeats it.
        """
        with self._timing:
            left = round(self._processor.end(id(served), time.monotonic()))
            whole = [*served.prompt, *served.reply]
            served.slot.held = whole if left <= 0 else served.prompt[: len(served.prompt) - left]
            del self._serving[id(served.asked)]
            self._idle.append(served.slot)


def tokens_of(text: str) -> list[int]:
    """The ids of a text."""
    return list(array("H", load_llama_tokenizer().ids(text)))


def rendered(body: dict[str, Any]) -> list[int]:
    """The prompt of a chat request in tokens, with Llama 3's marks around each message and before the reply."""
    tokens = [_BEGIN]
    for message in body.get("messages", []):
        tokens += [*_header(message["role"]), *tokens_of(str(message.get("content", "")).strip()), _END_TURN]
    return [*tokens, *_header("assistant")]


def _header(role: str) -> list[int]:
    return [_HEADER, *tokens_of(role), _END_HEADER, _BLANK]


def _shared(held: list[int], prompt: list[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(held, prompt, strict=False)))
