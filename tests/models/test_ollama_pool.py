"""Several Ollama hosts over real HTTP: which one gets a request, and where it goes on when that one fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.models.chat_models import open_chat_model
from crag.models.embedders import open_embedder
from crag.models.ollama_pull import pull_model
from crag.models.ollama_server import OllamaServer
from crag.options import ModelParameters
from crag.protocols import ChatModel, ReplyPiece
from crag.settings import Settings
from crag.types import Prompt
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import LLAMA, NOMIC, Say
from tests.doubles.outbound_log import ListOutboundLog
from tests.waiting import PATIENCE, wait_until

NAME, EMBEDDER = "ollama:llama3.1:8b", "ollama:nomic-embed-text"
ASK = [Prompt("user", "What is the capital of France?")]


@pytest.fixture
def first():
    with ScriptedOllama(script=lambda _: Say("First.")) as server:
        yield server


@pytest.fixture
def second():
    with ScriptedOllama(script=lambda _: Say("Second.")) as server:
        yield server


def hosts(*servers: ScriptedOllama | str) -> Settings:
    return Settings(ollama_host=",".join(one if isinstance(one, str) else one.url for one in servers))


def port_of(server: ScriptedOllama) -> int:
    return int(server.url.rpartition(":")[2])


def load(server: ScriptedOllama) -> None:
    OllamaServer(hosts(server)).load(LLAMA.name)


def opened(*servers: ScriptedOllama | str, parallelism: int = 0) -> ChatModel:
    return open_chat_model(NAME, hosts(*servers), tuning=ModelParameters(parallelism=parallelism))


def ask(model: ChatModel) -> str:
    return model.complete(ASK, Cancellation()).text


def test_the_host_with_the_model_in_memory_is_preferred(first, second):
    load(second)
    model = opened(first, second)
    assert [ask(model) for _ in range(3)] == ["Second."] * 3


def test_what_the_host_with_the_model_cannot_take_goes_to_another(first, second):
    load(second)

    def reply(_: object) -> Say:
        wait_until(lambda: first.chats and second.chats)
        return Say("Paris.")

    first.script = second.script = reply
    model = opened(first, second, parallelism=1)
    assert model.concurrency == 2
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: ask(model), range(2), timeout=PATIENCE)) == ["Paris."] * 2
    assert (len(first.chats), len(second.chats)) == (1, 1)


def test_requests_are_spread_while_no_host_has_the_model_in_memory(first, second):
    def reply(_: object) -> Say:
        wait_until(lambda: first.chats and second.chats)
        return Say("Paris.")

    first.script = second.script = reply
    model = opened(first, second)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: ask(model), range(2), timeout=PATIENCE)) == ["Paris."] * 2


def test_a_host_that_does_not_answer_is_left_out(second):
    assert ask(opened(closed_address(), second)) == "Second."


def test_a_host_that_answers_again_is_used_again(first, second, monkeypatch):
    monkeypatch.setattr("crag.models.ollama_pool.LEFT_OUT_SECONDS", 0.0)
    first.models = []
    with ScriptedOllama(script=lambda _: Say("Third.")) as third:
        load(third)
        model = opened(second, third)
        assert ask(model) == "Third."
    assert ask(model) == "Second."
    with ScriptedOllama(script=lambda _: Say("Third."), port=port_of(third)) as again:
        load(again)
        wait_until(lambda: ask(model) == "Third.")


def test_a_host_that_was_left_out_is_asked_where_no_other_has_the_model(first):
    first.models = [NOMIC]
    with ScriptedOllama() as second:
        model, server = opened(first, second), OllamaServer(hosts(first, second))
    assert server.hosts()[1].fault
    with ScriptedOllama(script=lambda _: Say("Second."), port=port_of(second)):
        assert ask(model) == "Second."


def test_hosts_that_were_all_down_are_asked_again_at_once():
    with ScriptedOllama() as server:
        addresses = closed_address(), server.url
    with pytest.raises(ModelFault, match="does not answer"):
        opened(*addresses)
    with ScriptedOllama(script=lambda _: Say("Again."), port=port_of(server)):
        assert ask(opened(*addresses)) == "Again."


def test_a_model_that_one_host_has_is_asked_there(first, second):
    first.models = [NOMIC]
    model = opened(first, second)
    assert ask(model) == "Second."
    assert model.concurrency == opened(second).concurrency
    with pytest.raises(ModelFault) as fault:
        open_chat_model("ollama:qwen3:4b", hosts(first, second))
    assert fault.value.code == "model_missing"


def test_another_version_of_the_model_does_not_answer_for_it(first, second):
    second.models = [replace(LLAMA, digest="c" * 64), replace(NOMIC, digest="d" * 64)]
    load(second)
    assert ask(opened(first, second)) == "First."
    open_embedder(EMBEDDER, hosts(first, second)).embed_query("Where?")
    assert not second.asked("/api/embed")


@pytest.mark.parametrize(
    "failure",
    [
        Say(status=503, error="server busy, please try again"),
        Say(status=500, error="model requires more system memory (9.1 GiB) than is available (4.2 GiB)"),
        Say("", end="reset"),
    ],
)
def test_a_failure_before_the_first_token_goes_on_at_another_host(first, second, failure):
    load(first)
    first.script = lambda _: failure
    assert ask(opened(first, second)) == "Second."
    assert len(first.chats) == 1


def test_a_failure_after_the_first_token_is_told(first, second):
    load(first)
    first.script = lambda _: Say("Paris is the capital", end="error_line", error="llama runner process has terminated")
    pieces = list[ReplyPiece]()
    with pytest.raises(ModelFault) as fault:
        pieces.extend(opened(first, second).stream(ASK, Cancellation()))
    assert fault.value.fault == "partial"
    assert "".join(piece.text for piece in pieces) == "Paris is the capital"
    assert not second.chats


def test_a_request_that_every_host_would_refuse_is_sent_once(first, second):
    load(first)
    first.script = lambda _: Say(status=400, error="the input length exceeds the context length")
    with pytest.raises(ModelFault) as fault:
        ask(opened(first, second))
    assert fault.value.code == "prompt_too_long"
    assert (len(first.chats), second.chats) == (1, [])


def test_if_all_hosts_fail_what_may_pass_is_tried_again(first, second):
    load(first)
    first.fail_next(1, 500, "CUDA error: out of memory")
    second.fail_next(1, 503)
    assert ask(opened(first, second)) == "First."
    assert (len(first.chats), len(second.chats)) == (2, 1)


def test_hosts_that_are_all_down_are_all_named():
    addresses = closed_address(), closed_address()
    with pytest.raises(ModelFault) as fault:
        opened(*addresses)
    assert fault.value.message == "Ollama does not answer at {}, {}.".format(*(one[7:] for one in addresses))


def test_embedding_goes_on_at_another_host(first, second):
    embedder = open_embedder(EMBEDDER, hosts(first, second))
    first.fail_next(1, 500, "llama runner process has terminated")
    assert embedder.embed_documents(["bees", "towers"]).shape == (2, NOMIC.embedding_length)
    assert (len(first.asked("/api/embed")), len(second.asked("/api/embed"))) == (1, 1)


def test_only_what_goes_to_another_machine_is_recorded(first, second, monkeypatch):
    monkeypatch.setattr("crag.settings._LOCAL_HOSTS", ("127.0.0.1",))
    away, log = second.url.replace("127.0.0.1", "localhost"), ListOutboundLog()
    model = open_chat_model(NAME, hosts(first, away), log)
    label = away.removeprefix("http://")
    assert model.host == label
    load(first)
    assert ask(model) == "First."
    assert log.entries == []
    first.script = lambda _: Say(status=503, error="server busy")
    assert ask(model) == "Second."
    embedder = open_embedder(EMBEDDER, hosts(first, away), log)
    first.fail_next(1, 503)
    embedder.embed_query("Where?")
    assert [(host, kind) for host, kind, _ in log.entries] == [(label, "model"), (label, "embedding")]


def test_the_first_host_that_answers_pulls(first, second):
    log = ListOutboundLog()
    pull_model("llama3.2:1b", hosts(closed_address(), second, first), log, lambda _: None, Cancellation())
    assert second.has("llama3.2:1b")
    assert not first.has("llama3.2:1b")
    assert log.entries[0][2].endswith(f"fetched by Ollama at {second.url.removeprefix('http://')}")


def test_a_model_that_was_just_pulled_answers_and_is_unloaded(first, second):
    first.models = second.models = [NOMIC]
    server = OllamaServer(hosts(first, second))
    assert [len(status.installed) for status in server.hosts()] == [1, 1]
    second.models = [LLAMA]
    assert ask(opened(first, second)) == "Second."
    first.models = [replace(LLAMA, name="llama3.2:1b")]
    server.unload("llama3.2:1b")


def test_models_of_all_hosts_are_listed_and_deleted_everywhere(first, second):
    first.models, second.models = [NOMIC], [LLAMA, NOMIC]
    server = OllamaServer(hosts(first, second))
    server.load(LLAMA.name)
    assert {model.name: model.loaded for model in server.models()} == {NOMIC.name: False, LLAMA.name: True}
    assert [list(status.loaded) for status in server.hosts()] == [[], [LLAMA.name]]
    server.unload(LLAMA.name)
    assert not second.memory.held
    server.delete(NOMIC.name)
    assert (first.models, second.models) == ([], [LLAMA])


def test_the_fault_names_the_host_on_which_a_model_could_not_be_deleted(
    first: ScriptedOllama, second: ScriptedOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    first.models, second.models = [NOMIC], [NOMIC]
    monkeypatch.setattr(first, "remove", lambda _model: 1 / 0)  # its reply is an error of the server
    with pytest.raises(ModelFault, match=rf"{NOMIC.name} was not deleted on 127\.0\.0\.1:{port_of(first)}: "):
        OllamaServer(hosts(first, second)).delete(NOMIC.name)
    assert (first.models, second.models) == ([NOMIC], [])
