"""A hosted provider for real: LangChain's own package for OpenAI against a scripted server, with a key from `.env`."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.models.chat_models import open_chat_model
from crag.protocols import ChatModel
from crag.settings import Settings
from crag.types import ModelCall, Prompt
from tests.doubles.ledger import ListLedger
from tests.doubles.openai import Completion, OpenAIServer
from tests.waiting import wait_until

pytest.importorskip("langchain_openai", reason="pip install langchain-openai")
ASK = [Prompt("system", "Be short."), Prompt("user", "What is the capital of France?", about="answer: France?")]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "")  # so that what a test puts there is taken away again
        monkeypatch.delenv(name)
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def ledger() -> ListLedger:
    return ListLedger()


@pytest.fixture
def model(server: OpenAIServer, ledger: ListLedger) -> ChatModel:
    settings = Settings(keys={"OPENAI_API_KEY": "sk-of-env", "OPENAI_BASE_URL": server.url})
    return open_chat_model("openai:gpt-4o-mini", settings, ledger)


def test_it_streams_with_its_key_and_its_count_and_is_written_down(
    server: OpenAIServer, model: ChatModel, ledger: ListLedger
) -> None:
    server.usual = Completion("It is Paris.", "length")
    *pieces, last = model.stream(ASK, Cancellation())
    assert [piece.text for piece in pieces] == ["It", " is", " Paris."]
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.answer_tokens, last.usage.finish_reason) == (21, 3, "length")
    assert server.keys == ["Bearer sk-of-env"]
    assert [(host, kind) for host, kind, _ in ledger.entries] == [("openai", "model")]
    assert "sk-of-env" not in str(ledger.entries)


def test_what_is_told_of_a_call_holds_the_prompts_and_no_key(server: OpenAIServer, model: ChatModel) -> None:
    stop, told = Cancellation(), list[ModelCall]()
    stop.on_model_call = told.append
    server.usual = Completion("It is Paris.")
    model.complete(ASK, stop)
    (call,) = told
    assert (call.prompts, call.reply, call.prompt_tokens) == (tuple(ASK), "It is Paris.", 21)
    assert "sk-of-env" not in repr(call)


def test_one_token_comes_with_its_alternatives(server: OpenAIServer, model: ChatModel) -> None:
    server.usual = Completion("Yes it is", alternatives={"Yes": -0.1, "No": -2.5})
    said = model.first_token(ASK, Cancellation())
    assert (said.text, said.alternatives) == ("Yes", {"Yes": -0.1, "No": -2.5})


def test_busy_three_times_and_then_fine(server: OpenAIServer, model: ChatModel) -> None:
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
def test_faults_name_what_to_do(
    server: OpenAIServer, model: ChatModel, reply: Completion, code: str, remedy: str
) -> None:
    server.usual = reply
    with pytest.raises(ModelFault) as fault:
        model.complete(ASK, Cancellation())
    assert fault.value.code == code
    assert remedy in fault.value.remedy
    assert "sk-" not in str(fault.value)
    assert len(server.bodies) == 1


def test_a_stop_ends_the_reply_there_too(server: OpenAIServer, model: ChatModel) -> None:
    server.usual = Completion("word " * 200, per_token=0.02)
    stop = Cancellation()
    stream = model.stream(ASK, stop)
    assert next(stream).text == "word"
    threading.Timer(0.05, stop.request).start()
    with pytest.raises(Stopped):
        list(stream)
    wait_until(lambda: server.dropped == 1, seconds=5)


def test_without_a_key_it_says_which(server: OpenAIServer, ledger: ListLedger) -> None:
    with pytest.raises(ModelFault) as fault:
        open_chat_model("openai:gpt-4o-mini", Settings(), ledger)
    assert (fault.value.code, fault.value.remedy) == ("key_missing", "Set OPENAI_API_KEY to your key, then try again.")
