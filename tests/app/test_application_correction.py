"""Correction in the assembled application: consent, overruling and versions with the built-in engine and real HTTP."""

import pytest

from crag.app.application import open_application
from crag.cancellation import Cancellation
from crag.options import RunOptions
from crag.settings import Settings
from crag.sharing.backup import write_backup
from crag.sharing.restore import restore_backup
from crag.types import ignore_progress
from tests.app.test_application import wait
from tests.doubles.ollama import closed_address
from tests.doubles.tavily import TavilyServer

NOTES = b"""# Kettle

The red kettle on the stove whistles when the water boils. The cook lifts it off at once.

# Lamp

The lamp in the hall was bought in 1931 by the grandmother of the cook.
"""
FOUND = {
    "title": "2024 NBA Finals",
    "url": "https://example.org/finals",
    "content": "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks.",
    "score": 0.9,
}
QUESTION = "Who won the 2024 NBA finals?"


@pytest.fixture
def tavily():
    with TavilyServer(results=[FOUND]) as server:
        yield server


@pytest.fixture
def opened(tmp_path, tavily):
    made = []

    def open_(home="home"):
        settings = Settings(
            home=tmp_path / home,
            ollama_host=closed_address(),
            embedder="builtin",
            tavily_api_key="tvly-x",
            tavily_url=tavily.url,
        )
        made.append(open_application(settings))
        return made[-1]

    yield open_
    for application in made:
        application.close()


def ask(application, question=QUESTION, **options):
    conversation = application.conversations.create()
    run = application.runs.start(conversation.id, question, RunOptions(**options))
    return conversation, run, wait(run)


def test_what_was_asked_before_a_restart_is_sent_after_it_as_it_was_edited(opened, tavily):
    application = opened()
    application.library.add_bytes("notes.md", NOTES)
    conversation, run, trace = ask(application, web="ask")
    assert (trace.state, tavily.queries) == ("waiting", [])
    application.close()
    again = opened()
    trace = wait(again.runs.answer_consent(run.id, "2024 NBA finals winner"))
    assert tavily.queries == ["2024 NBA finals winner"]
    assert "Celtics" in trace.text
    assert [citation.location for citation in trace.citations] == ["https://example.org/finals"]
    assert again.conversations.messages(conversation.id)[-1].text == trace.text


def test_a_backup_holds_what_waits_and_what_can_be_overruled(opened, tmp_path, tavily):
    application = opened()
    application.library.add_bytes("notes.md", NOTES)
    _, answered, before = ask(application, "When was the lamp in the hall bought?")
    _, waiting, _ = ask(application, web="ask")
    write_backup(application.database, tmp_path / "saved.backup", ignore_progress, Cancellation())
    application.close()
    restore_backup(tmp_path / "saved.backup", tmp_path / "elsewhere", ignore_progress, Cancellation())
    again = opened("elsewhere")
    assert "Celtics" in wait(again.runs.answer_consent(waiting.id, QUESTION)).text
    assert "1931" in before.text
    used = before.citations[0].passage_id
    assert "1931" not in wait(again.runs.overrule(answered.id, {used: "drop"})).text


def test_what_left_the_machine_is_written_down(opened, tavily):
    application = opened()
    application.library.add_bytes("notes.md", NOTES)
    ask(application, web="auto")
    departures = application.ledger.entries()
    assert [(one.kind, one.what) for one in departures] == [("web search", tavily.queries[0])]
