"""The routes of the scripted Ollama server, and how a stream ends or breaks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from tests.doubles.ollama_connection import Connection, Dropped
from tests.doubles.ollama_memory import NotLoaded
from tests.doubles.ollama_registry import Mishap
from tests.doubles.ollama_values import Asked, Model, Say


class Handler(Connection):
    """What each address answers."""

    def do_GET(self) -> None:  # noqa: N802 — the name of the base class
        self._record({})
        if self.path == "/api/version":
            self._send(200, {"version": self.ollama.version})
        elif self.path == "/api/tags":
            self._send(200, {"models": [model.tags() for model in self.ollama.models]})
        elif self.path == "/api/ps":
            self._send(200, {"models": self.ollama.memory.listed()})
        else:
            self._send(404, None)

    def do_POST(self) -> None:  # noqa: N802 — the name of the base class
        asked = self._record(self._body())
        model = self.ollama.has(asked.body.get("model", ""))
        work = {"/api/chat": self._chat, "/api/embed": self._embed, "/api/generate": self._generate}
        if self.path == "/api/pull":
            self._settle(asked, self._pull)
        elif model is None:
            self._send_missing(asked)
        elif self.path == "/api/show":
            self._send(200, model.shown())
        elif self.path in work:
            self._settle(asked, partial(work[self.path], model))
        else:
            self._send(404, None)

    def do_DELETE(self) -> None:  # noqa: N802 — the name of the base class
        asked = self._record(self._body())
        model = self.ollama.has(asked.body.get("model", ""))
        if self.path != "/api/delete":
            self._send(404, None)
        elif model is None:
            self._send_missing(asked)
        else:
            self.ollama.remove(model)
            self._send_content(200, b"", "text/plain")

    def _settle(self, asked: Asked, answer: Callable[[Asked], None]) -> None:
        try:
            answer(asked)
            asked.outcome = "finished"
        except NotLoaded as error:
            self._send(500, {"error": str(error)})
            asked.outcome = "finished"
        except (Dropped, OSError):
            asked.outcome = "dropped"
            self.close_connection = True
        asked.ended = time.monotonic()

    def _generate(self, model: Model, asked: Asked) -> None:
        """With an empty prompt: to load, or to unload."""
        unloads = asked.body.get("keep_alive") == 0
        if unloads:
            self.ollama.memory.unload(model.name)
        elif "bert" in model.family:
            self._send(400, {"error": f'"{model.name}" does not support generate'})
            return
        else:
            self._load(model, asked)
        told = {"model": model.name, "created_at": "2026-01-01T00:00:00Z", "response": "", "done": True}
        self._send(200, told | {"done_reason": "unload" if unloads else "load"})

    def _load(self, model: Model, asked: Asked) -> None:
        if not model.remote_host:
            self.ollama.memory.load(model, asked, self._pause)

    def _pull(self, asked: Asked) -> None:
        self._begin_stream()
        name = asked.body["model"]
        offer = self.ollama.registry.get(name) or self.ollama.registry.get(f"{name}:latest")
        if offer is None:
            self._send_line({"status": "pulling manifest"})
            self._send_line({"error": "pull model manifest: file does not exist"})
            self._send_chunk(b"")
            return
        for seconds, line in offer.lines():
            due = time.monotonic() + seconds
            self._pause(lambda due=due: due)  # type: ignore[misc]
            if isinstance(line, Mishap):
                self._go_wrong(line)
                return
            if line["status"] == "success":
                self.ollama.install(offer.model)
            self._send_line(line)
        self._send_chunk(b"")

    def _go_wrong(self, mishap: Mishap) -> None:
        if mishap.kind == "hang":
            self._pause(lambda: math.inf)
        if mishap.kind == "reset":
            self._reset()
        if mishap.kind == "error":
            self._send_line({"error": mishap.error})
        self._send_chunk(b"")

    def _chat(self, model: Model, asked: Asked) -> None:
        if asked.body.get("think") and not model.thinks:
            self._send(400, {"error": f'"{model.name}" does not support thinking'})
            return
        self._load(model, asked)
        with self.ollama.working(asked):
            self._reply(asked, self._thought_over(asked, model, self.ollama.reply_to(asked)))

    def _thought_over(self, asked: Asked, model: Model, say: Say) -> Say:
        """The reply with its thought, if the model thinks (it does, unless told not to), as far as `num_predict`."""
        thought = say.thought if model.thinks and asked.body.get("think") is not False else ""
        thoughts, words = _tokens(thought), _tokens(say.text)
        limit = asked.body.get("options", {}).get("num_predict", 0)
        if say.unlimited or not 0 < limit <= len(thoughts) + len(words):
            return replace(say, thought=thought)
        kept = "".join(words[: max(0, limit - len(thoughts))])
        return replace(
            say, thought="".join(thoughts[:limit]), text=kept, end="length" if say.end == "done" else say.end
        )

    def _reply(self, asked: Asked, say: Say) -> None:
        if say.body is not None:
            self._pause(self.ollama.first_token_due(asked, say))
            self._send_content(say.status, say.body, "text/html", say.headers)
        elif say.status != 200:
            self._send(say.status, {"error": say.error})
        elif asked.body.get("stream", True):
            self._stream(asked, say)
        else:
            self._pause(self.ollama.first_token_due(asked, say))
            reply = _line(asked, say.text, say.thought) | _ending(asked, say)
            self.ollama.end_work(asked)
            self._send(200, reply)

    def _stream(self, asked: Asked, say: Say) -> None:
        self._pause(self.ollama.first_token_due(asked, say))
        self._begin_stream()
        for thought in _tokens(say.thought):
            self._send_line(_line(asked, "", thought))
            self._pause(self.ollama.next_token_due(asked, say))
        for token in _tokens(say.text):
            alternatives = say.alternatives if asked.tokens_sent == say.alternatives_at else {}
            self._send_line(_line(asked, token) | self._logprobs(asked, token, alternatives))
            asked.tokens_sent += 1
            self._pause(self.ollama.next_token_due(asked, say))
        self._end_stream(asked, say)

    def _logprobs(self, asked: Asked, token: str, alternatives: dict[str, float]) -> dict[str, Any]:
        """As servers since 0.12.11 give them beside `message`; older ones ignore that they were asked to."""
        version = tuple(int(part) for part in self.ollama.version.split("."))
        if not asked.body.get("logprobs") or version < (0, 12, 11):
            return {}
        top = [_logprob(other, value) for other, value in (alternatives or {token: -0.01}).items()]
        unlisted = min(alternatives.values(), default=0.99) - 1
        said = _logprob(token, alternatives.get(token, unlisted))
        return {"logprobs": [said | {"top_logprobs": top[: asked.body.get("top_logprobs", 0)]}]}

    def _end_stream(self, asked: Asked, say: Say) -> None:
        if say.end == "hang":
            self._pause(lambda: math.inf)
        if say.end == "reset":
            self._reset()
        if say.end == "close":
            raise Dropped
        if say.end == "error_line":
            self._send_line({"error": say.error})
        if say.end == "bad_line":
            self._send_chunk(say.line + b"\n")
        if say.end in ("done", "length"):
            self.ollama.end_work(asked)
            self._send_line(_line(asked, "") | _ending(asked, say))
        self._send_chunk(b"")

    def _embed(self, model: Model, asked: Asked) -> None:
        if self.ollama.next_replies:
            say = self.ollama.next_replies.popleft()
            self._send(say.status, {"error": say.error})
            return
        self._load(model, asked)
        with self.ollama.working(asked):
            texts = asked.body["input"]
            rows = self.ollama.embed([texts] if isinstance(texts, str) else texts, model.embedding_length)
            self._send(200, {"model": model.name, "embeddings": rows})

    def _send_missing(self, asked: Asked) -> None:
        self._send(404, {"error": f"model '{asked.body.get('model')}' not found"})


def _tokens(text: str) -> list[str]:
    """Words with the space before them, which is how tokens mostly look."""
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])] if text else []


def _line(asked: Asked, text: str, thought: str = "") -> dict[str, Any]:
    message = {"role": "assistant", "content": text} | ({"thinking": thought} if thought else {})
    return {"model": asked.body["model"], "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}


def _logprob(token: str, value: float) -> dict[str, Any]:
    return {"token": token, "logprob": value, "bytes": list(token.encode())}


def _ending(asked: Asked, say: Say) -> dict[str, Any]:
    seen = say.prompt_tokens if say.prompt_tokens is not None else round(1.3 * len(asked.prompt.split())) + 10
    return {
        "done": True,
        "done_reason": "length" if say.end == "length" else "stop",
        "prompt_eval_count": seen,
        "eval_count": len(_tokens(say.thought)) + len(_tokens(say.text)),
        "total_duration": 1,
        "eval_duration": 1,
    }
