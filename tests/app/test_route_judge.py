"""The kind of a question whose wording leaves it open, asked of a language model over real HTTP."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

import pytest

from crag.app.application import Application
from crag.models.token_counts import count_tokens
from crag.options import RunOptions
from crag.runs.trace import Trace
from tests import applications
from tests.applications import opened_with, wait
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.waiting import PATIENCE, wait_until

DOCUMENTS = {
    "guide.md": "# Bridges\n\nThe Halden bridge opened in 1931. It is painted red. Two bridges cross the river.",
    "people.md": "# People\n\nOlga Lind designed the Halden bridge. Olga Lind was born in Odby in 1899.",
    "boats.csv": "Boat,Harbour,Length\nTern,Odby,12\nGull,Odby,9\nAuk,Moorby,15\n",
}
OPEN = "Tell me about the bridges"
_numbers = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as running:
        yield running


@pytest.fixture(scope="module")
def application(server: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with opened_with(tmp_path_factory.mktemp("home"), DOCUMENTS, ollama_host=server.url) as opened:
        yield opened


@pytest.fixture
def ollama(server: ScriptedOllama, monkeypatch: pytest.MonkeyPatch) -> ScriptedOllama:
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.001)
    server.requests.clear()
    return server


def is_route_question(asked: Asked) -> bool:
    return "What does a question about the user's documents ask for?" in asked.prompt


def reply(ollama: ScriptedOllama, said: Say) -> None:
    ollama.script = lambda asked: said if is_route_question(asked) else Say(answer_like_a_little_model(asked))


def ask(application: Application, question: str, **options: object) -> Trace:
    return applications.ask(application, question, **{"model": "ollama:llama3.1:8b", **options})


def reply_with_steps(ollama: ScriptedOllama, *steps: str) -> None:
    def say(asked: Asked) -> Say:
        if is_route_question(asked):
            return Say("Steps", alternatives={"Steps": 0.0})
        if "You divide a question" in asked.prompt:
            return Say("\n".join(steps))
        return Say(answer_like_a_little_model(asked))

    ollama.script = say


def unseen(question: str) -> str:
    """The question with a number, so that no earlier reply to it is cached."""
    return f"{question} {next(_numbers)}"


def route_questions(ollama: ScriptedOllama) -> list[Asked]:
    return [asked for asked in ollama.requests if asked.path == "/api/chat" and is_route_question(asked)]


@pytest.mark.parametrize(
    ("said", "route", "reason"),
    [
        (Say("Over", alternatives={"Over": math.log(0.9)}), "document", "Llama 3.1 8B: whole document."),
        (Say("Overview"), "document", "Llama 3.1 8B: whole document."),
        (Say("Fact", alternatives={"Fact": math.log(0.6), "List": math.log(0.3)}), "fact", "Llama 3.1 8B: fact."),
        (Say("Fact", alternatives={"F": math.log(0.4), "L": math.log(0.3), "O": math.log(0.3)}), None, ""),
        (Say("Steps", alternatives={"Steps": math.log(0.9)}), None, ""),
        (Say("Certainly! The"), None, ""),
        (Say(""), None, ""),
        (Say(status=500, error="something went wrong"), None, ""),
        (Say(status=404, error="model 'llama3.1:8b' not found"), None, ""),
    ],
)
def test_the_word_of_the_model_decides_where_the_wording_does_not(application, ollama, said, route, reason) -> None:
    reply(ollama, said)
    trace = ask(application, unseen(OPEN))
    assert (trace.state, trace.route) == ("done", route)
    assert trace.route_reason.endswith(reason)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("When did the Halden bridge open?", {}),
        ("Summarize the guide", {}),
        ("List all bridges", {}),
        ("Hello!", {}),
        (OPEN, {"route": "fact"}),
        (OPEN, {"preset": "langgraph-local"}),
        (OPEN, {"preset": "langgraph-local", "route": "auto"}),
        (OPEN, {"model": "builtin"}),
    ],
)
def test_no_call_is_spent_on_what_is_decided(application, ollama, question, options) -> None:
    reply(ollama, Say("Overview"))
    assert ask(application, question, **options).state == "done"
    assert route_questions(ollama) == []


def test_one_token_is_asked_once_after_a_short_prompt(application, ollama) -> None:
    reply(ollama, Say("Fact", alternatives={"Fact": 0.0}))
    question = unseen(OPEN)
    assert [ask(application, question).route for _ in range(2)] == ["fact", "fact"]
    (asked,) = route_questions(ollama)
    assert asked.body["options"]["num_predict"] == 1
    assert count_tokens(asked.prompt) < 100


def test_the_call_ends_when_the_run_is_stopped(application, ollama) -> None:
    reply(ollama, Say("Fact", first_token_after=PATIENCE))
    run = application.runs.start(None, unseen(OPEN), RunOptions(model="ollama:llama3.1:8b"))
    wait_until(lambda: route_questions(ollama))
    application.runs.stop(run.id)
    assert wait(run).state == "stopped"


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [
        ("How many boats harboured where the wind is mildest in", True),
        ("Calculate what the boats would weigh in", False),
        ("How many bridges cross the river in", False),
    ],
)
def test_before_a_query_is_written_the_model_may_call_it_a_fact(application, ollama, question, is_asked) -> None:
    reply(ollama, Say("Fact", alternatives={"Fact": 0.0}))
    trace = ask(application, unseen(question))
    assert (trace.state, trace.table) == ("done", None)
    assert len(route_questions(ollama)) == is_asked


def test_a_model_divides_a_question_into_steps_of_which_one_needs_the_answer_to_another(application, ollama) -> None:
    reply_with_steps(ollama, "1. Who designed the Halden bridge?", "2. Where was [1] born?")
    trace = ask(application, unseen(OPEN))
    assert [part.question for part in trace.parts] == ["Who designed the Halden bridge?", "Where was Olga Lind born?"]
    assert trace.parts[1].reason == "“Olga Lind” is the answer to “Who designed the Halden bridge?”."
    assert "Odby" in trace.text


@pytest.mark.parametrize("steps", [("Where was [1] born?", "Where was [2] born?"), ("Which bridges?",), ("I cannot.",)])
def test_a_division_that_makes_no_sense_is_not_followed(application, ollama, steps) -> None:
    reply_with_steps(ollama, *steps)
    trace = ask(application, unseen(OPEN))
    assert (trace.state, trace.parts) == ("done", [])
