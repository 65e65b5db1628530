"""A scripted server of OpenAI's chat completions on the loopback interface, for the real client package."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.http_double import DoubleHandler, HttpDouble
from tests.doubles.little_model import embed_words


@dataclass
class Completion:
    """One reply, word by word with `per_token` seconds between; a `status` other than 200 sends `error` with `code`."""

    text: str = "Paris."
    finish: str = "stop"
    per_token: float = 0.0
    status: int = 200
    error: str = ""
    code: str = ""
    alternatives: dict[str, float] = field(default_factory=dict)


class _Handler(DoubleHandler):
    def answer(self) -> None:
        script, body = self.script, json.loads(self.read_body())
        script.bodies.append(body)
        script.keys.append(self.headers["Authorization"])
        reply = script.replies.popleft() if script.replies else script.usual
        if reply.status != 200:
            self._refuse(reply)
            return
        if self.path.endswith("/embeddings"):
            self._embed(body["input"])
            return
        try:
            self._stream(reply, body)
        except OSError:
            script.dropped += 1

    def _embed(self, texts: list[str]) -> None:
        rows = self.script.embed(texts, self.script.dimension)
        data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        self._send_json(200, {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": usage})

    def _refuse(self, reply: Completion) -> None:
        self._send_json(reply.status, {"error": {"message": reply.error, "code": reply.code or None}})

    def _send_json(self, status: int, value: dict[str, Any]) -> None:
        self.reply(json.dumps(value).encode(), status, {"Content-Type": "application/json"})

    def _stream(self, reply: Completion, body: dict[str, Any]) -> None:
        self.begin(200, {"Content-Type": "text/event-stream"})
        words = reply.text.split(" ")[: body.get("max_completion_tokens") or body.get("max_tokens")]
        for number, word in enumerate(words):
            told = _logprobs(word, reply.alternatives) if body.get("logprobs") else None
            self._send({"delta": {"content": f" {word}" if number else word}, "logprobs": told})
            self.script.closing.wait(reply.per_token)
        self._send({"delta": {}, "finish_reason": reply.finish})
        usage = {"prompt_tokens": 21, "completion_tokens": len(words), "total_tokens": 21 + len(words)}
        self._event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, Any]) -> None:
        self._event({"choices": [{"index": 0} | choice]})

    def _event(self, value: dict[str, Any]) -> None:
        told = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-mini"} | value
        self.wfile.write(b"data: " + json.dumps(told).encode() + b"\n\n")
        self.wfile.flush()


def _logprobs(word: str, alternatives: dict[str, float]) -> dict[str, Any]:
    top = [{"token": token, "logprob": value, "bytes": None} for token, value in alternatives.items()]
    return {"content": [{"token": word, "logprob": -0.1, "bytes": None, "top_logprobs": top}]}


@dataclass
class OpenAIServer(HttpDouble):
    """`replies` are used up before `usual`; `bodies` and `keys` are what was asked, and `dropped` counts who left.

    `embed` makes the rows for texts that are to be embedded, of `dimension` numbers each.
    """

    handler = _Handler
    usual: Completion = field(default_factory=Completion)
    replies: deque[Completion] = field(default_factory=deque)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    embed: Callable[[list[str], int], Any] = embed_words
    dimension: int = 96
    dropped: int = 0

    @property
    def url(self) -> str:
        return f"{super().url}/v1"
