"""Servers that are down, silent or not Ollama: what is shown and kept, and that the application recovers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.applications import wait
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import Model, Say
from tests.doubles.web import Canary, WebServer, serving
from tests.faults.asking import LLAMA, QUESTION, ask, assert_all_is_well, start, when_writing
from tests.served import free_port
from tests.waiting import wait_until

START = "Start it with `ollama serve`, then try again."
NOT_OLLAMA = "The server at {host} is not Ollama."
POINT_TO_OLLAMA = "Set OLLAMA_HOST to the address of Ollama."


@pytest.fixture
def mute(impatient_probes: None) -> Iterator[str]:
    """The address of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def other_server() -> Iterator[WebServer]:
    with serving() as server:
        yield server


def host(address: str) -> str:
    return address.removeprefix("http://").strip("/")


def assert_question_is_kept(application, conversation: str, trace, question: str = QUESTION) -> None:
    """The question and the place of its answer are there after the fault, as they are after a restart."""
    asked, answered = application.conversations.messages(conversation)
    assert (asked.role, asked.text) == ("user", question)
    assert (answered.role, answered.state, answered.text) == ("assistant", "failed", trace.text)


def test_56_port_closed(opened, ollama):
    """Nothing listens: the command that starts it is named, and once it runs the same conversation goes on."""
    address = closed_address()
    application = opened(ollama_host=address)
    conversation = application.conversations.create().id
    trace = ask(application, conversation=conversation)
    assert (trace.state, trace.error_code) == ("failed", "unreachable")
    assert trace.error == f"Ollama does not answer at {host(address)}."
    assert trace.remedy == START
    assert_question_is_kept(application, conversation, trace)
    application.close()
    assert_all_is_well(opened(), ollama, conversation)


def test_57_hangs_after_accept_and_is_given_up(opened, mute, ollama, monkeypatch):
    monkeypatch.setattr("crag.models.ollama_api.REQUEST_SECONDS", 0.3)
    application = opened(ollama_host=mute)
    trace = ask(application)
    assert (trace.state, trace.error_code) == ("failed", "silent")
    assert trace.error == "Ollama stopped responding."
    assert trace.remedy == "Restart the model server, then try again."
    application.close()
    monkeypatch.undo()
    assert_all_is_well(opened(), ollama)


def test_57_hangs_after_accept_and_auto_answers_without_it(opened, mute):
    trace = ask(opened(ollama_host=mute), model="auto")
    assert (trace.state, trace.outcome, trace.model) == ("done", "quoted", "Built-in engine")


@pytest.mark.parametrize("when", ["while grading", "while writing"])
def test_57_stop_is_heard_at_once_by_a_server_that_hangs(opened, ollama, when):
    application = opened()
    usual, hang = ollama.script, Say("", first_token_after=600)
    ollama.script = lambda asked: hang if asked.writes == (when == "while writing") else usual(asked)
    run = start(application)
    wait_until(lambda: run.current_wait())
    wait_until(lambda: ollama.chats and ollama.chats[-1].writes == (when == "while writing"))
    application.runs.stop(run.id)
    trace = wait(run)
    assert (trace.state, trace.error) == ("stopped", "")
    assert_all_is_well(application, ollama)


def test_57_a_model_that_stays_silent_is_given_up_at_last(opened, ollama, monkeypatch):
    """In an application of its own: one that has asked a model before keeps the connection's limits."""
    monkeypatch.setattr("crag.models.connections.SILENCE_SECONDS", 0.3)
    when_writing(ollama, Say("", first_token_after=600))
    application = opened()
    trace = ask(application)
    assert (trace.state, trace.error_code) == ("failed", "silent")
    assert trace.error == "Ollama stopped responding."
    assert trace.remedy == "Restart the model server, then try again."
    application.close()
    monkeypatch.undo()
    assert_all_is_well(opened(), ollama)


@dataclass(frozen=True)
class Elsewhere:
    """What another web server answers to every question for models."""

    name: str
    body: bytes = b""
    status: int = 200


OTHERS = [
    Elsewhere("html-with-200", b"<html><h1>It works!</h1></html>"),
    Elsewhere("403-of-a-proxy", b"<h1>Forbidden</h1>", 403),
    Elsewhere("a-list", b"[]"),
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.name)
def test_wrong_port(opened, other_server, other):
    other_server.page("/api/tags", other.body, status=other.status)
    application = opened(ollama_host=other_server.url("").rstrip("/"))
    trace = ask(application)
    assert (trace.state, trace.error_code) == ("failed", "not_ollama")
    assert trace.error == NOT_OLLAMA.format(host=host(other_server.url("")))
    assert trace.remedy == POINT_TO_OLLAMA
    assert "html" not in f"{trace.error}{trace.remedy}".lower()
    assert ask(application, model="auto").outcome == "quoted"


@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_is_never_followed(application, ollama, status):
    """Who is asked decides where a question goes: nobody else may send it on."""
    canary = Canary()
    elsewhere = Say(status=status, body=b"", headers={"Location": f"http://127.0.0.1:{canary.port}/api/chat"})
    when_writing(ollama, elsewhere, for_ever=True)
    trace = ask(application)
    assert canary.hits() == 0
    canary.close()
    assert (trace.state, trace.error_code) == ("failed", "not_ollama")
    assert trace.error == NOT_OLLAMA.format(host=host(ollama.url))
    assert trace.remedy == POINT_TO_OLLAMA
    assert_all_is_well(application, ollama)


def test_a_redirect_of_the_list_of_models_is_not_followed_either(opened, other_server):
    canary = Canary()
    other_server.redirect("/api/tags", f"http://127.0.0.1:{canary.port}/api/tags", 307)
    trace = ask(opened(ollama_host=other_server.url("").rstrip("/")))
    assert (trace.error_code, canary.hits()) == ("not_ollama", 0)
    canary.close()


def test_a_server_without_log_probabilities_grades_and_answers(application, ollama):
    ollama.version = "0.5.0"
    trace = ask(application, grader="score")
    assert (trace.state, trace.outcome, trace.error) == ("done", "documents", "")
    assert "relevant" in {verdict.word for verdict in trace.verdicts.values()}


def test_ollama_is_restarted_between_two_questions(opened):
    port = free_port()
    with ScriptedOllama(port=port) as before:
        application = opened(ollama_host=before.url)
        conversation = application.conversations.create().id
        assert ask(application, conversation=conversation).outcome == "documents"
    down = ask(application, conversation=conversation)
    assert (down.state, down.error_code, down.remedy) == ("failed", "unreachable", START)
    with ScriptedOllama(port=port) as after:
        assert_all_is_well(application, after, conversation)
    states = [message.state for message in application.conversations.messages(conversation) if message.run_id]
    assert states == ["done", "failed", "done"]


def test_the_model_is_deleted_in_the_middle_of_a_conversation(application, ollama):
    conversation = application.conversations.create().id
    assert ask(application, conversation=conversation).outcome == "documents"
    ollama.models = [model for model in ollama.models if model.name != "llama3.1:8b"]
    trace = ask(application, "And why is it blacklisted?", conversation)
    assert (trace.state, trace.error_code, trace.error_model) == ("failed", "model_missing", LLAMA)
    assert trace.error == "Ollama has no model called llama3.1:8b."
    assert trace.remedy == "Get it with `ollama pull llama3.1:8b`, then try again."
    assert_all_is_well(application, ollama, conversation)


def test_a_clock_that_jumps_changes_nothing(application, ollama, monkeypatch):
    """Waits are counted by a clock that nobody sets."""
    import time

    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    trace = ask(application)
    assert (trace.state, trace.outcome) == ("done", "documents")
    assert trace.seconds is not None
    assert 0 <= trace.seconds < 30
    assert all(step.seconds is not None and step.seconds >= 0 for step in trace.steps)


def test_58_model_missing(application, ollama):
    """The model, the command that gets it, and its name for the button that does."""
    conversation = application.conversations.create().id
    trace = ask(application, conversation=conversation, model="ollama:qwen3:4b")
    assert (trace.state, trace.error_code, trace.error_model) == ("failed", "model_missing", "ollama:qwen3:4b")
    assert trace.error == "Ollama has no model called qwen3:4b."
    assert trace.remedy == "Get it with `ollama pull qwen3:4b`, then try again."
    assert ollama.chats == []
    assert_question_is_kept(application, conversation, trace)
    ollama.models = [*ollama.models, Model("qwen3:4b", "qwen3", digest="c" * 64)]
    assert ask(application, conversation=conversation, model="ollama:qwen3:4b").outcome == "documents"


def test_a_model_that_only_embeds_is_asked_to_answer(application, ollama):
    trace = ask(application, model="ollama:nomic-embed-text")
    assert trace.state == "failed"
    assert ollama.chats == []
    assert trace.error == "nomic-embed-text is an embedding model and cannot answer."
    assert trace.remedy == "Choose a chat model, such as Llama 3.1, in the settings."
    assert_all_is_well(application, ollama)
