"""A scripted Ollama server on the loopback interface, spoken to by the real clients over real HTTP.

    with ScriptedOllama() as ollama:
        ollama.script = lambda chat: Say("Paris [1].", first_token_after=0.5)
        settings = Settings(ollama_host=ollama.url)

Without a script a sensible little model answers (`tests/doubles/little_model.py`). Everything asked is in `requests`.
"""

from __future__ import annotations

import json
import math
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.doubles.little_model import answer_like_a_little_model, embed_words
from tests.doubles.ollama_values import LLAMA, NOMIC, Asked, Model, Say
from tests.waiting import wait_until

Due = Callable[[], float]  # a time by `time.monotonic`, asked for again while it is waited for


class Dropped(Exception):
    """The client closed its connection."""


@dataclass
class ScriptedOllama:
    """The server. Set `script` and `embed` at any time; `next_replies` are used up before the script is asked."""

    models: list[Model] = field(default_factory=lambda: [LLAMA, NOMIC])
    script: Callable[[Asked], Say] = field(default=lambda asked: Say(answer_like_a_little_model(asked)))
    embed: Callable[[list[str], int], Any] = embed_words
    slots: int = 4
    first_token_after: float = 0.0
    per_token: float = 0.0
    version: str = "0.30.11"

    def __post_init__(self) -> None:
        self.requests: list[Asked] = []
        self.next_replies: deque[Say] = deque()
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._free = threading.Semaphore(self.slots)
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
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
        return [asked for asked in self.requests if asked.path == "/api/chat"]

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
        due = time.monotonic() + (self.per_token if say.per_token is None else say.per_token)
        return lambda: due

    def has(self, name: str) -> Model | None:
        return next((model for model in self.models if model.name in (name, f"{name}:latest")), None)

    @contextmanager
    def working(self, asked: Asked) -> Iterator[None]:
        """One of the parallel slots; further requests wait silently, as the real server lets them."""
        with self._free:
            with self._lock:
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                yield
            finally:
                with self._lock:
                    self._at_once -= 1

    def wait_until(self, condition: Callable[[], object], seconds: float = 5.0) -> None:
        """Wait for something to become true of the requests; fails the test when it does not."""
        wait_until(condition, seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    ollama: ScriptedOllama

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def ollama(self) -> ScriptedOllama:
        server = self.server
        assert isinstance(server, _Server)
        return server.ollama

    def log_message(self, *_: object) -> None:
        """Silence."""

    def do_GET(self) -> None:
        self._record({})
        if self.path == "/api/version":
            self._send(200, {"version": self.ollama.version})
        elif self.path == "/api/tags":
            self._send(200, {"models": [model.tags() for model in self.ollama.models]})
        else:
            self._send(404, None)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = self._record(body)
        model = self.ollama.has(body.get("model", ""))
        if model is None:
            self._send(404, {"error": f"model '{body.get('model')}' not found"})
        elif self.path == "/api/show":
            self._send(200, model.shown())
        elif self.path == "/api/chat":
            self._settle(asked, self._chat)
        elif self.path == "/api/embed":
            self._settle(asked, lambda asked: self._embed(asked, model))
        else:
            self._send(404, None)

    def _record(self, body: dict[str, Any]) -> Asked:
        asked = Asked(self.path, body, time.monotonic())
        self.ollama.requests.append(asked)
        return asked

    def _settle(self, asked: Asked, answer: Callable[[Asked], None]) -> None:
        try:
            with self.ollama.working(asked):
                answer(asked)
            asked.outcome = "finished"
        except (Dropped, OSError):
            asked.outcome = "dropped"
            self.close_connection = True
        asked.ended = time.monotonic()

    def _chat(self, asked: Asked) -> None:
        say = self._limited(asked, self.ollama.reply_to(asked))
        if say.body is not None:
            self._pause(self.ollama.first_token_due(asked, say))
            self._send_bytes(say.status, say.body, {"Content-Type": "text/html"} | say.headers)
        elif say.status != 200:
            self._send(say.status, {"error": say.error})
        elif asked.body.get("stream", True):
            self._stream(asked, say)
        else:
            self._pause(self.ollama.first_token_due(asked, say))
            self._send(200, _line(asked, say.text) | _ending(asked, say))

    def _limited(self, asked: Asked, say: Say) -> Say:
        """The reply as far as `num_predict` lets it come."""
        tokens, limit = _tokens(say.text), asked.body.get("options", {}).get("num_predict", 0)
        if say.unlimited or not 0 < limit <= len(tokens):
            return say
        return replace(say, text="".join(tokens[:limit]), end="length" if say.end == "done" else say.end)

    def _stream(self, asked: Asked, say: Say) -> None:
        tokens = _tokens(say.text)
        self._pause(self.ollama.first_token_due(asked, say))
        self._begin_stream()
        for token in tokens:
            first = asked.tokens_sent == 0
            self._send_line(_line(asked, token) | self._logprobs(asked, token, say.alternatives if first else {}))
            asked.tokens_sent += 1
            self._pause(self.ollama.next_token_due(asked, say))
        self._end_stream(asked, say)

    def _logprobs(self, asked: Asked, token: str, alternatives: dict[str, float]) -> dict[str, Any]:
        """As servers since 0.12.11 give them beside `message`; older ones ignore that they were asked to."""
        version = tuple(int(part) for part in self.ollama.version.split("."))
        if not asked.body.get("logprobs") or version < (0, 12, 11):
            return {}
        top = [_logprob(other, value) for other, value in (alternatives or {token: -0.01}).items()]
        said = _logprob(token, alternatives.get(token, -0.01))
        return {"logprobs": [said | {"top_logprobs": top[: asked.body.get("top_logprobs", 0)]}]}

    def _end_stream(self, asked: Asked, say: Say) -> None:
        if say.end == "hang":
            self._pause(lambda: math.inf)
        if say.end == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            raise Dropped
        if say.end == "close":
            raise Dropped
        if say.end == "error_line":
            self._send_line({"error": say.error})
        if say.end == "bad_line":
            self._send_chunk(say.line + b"\n")
        if say.end in ("done", "length"):
            self._send_line(_line(asked, "") | _ending(asked, say))
        self._send_chunk(b"")

    def _embed(self, asked: Asked, model: Model) -> None:
        if self.ollama.next_replies:
            say = self.ollama.next_replies.popleft()
            self._send(say.status, {"error": say.error})
            return
        texts = asked.body["input"]
        rows = self.ollama.embed([texts] if isinstance(texts, str) else texts, model.embedding_length)
        self._send(200, {"model": model.name, "embeddings": rows})

    def _pause(self, due: Due) -> None:
        """Wait until a time that may yet change, but notice when the client goes away or the server closes."""
        left = 0.0
        while left >= 0:
            ready, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if self.ollama.closing.is_set() or (ready and not self.connection.recv(1, socket.MSG_PEEK)):
                raise Dropped
            left = due() - time.monotonic()

    def _send(self, status: int, value: dict[str, Any] | None) -> None:
        """A whole reply: JSON, or what some other web server would say."""
        content = json.dumps(value).encode() if value is not None else b"404 page not found"
        kind = "application/json" if value is not None else "text/plain"
        self._send_bytes(status, content, {"Content-Type": kind})

    def _send_bytes(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send_line(self, value: dict[str, Any]) -> None:
        self._send_chunk(json.dumps(value).encode() + b"\n")

    def _send_chunk(self, content: bytes) -> None:
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()


def closed_address() -> str:
    """An address on this machine where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def _tokens(text: str) -> list[str]:
    """Words with the space before them, which is how tokens mostly look."""
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])] if text else []


def _line(asked: Asked, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"model": asked.body["model"], "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}


def _logprob(token: str, value: float) -> dict[str, Any]:
    return {"token": token, "logprob": value, "bytes": list(token.encode())}


def _ending(asked: Asked, say: Say) -> dict[str, Any]:
    seen = say.prompt_tokens if say.prompt_tokens is not None else round(1.3 * len(asked.prompt.split())) + 10
    return {
        "done": True,
        "done_reason": "length" if say.end == "length" else "stop",
        "prompt_eval_count": seen,
        "eval_count": len(_tokens(say.text)),
        "total_duration": 1,
        "eval_duration": 1,
    }
