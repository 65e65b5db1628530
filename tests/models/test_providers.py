"""Other providers pass through the same seam: the schema goes in words, stops are heard, faults name what to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.models import chat_models
from crag.models.chat_models import open_chat_model
from crag.models.providers import is_provider
from crag.protocols import ChatModel
from crag.settings import Settings
from crag.types import Prompt
from tests.doubles.ledger import ListLedger

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}}


class HostedModel(BaseChatModel):
    """A provider's chat model that plays a list of pieces, errors and waits."""

    plays: list[Any]
    saw: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "hosted"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        self.saw.append(messages)
        for play in self.plays:
            if isinstance(play, Exception):
                raise play
            if isinstance(play, threading.Event):
                play.wait(10)
                continue
            end = {"finish_reason": "max_tokens"} if play == "" else {}
            yield ChatGenerationChunk(message=AIMessageChunk(content=play, response_metadata=end))


def opened(monkeypatch: pytest.MonkeyPatch, *plays: Any) -> tuple[HostedModel, ChatModel]:
    hosted = HostedModel(plays=list(plays), saw=[])
    monkeypatch.setattr(chat_models, "_init_provider", lambda provider, model, tuning: hosted)
    return hosted, open_chat_model("openai:gpt-4o-mini", Settings(), ListLedger())


def refused(status: int) -> Exception:
    error = RuntimeError("Incorrect API key provided: sk-secret")
    error.status_code = status
    return error


def test_the_schema_goes_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    hosted, model = opened(monkeypatch, '{"verdict":', ' "yes"}', "")
    reply = model.complete([Prompt("system", "Judge."), Prompt("user", "A passage")], Cancellation(), schema=SCHEMA)
    assert (reply.text, reply.usage.finish_reason) == ('{"verdict": "yes"}', "length")
    assert '"enum": ["yes", "no"]' in str(hosted.saw[0][-1].content)
    assert str(hosted.saw[0][-1].content).startswith("A passage")


def test_stop_is_heard_while_the_provider_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    silence, stop = threading.Event(), Cancellation()
    _, model = opened(monkeypatch, "Paris", silence, " is")
    stream = model.stream([Prompt("user", "Capital?")], stop)
    assert next(stream).text == "Paris"
    threading.Timer(0.1, stop.request).start()
    with pytest.raises(Stopped):
        next(stream)
    silence.set()


@pytest.mark.parametrize(
    ("error", "code", "times"),
    [
        (refused(401), "key_missing", 1),
        (refused(404), "model_missing", 1),
        (refused(429), "busy", 6),
        (refused(500), "server_error", 3),
        (httpx.ConnectError("no route to api.example.com"), "unreachable", 3),
        (RuntimeError("sk-secret"), "model_failed", 1),
    ],
)
def test_faults_of_providers(monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, times: int) -> None:
    hosted, model = opened(monkeypatch, error)
    with pytest.raises(ModelFault) as fault:
        model.complete([Prompt("user", "Capital?")], Cancellation())
    assert fault.value.code == code
    assert len(hosted.saw) == times
    assert "secret" not in str(fault.value)


def test_every_name_that_langchain_takes_is_known_to_lead_elsewhere() -> None:
    named = pytest.importorskip("langchain.chat_models.base")._BUILTIN_PROVIDERS
    assert [name for name in named if not is_provider(name)] == ["ollama"]
