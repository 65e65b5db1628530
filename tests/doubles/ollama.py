"""A scripted Ollama server on the loopback interface, for the real clients over real HTTP.

    with ScriptedOllama() as ollama:
        ollama.script = lambda chat: Say("Paris [1].", first_token_after=0.5)
        ollama.memory.load_seconds = 2.0                     # each load, also one for another window
        ollama.registry["llama3.2:3b"].mishaps.append(Mishap(0.5))  # its next pull breaks in the middle
        settings = Settings(ollama_host=ollama.url)

Without a script a sensible little model answers (`tests/doubles/little_model.py`). Everything asked is in `requests`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any, Self

from tests.doubles.little_model import answer_like_a_little_model, embed_words
from tests.doubles.ollama_connection import Due
from tests.doubles.ollama_handler import Handler
from tests.doubles.ollama_memory import Memory
from tests.doubles.ollama_registry import (
    Mishap,
    Offer,
    usual_offers,
)
from tests.doubles.ollama_values import LLAMA, NOMIC, Asked, Model, Say
from tests.served import free_port
from tests.waiting import wait_until

__all__ = ["LLAMA", "NOMIC", "Asked", "Due", "Mishap", "Model", "Offer", "Say", "ScriptedOllama", "closed_address"]


@dataclass
class ScriptedOllama:
    """The server. Set `script` and `embed` at any time; `next_replies` are used up before the script is asked.

    `memory` is what is loaded and how long loading takes, `registry` what can be pulled, by name. `port` 0 is any.
    """

    models: list[Model] = field(default_factory=lambda: [LLAMA, NOMIC])
    script: Callable[[Asked], Say] = field(default=lambda asked: Say(answer_like_a_little_model(asked)))
    embed: Callable[[list[str], int], Any] = embed_words
    slots: int = 4
    first_token_after: float = 0.0
    per_token: float = 0.0
    version: str = "0.30.11"
    memory: Memory = field(default_factory=Memory)
    registry: dict[str, Offer] = field(default_factory=usual_offers)
    port: int = 0

    def __post_init__(self) -> None:
        self.requests: list[Asked] = []
        self.next_replies: deque[Say] = deque()
        self.most_at_once = 0
        self._at_work = set[int]()
        self._lock = threading.Lock()
        self._free = threading.Semaphore(self.slots)
        self.closing = threading.Event()
        self._server = Server(("127.0.0.1", self.port), Handler)
        self._server.ollama = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def chats(self) -> list[Asked]:
        """The chat requests so far, in the order they came in."""
        return self.asked("/api/chat")

    def asked(self, path: str) -> list[Asked]:
        """The requests for this path so far, in the order they came in."""
        return [asked for asked in self.requests if asked.path == path]

    def fail_next(self, times: int, status: int, error: str = "server busy, please try again") -> None:
        """Answer the next requests for chat or vectors with an error status."""
        self.next_replies.extend(Say(status=status, error=error) for _ in range(times))

    def reply_to(self, asked: Asked) -> Say:
        with self._lock:
            if self.next_replies:
                return self.next_replies.popleft()
        return self.script(asked)

    def first_token_due(self, asked: Asked, say: Say) -> Due:
        """When the first token may be sent."""
        wait = self.first_token_after if say.first_token_after is None else say.first_token_after
        due = time.monotonic() + wait
        return lambda: due

    def next_token_due(self, asked: Asked, say: Say) -> Due:
        """When what follows the `asked.tokens_sent` tokens sent so far may be sent."""
        sent = time.monotonic()
        return lambda: sent + (self.per_token if say.per_token is None else say.per_token)

    def has(self, name: str) -> Model | None:
        return next((model for model in self.models if model.name in (name, f"{name}:latest")), None)

    def install(self, model: Model) -> None:
        """Adds it, newest first, in the place of one of the same name."""
        self.models = [model, *(other for other in self.models if other.name != model.name)]

    def remove(self, model: Model) -> None:
        """Deletes it from the disk only, as the real server does; to pull it begins from the start."""
        self.models = [other for other in self.models if other.name != model.name]
        if offer := self.registry.get(model.name):
            offer.there = 0

    @contextmanager
    def working(self, asked: Asked) -> Iterator[None]:
        """One of the parallel slots; further requests wait silently, as the real server lets them."""
        with self._free:
            with self._lock:
                self._at_work.add(id(asked))
                self.most_at_once = max(self.most_at_once, len(self._at_work))
            try:
                yield
            finally:
                self.end_work(asked)

    def end_work(self, asked: Asked) -> None:
        """No longer count a request: before its client can know that the reply is whole, and send the next one."""
        with self._lock:
            self._at_work.discard(id(asked))

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait for something to become true of the requests."""
        wait_until(condition)


class Server(ThreadingHTTPServer):
    """The listening socket."""

    daemon_threads = True
    request_queue_size = 64
    ollama: ScriptedOllama

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news."""


def closed_address() -> str:
    """An address on this machine where nothing listens."""
    return f"http://127.0.0.1:{free_port()}"
