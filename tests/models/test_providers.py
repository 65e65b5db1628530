"""Hosted providers through the same interface: schema in words, stops, faults, and OpenAI's real client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib.util import find_spec
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
from crag.types import ModelCall, Prompt
from tests.doubles.openai import Completion, OpenAIServer
from tests.doubles.outbound_log import ListOutboundLog
from tests.waiting import PATIENCE, wait_until

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}}

pytestmark = pytest.mark.skipif(find_spec("langchain_openai") is None, reason="pip install langchain-openai")
ASK = [Prompt("system", "Be short."), Prompt("user", "What is the capital of France?", about="answer: France?")]


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
                play.wait(PATIENCE)
                continue
            end = {"finish_reason": "max_tokens"} if play == "" else {}
            yield ChatGenerationChunk(message=AIMessageChunk(content=play, response_metadata=end))


def opened(monkeypatch: pytest.MonkeyPatch, *plays: Any) -> tuple[HostedModel, ChatModel]:
    hosted = HostedModel(plays=list(plays), saw=[])
    monkeypatch.setattr(chat_models, "_init_provider", lambda provider, model, tuning: hosted)
    return hosted, open_chat_model("openai:gpt-4o-mini", Settings(), ListOutboundLog())


def refused(status: int) -> Exception:
    error = RuntimeError("Incorrect API key provided: sk-secret")
    error.status_code = status
    return error


def test_the_schema_goes_in_words(monkeypatch):
    hosted, model = opened(monkeypatch, '{"verdict":', ' "yes"}', "")
    reply = model.complete([Prompt("system", "Judge."), Prompt("user", "A passage")], Cancellation(), schema=SCHEMA)
    assert (reply.text, reply.usage.finish_reason) == ('{"verdict": "yes"}', "length")
    assert '"enum": ["yes", "no"]' in str(hosted.saw[0][-1].content)
    assert str(hosted.saw[0][-1].content).startswith("A passage")


def test_stop_is_heard_while_the_provider_is_silent(monkeypatch):
    silence, stop = threading.Event(), Cancellation()
    _, model = opened(monkeypatch, "Paris", silence, " is")
    stream = model.stream([Prompt("user", "Capital?")], stop)
    assert next(stream).text == "Paris"
    threading.Timer(0.1, stop.cancel).start()
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
def test_faults_of_providers(monkeypatch, error, code, times):
    hosted, model = opened(monkeypatch, error)
    with pytest.raises(ModelFault) as fault:
        model.complete([Prompt("user", "Capital?")], Cancellation())
    assert fault.value.code == code
    assert len(hosted.saw) == times
    assert "secret" not in str(fault.value)


def test_every_langchain_provider_counts_as_remote():
    named = pytest.importorskip("langchain.chat_models.base")._BUILTIN_PROVIDERS
    assert [name for name in named if not is_provider(name)] == ["ollama"]


@pytest.fixture
def server(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "")  # so that what a test puts there is taken away again
        monkeypatch.delenv(name)
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def outbound_log():
    return ListOutboundLog()


@pytest.fixture
def model(server, outbound_log):
    settings = Settings(keys={"OPENAI_API_KEY": "sk-of-env", "OPENAI_BASE_URL": server.url})
    return open_chat_model("openai:gpt-4o-mini", settings, outbound_log)


def test_it_streams_with_key_and_usage_and_is_logged(server, model, outbound_log):
    server.usual = Completion("It is Paris.", "length")
    *pieces, last = model.stream(ASK, Cancellation())
    assert [piece.text for piece in pieces] == ["It", " is", " Paris."]
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.answer_tokens, last.usage.finish_reason) == (21, 3, "length")
    assert server.keys == ["Bearer sk-of-env"]
    assert [(host, kind) for host, kind, _ in outbound_log.entries] == [("openai", "model")]
    assert "sk-of-env" not in str(outbound_log.entries)


def test_what_is_told_of_a_call_holds_the_prompts_and_no_key(server, model):
    stop, told = Cancellation(), list[ModelCall]()
    stop.on_model_call = told.append
    server.usual = Completion("It is Paris.")
    model.complete(ASK, stop)
    (call,) = told
    assert (call.prompts, call.reply, call.prompt_tokens) == (tuple(ASK), "It is Paris.", 21)
    assert "sk-of-env" not in repr(call)


def test_one_token_comes_with_its_alternatives(server, model):
    server.usual = Completion("Yes it is", alternatives={"Yes": -0.1, "No": -2.5})
    said = model.first_token(ASK, Cancellation())
    assert (said.text, said.alternatives) == ("Yes", {"Yes": -0.1, "No": -2.5})


def test_busy_three_times_and_then_fine(server, model):
    server.replies.extend([Completion(status=429, error="slow down")] * 3)
    assert model.complete(ASK, Cancellation()).text == "Paris."
    assert len(server.bodies) == 4  # its client does not try again on top of that


@pytest.mark.parametrize(
    ("reply", "code", "remedy"),
    [
        (Completion(status=401, error="Incorrect API key provided: sk-of-env"), "key_missing", "Set OPENAI_API_KEY"),
        (Completion(status=404, error="no such model"), "model_missing", "Check the model's name"),
        (Completion(status=429, error="pay", code="insufficient_quota"), "no_access", "another model"),
        (Completion(status=400, error="long", code="context_length_exceeded"), "prompt_too_long", "fewer passages"),
    ],
)
def test_faults_name_what_to_do(server, model, reply, code, remedy):
    server.usual = reply
    with pytest.raises(ModelFault) as fault:
        model.complete(ASK, Cancellation())
    assert fault.value.code == code
    assert remedy in fault.value.remedy
    assert "sk-" not in str(fault.value)
    assert len(server.bodies) == 1


def test_a_stop_ends_the_reply_there_too(server, model):
    server.usual = Completion("word " * 200, per_token=0.02)
    stop = Cancellation()
    stream = model.stream(ASK, stop)
    assert next(stream).text == "word"
    threading.Timer(0.05, stop.cancel).start()
    with pytest.raises(Stopped):
        list(stream)
    wait_until(lambda: server.dropped == 1)


def test_without_a_key_it_says_which(server, outbound_log):
    with pytest.raises(ModelFault) as fault:
        open_chat_model("openai:gpt-4o-mini", Settings(), outbound_log)
    assert (fault.value.code, fault.value.remedy) == ("key_missing", "Set OPENAI_API_KEY to your key, then try again.")
