"""Sufficiency with a language model, over real HTTP: one token is asked, and what is answered follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from crag.app.application import Application
from crag.app.reports import answer_json
from crag.inspection.run_labels import answer_badge
from crag.options import RunOptions
from crag.runs.trace import Trace
from tests import applications
from tests.applications import opened_with, wait
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say

DOCUMENTS = {
    "guide.md": "The Halden bridge opened in 1931. It is painted red.",
    "diary.md": "The Halden bridge opened in 1933. It rained all day.",
}
QUESTION = "When did the Halden bridge open?"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as running:
        yield running


@pytest.fixture(scope="module")
def application(server: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with opened_with(tmp_path_factory.mktemp("home"), DOCUMENTS, ollama_host=server.url) as opened:
        yield opened


def judges(asked: Asked) -> bool:
    return "Do not answer yet." in asked.prompt


@pytest.fixture
def ollama(server: ScriptedOllama) -> ScriptedOllama:
    server.requests.clear()
    return server


def reply(ollama: ScriptedOllama, judged: Say) -> None:
    ollama.script = lambda asked: judged if judges(asked) else Say(answer_like_a_little_model(asked))


def ask(application: Application, **options: object) -> Trace:
    return applications.ask(application, QUESTION, **{"model": "ollama:llama3.1:8b", **options})


@pytest.mark.parametrize(
    ("judged", "sufficiency", "outcome", "badge"),
    [
        (Say("Yes", alternatives={"Yes": math.log(0.9)}), "sufficient", "documents", "from your documents"),
        (Say("No", alternatives={"No": math.log(0.9)}), "insufficient", "not_answered", "related, but no answer"),
        (Say("No"), "insufficient", "not_answered", "related, but no answer"),
        (Say("Dis", alternatives={"Dis": math.log(0.9)}), "conflicting", "conflicting", "sources disagree"),
        (Say("Un", alternatives={"Un": math.log(0.9)}), None, "documents", "from your documents"),
        (Say("Well"), None, "documents", "from your documents"),
        (Say(status=500, error="something went wrong"), None, "documents", "from your documents"),
    ],
)
def test_the_word_of_the_model_decides(application, ollama, judged, sufficiency, outcome, badge, monkeypatch) -> None:
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.001)
    reply(ollama, judged)
    trace = ask(application)
    told = answer_json("run", trace)
    assert (trace.state, told["sufficiency"], told["outcome"]) == ("done", sufficiency, outcome)
    assert answer_badge(trace).word == badge
    first = next(chat for chat in ollama.chats if judges(chat))
    assert (first.body["options"]["num_predict"], first.body["logprobs"]) == (1, True)
    assert bool([chat for chat in ollama.chats if chat.writes]) == (sufficiency in ("sufficient", None))


def test_a_model_that_is_too_slow_costs_the_judgement_not_the_answer(application, ollama, monkeypatch) -> None:
    monkeypatch.setattr("crag.grading.model_replies.GRADING_SECONDS", 0.3)
    reply(ollama, Say("Yes", first_token_after=0.0, per_token=3600, end="hang"))
    trace = ask(application)
    assert (trace.state, trace.outcome, trace.sufficiency) == ("done", "documents", None)
    assert trace.assessment.reason == "Grading took longer than 0.3 seconds."


def test_stop_ends_the_question_at_once(application, ollama) -> None:
    reply(ollama, Say("Yes", first_token_after=3600))
    run = application.runs.start(None, QUESTION, RunOptions(model="ollama:llama3.1:8b"))
    ollama.wait_until(lambda: [chat for chat in ollama.chats if judges(chat)])
    application.runs.stop(run.id)
    trace = wait(run)
    assert (trace.state, trace.assessment) == ("stopped", None)


def test_a_passage_that_the_user_chooses_is_answered_from(application, ollama) -> None:
    reply(ollama, Say("No"))
    run = application.runs.start(None, QUESTION, RunOptions(model="ollama:llama3.1:8b"))
    declined = wait(run)
    chosen = application.runs.overrule(run.id, {next(iter(declined.verdicts)): "use"})
    trace = wait(chosen)
    assert (declined.outcome, trace.outcome, trace.sufficiency) == ("not_answered", "documents", "insufficient")
    assert len([chat for chat in ollama.chats if judges(chat)]) == 1, "not again for the second version"
