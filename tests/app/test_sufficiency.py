"""Sufficiency with a language model, over real HTTP: one token is asked, and what is answered follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from crag.app.application import Application, open_application
from crag.app.reports import answer_json
from crag.inspection.run_labels import answer_badge
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.settings import Settings
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
    settings = Settings(home=tmp_path_factory.mktemp("home"), ollama_host=server.url, embedder="builtin")
    opened = open_application(settings)
    for name, text in DOCUMENTS.items():
        opened.library.pipeline.add_bytes(name, text.encode())
    yield opened
    opened.close()


def judges(asked: Asked) -> bool:
    return "Do not answer yet." in asked.prompt


@pytest.fixture
def ollama(server: ScriptedOllama) -> ScriptedOllama:
    server.requests.clear()
    return server


def reply(ollama: ScriptedOllama, judged: Say) -> None:
    ollama.script = lambda asked: judged if judges(asked) else Say(answer_like_a_little_model(asked))


def ask(application: Application, **options: object) -> Trace:
    run = application.runs.start(None, QUESTION, RunOptions(**{"model": "ollama:llama3.1:8b", **options}))
    return Trace().apply_all(event for _, event in run.follow())


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


def test_sources_that_disagree_are_shown_with_their_titles_and_dates(application, ollama) -> None:
    reply(ollama, Say("Dis", alternatives={"Dis": math.log(0.9)}))
    trace = ask(application)
    for year, title in (("1931", "guide"), ("1933", "diary")):
        (line,) = [line for line in trace.text.splitlines() if year in line]
        assert f"“The Halden bridge opened in {year}.”" in line
        assert f"— {title}" in line
        assert ", added " in line
    assert {cited.quote for cited in trace.citations} == {
        f"The Halden bridge opened in {year}." for year in (1931, 1933)
    }
    assert trace.assessment.reason.startswith("100% sure that the excerpts give different answers")


@pytest.mark.parametrize("policy", ["any", "none", "off"])
def test_other_policies_do_not_ask(application, ollama, policy) -> None:
    reply(ollama, Say("No"))
    assert ask(application, policy=policy).sufficiency is None
    assert not [chat for chat in ollama.chats if judges(chat)]


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
    trace = Trace().apply_all(event for _, event in run.follow())
    assert (trace.state, trace.assessment) == ("stopped", None)


def test_a_passage_that_the_user_chooses_is_answered_from(application, ollama) -> None:
    reply(ollama, Say("No"))
    run = application.runs.start(None, QUESTION, RunOptions(model="ollama:llama3.1:8b"))
    declined = Trace().apply_all(event for _, event in run.follow())
    chosen = application.runs.overrule(run.id, {next(iter(declined.verdicts)): "use"})
    trace = Trace().apply_all(event for _, event in chosen.follow())
    assert (declined.outcome, trace.outcome, trace.sufficiency) == ("not_answered", "documents", "insufficient")
    assert len([chat for chat in ollama.chats if judges(chat)]) == 1, "not again for the second version"
