"""One token and its alternatives over real HTTP, with what older servers and other providers make of the wish."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.models import chat_models
from crag.models.chat_models import open_chat_model
from crag.models.reply_reader import parse_alternatives
from crag.protocols import ChatModel
from crag.settings import Settings
from crag.types import Prompt
from tests.doubles.ledger import ListLedger
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say

ASK = [Prompt("system", "Yes or no?"), Prompt("user", "Is Paris the capital of France?")]
LIKELY = {"Yes": -0.1, "No": -2.4, " yes": -5.0}


def opened(settings: Settings) -> ChatModel:
    return open_chat_model("ollama:llama3.1:8b", settings)


def test_one_token_comes_with_its_alternatives(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.script = lambda asked: Say("Yes it is", alternatives=LIKELY, prompt_tokens=40)
    said = opened(settings).first_token(ASK, Cancellation())
    assert (said.text, said.alternatives) == ("Yes", LIKELY)
    assert (said.usage.prompt_tokens, said.usage.answer_tokens) == (40, 1)
    assert ollama.chats[0].tokens_sent == 1


def test_it_asks_for_no_other_window_than_every_role(ollama: ScriptedOllama, settings: Settings) -> None:
    model = opened(settings)
    model.first_token(ASK, Cancellation())
    model.complete(ASK, Cancellation())
    one, whole = (asked.body for asked in ollama.chats)
    assert one["options"] == whole["options"] | {"num_predict": 1}
    assert (one["logprobs"], one["think"], one["keep_alive"]) == (True, False, whole["keep_alive"])
    assert one["top_logprobs"] == 20
    assert not whole.get("logprobs")


def test_an_old_server_gives_the_text_alone(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.version = "0.12.10"
    ollama.script = lambda asked: Say("Yes", alternatives=LIKELY)
    said = opened(settings).first_token(ASK, Cancellation())
    assert (said.text, said.alternatives) == ("Yes", {})


def test_faults_and_stops_are_those_of_every_call(ollama: ScriptedOllama, settings: Settings) -> None:
    model = opened(settings)
    ollama.fail_next(2, 503)
    assert model.first_token(ASK, Cancellation()).text
    assert len(ollama.chats) == 3
    ollama.fail_next(1, 404, "model 'llama3.1:8b' not found")
    with pytest.raises(ModelFault, match="no model called"):
        model.first_token(ASK, Cancellation())
    ollama.script = lambda asked: Say("Yes", first_token_after=60)
    stop = Cancellation()
    threading.Timer(0.1, stop.request).start()
    with pytest.raises(Stopped):
        model.first_token(ASK, stop)


class Hosted(BaseChatModel):
    """A provider's model that says Yes; with log-probabilities as OpenAI streams them, or refusing to tell them."""

    refuses: bool = False
    asked: list[dict[str, Any]] = []  # noqa: RUF012 — pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "hosted"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Iterator[Any]:
        self.asked.append(options)
        if options.get("logprobs") and self.refuses:
            error = RuntimeError("logprobs are not supported")
            error.status_code = 400  # type: ignore[attr-defined]
            raise error
        yield ChatGenerationChunk(message=AIMessageChunk(""), generation_info={"logprobs": {"content": []}})
        top = [{"token": token, "logprob": value, "bytes": None} for token, value in LIKELY.items()]
        told = {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]} if "logprobs" in options else None
        yield ChatGenerationChunk(message=AIMessageChunk("Yes"), generation_info={"logprobs": told} if told else None)


def hosted(monkeypatch: pytest.MonkeyPatch, name: str, refuses: bool = False) -> tuple[Hosted, ChatModel]:
    model = Hosted(refuses=refuses)
    monkeypatch.setattr(chat_models, "_init_provider", lambda provider, wanted, tuning: model)
    return model, open_chat_model(name, Settings(), ListLedger())


def test_openai_is_asked_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    provider, model = hosted(monkeypatch, "openai:gpt-4o-mini")
    assert model.first_token(ASK, Cancellation()).alternatives == LIKELY
    assert provider.asked == [{"max_tokens": 1, "logprobs": True, "top_logprobs": 20}]


def test_a_provider_that_is_not_known_to_tell_is_asked_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    provider, model = hosted(monkeypatch, "anthropic:claude")
    assert (model.first_token(ASK, Cancellation()).text, model.first_token(ASK, Cancellation()).alternatives) == (
        "Yes",
        {},
    )
    assert provider.asked == [{}, {}]


def test_a_model_that_refuses_to_tell_is_asked_plainly_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    provider, model = hosted(monkeypatch, "openai:o9", refuses=True)
    assert [model.first_token(ASK, Cancellation()).text for _ in range(2)] == ["Yes", "Yes"]
    assert [bool(options) for options in provider.asked] == [True, False, False]


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        {"content": None},
        {"content": []},
        "yes",
        [None],
        [{"token": 3, "logprob": "x"}],
        [{"token": "a"}],
        [{"token": "a", "logprob": -(10**400), "top_logprobs": 5}],
        [{"token": "a", "logprob": 10**400}],
    ],
)
def test_what_is_not_a_list_of_tokens_tells_nothing(told: Any) -> None:
    assert parse_alternatives(told) == {}


def test_only_logarithms_of_probabilities_count() -> None:
    top = [{"token": "No", "logprob": float("nan")}, {"token": "yes", "logprob": 3.0}, {"token": "NO", "logprob": -9}]
    assert parse_alternatives([SimpleNamespace(token="Yes", logprob=-0.5, top_logprobs=top)]) == {"Yes": -0.5, "NO": -9}
