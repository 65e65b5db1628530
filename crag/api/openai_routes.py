"""`/v1/chat/completions` and `/v1/models`, as OpenAI's clients know them.

Reference: https://platform.openai.com/docs/api-reference/chat. What is ours stands in the field `crag`.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from crag.api.access import OPENAI_PROBLEMS, Asker, Caller, Refused
from crag.api.questions import AskOptions, Text, run_json, start_run
from crag.app.followed_runs import follow_run
from crag.events import TokensWritten
from crag.runs.run import Run
from crag.runs.trace import Trace
from crag.types import Turn

MODEL = "crag"
_CLIENT_CLOSED_REQUEST = 499  # nobody reads it
_PRESET_SEPARATOR = ":"
_MAX_MESSAGES = 200
router = APIRouter(prefix="/v1", tags=["OpenAI"], responses=OPENAI_PROBLEMS)


class TextPart(BaseModel):
    """Part of a message; only text is understood."""

    type: Literal["text"]
    text: Text


class ChatMessage(BaseModel):
    """Message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """The text of all parts."""
        parts = [self.content] if isinstance(self.content, str) else [part.text for part in self.content or ()]
        return "\n".join(parts)


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """Request for an answer. The last message is the question; other fields of OpenAI's are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str = MODEL
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=_MAX_MESSAGES)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    crag: AskOptions = AskOptions()


@router.get("/models")
def list_models(caller: Asker) -> dict[str, Any]:
    """List what can be named as the model: `crag`, and `crag:` with the name of each preset."""
    names = [MODEL, *(f"{MODEL}{_PRESET_SEPARATOR}{name}" for name in caller.application.preferences.presets())]
    return {"object": "list", "data": [_model_json(name) for name in names]}


@router.get("/models/{name:path}")
def get_model(caller: Asker, name: str) -> dict[str, Any]:
    """Return one model."""
    _preset_of(name, caller)
    return _model_json(name)


@router.post("/chat/completions", response_model=None)
async def complete_chat(caller: Asker, request: Request, asked: ChatRequest) -> Response:
    """Answer the last message from the documents; earlier ones are its context."""
    preset = _preset_of(asked.model, caller)
    options = asked.crag.model_copy(update={"preset": preset}) if preset else asked.crag
    *earlier, last = asked.messages
    if last.role != "user":
        raise Refused(HTTPStatus.BAD_REQUEST, "The last message must be the user's.")
    turns = _read_turns(earlier)
    run, conversation_id = await anyio.to_thread.run_sync(lambda: start_run(caller, last.text, options, history=turns))
    made = {"id": f"chatcmpl-{run.id}", "created": int(time.time()), "model": asked.model}
    if asked.stream:
        usage = asked.stream_options is not None and asked.stream_options.include_usage
        chunks = _stream(caller, run, made, conversation_id, with_usage=usage)
        return StreamingResponse(chunks, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
    trace = await _wait(request, caller, run)
    if trace is None:
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    if trace.state == "failed":
        raise Refused(HTTPStatus.BAD_GATEWAY, trace.error, trace.remedy, trace.error_code)
    message = {"role": "assistant", "content": _content(trace), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(trace)}
    body = {"object": "chat.completion", "choices": [choice], "usage": _usage(trace)}
    return JSONResponse(made | body | {"crag": run_json(run.id, trace, conversation_id)})


async def _wait(request: Request, caller: Caller, run: Run) -> Trace | None:
    """Return the trace of the finished run; None if the client went away before, which stops the run."""
    trace: Trace | None = None

    async def watch_client() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch_client)
        so_far = Trace()
        async for event in follow_run(caller.application, run):
            so_far.apply(event)
        trace = so_far
        group.cancel_scope.cancel()
    return trace


async def _stream(
    caller: Caller, run: Run, made: dict[str, Any], conversation_id: str | None, *, with_usage: bool
) -> AsyncIterator[str]:
    """Yield server-sent events: the role, the text as it is written, the end with what is ours, and usage if wanted."""

    def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _event(made | {"object": "chat.completion.chunk", "choices": [choice]} | more)

    yield chunk({"role": "assistant", "content": ""})
    trace = Trace()
    async for event in follow_run(caller.application, run):
        trace.apply(event)
        if isinstance(event, TokensWritten):
            yield chunk({"content": event.text})
    if trace.state == "failed":
        yield _event({"error": {"message": f"{trace.error} {trace.remedy}".strip(), "type": "server_error"}})
    else:
        if trace.waiting:
            yield chunk({"content": _content(trace)})
        yield chunk({}, _finish_reason(trace), crag=run_json(run.id, trace, conversation_id))
        if with_usage:
            yield _event(made | {"object": "chat.completion.chunk", "choices": [], "usage": _usage(trace)})
    yield "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _content(trace: Trace) -> str:
    if trace.waiting:
        return f"Waiting for leave to send “{trace.waiting.query}” to {trace.waiting.host}."
    return trace.text


def _finish_reason(trace: Trace) -> str:
    return "length" if trace.unfinished else "stop"


def _usage(trace: Trace) -> dict[str, int]:
    prompt, answer = trace.usage.prompt_tokens or 0, trace.usage.answer_tokens or 0
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def _read_turns(messages: Sequence[ChatMessage]) -> tuple[Turn, ...]:
    """Return the turns of users and assistants; instructions to a model are none for the documents."""
    return tuple(
        Turn("user" if one.role == "user" else "assistant", one.text) for one in messages if one.role in _ROLES
    )


_ROLES = ("user", "assistant")


def _preset_of(model: str, caller: Caller) -> str:
    """Return the preset that a model stands for, empty for none. Raises `Refused` for an unknown model."""
    base, _, preset = model.partition(_PRESET_SEPARATOR)
    if base != MODEL or (preset and preset not in caller.application.preferences.presets()):
        message = f"The model “{model}” does not exist."
        raise Refused(HTTPStatus.NOT_FOUND, message, "List them at /v1/models.", "model_not_found")
    return preset


def _model_json(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "crag"}
