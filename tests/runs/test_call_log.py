"""Every prompt and reply of a run can be read again; keys are removed, and no run waits for the log."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from sqlalchemy import func, select, update

from crag.options import RunOptions
from crag.runs import call_log
from crag.storage.tables import model_calls, runs
from crag.types import ModelCall, Prompt
from tests.applications import opened_with, wait
from tests.doubles.ollama_values import Say
from tests.waiting import wait_until

NOTES = "The machine is descaled with citric acid every three months.\n\nIts tank holds two litres of water."
QUESTION = "What is the machine descaled with?"
OPTIONS = RunOptions(model="ollama:llama3.1:8b", web="off")


@pytest.fixture
def application(ollama, tmp_path, monkeypatch):
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.01)
    with opened_with(tmp_path, {"notes.md": NOTES}, chat_model="auto", ollama_host=ollama.url) as opened:
        yield opened


def ask(application, options=OPTIONS) -> tuple[str, list[ModelCall]]:
    run = application.runs.start(None, QUESTION, options)
    wait(run)
    return run.id, application.runs.calls(run.id)


def test_prompts_are_kept_as_they_were_sent_with_what_came_back(application, ollama):
    _, calls = ask(application)
    sent = [[(one["role"], one["content"]) for one in chat.body["messages"]] for chat in ollama.chats]
    assert sorted(sent) == sorted([(prompt.role, prompt.text) for prompt in call.prompts] for call in calls)
    assert {call.node for call in calls} >= {"grade_documents", "generate"}
    answer = calls[-1]
    assert answer.node == "generate"
    assert answer.model == "ollama:llama3.1:8b"
    assert answer.prompt_tokens
    assert answer.answer_tokens
    assert "citric acid" in answer.reply
    assert all(call.at >= 0 and call.seconds > 0 and not call.fault for call in calls)
    assert [call.at for call in calls] == sorted(call.at for call in calls)


def test_calls_fall_into_the_time_of_their_node(application):
    run_id, calls = ask(application)
    steps = {step.node: step for step in application.runs.trace(run_id).steps}
    for call in calls:
        assert steps[call.node].started <= call.at <= steps[call.node].started + steps[call.node].seconds


def test_the_built_in_engine_asks_no_model(application):
    assert ask(application, replace(OPTIONS, model="builtin"))[1] == []


def test_what_was_tried_again_is_there_each_time(application, ollama):
    ollama.next_replies.append(Say("", status=503, error="server busy"))
    calls = ask(application)[1]
    failed = [call for call in calls if call.fault]
    assert len(failed) == 1
    assert [call.prompts for call in calls].count(failed[0].prompts) == 2


def test_a_reply_that_was_stopped_is_kept_as_far_as_it_came(application, ollama):
    ollama.script = lambda asked: Say("Citric acid", end="hang") if "[1]" in asked.prompt else Say("yes")
    run = application.runs.start(None, QUESTION, replace(OPTIONS, grader="builtin"))
    wait_until(lambda: "acid" in application.runs.trace(run.id).text)
    application.runs.stop(run.id)
    wait(run)
    last = application.runs.calls(run.id)[-1]
    assert (last.reply, last.fault) == ("Citric acid", "Stopped.")


def test_they_can_be_read_while_the_run_goes_on(application, ollama):
    ollama.script = lambda asked: Say("Citric acid", end="hang") if asked.writes else Say("Yes")
    run = application.runs.start(None, QUESTION, OPTIONS)
    wait_until(lambda: "acid" in application.runs.trace(run.id).text)
    assert {call.node for call in application.runs.calls(run.id)} == {"grade_documents"}
    application.runs.stop(run.id)


def test_calls_go_with_their_conversation_or_by_age(application, monkeypatch):
    monkeypatch.setattr(call_log, "MAX_RUNS_WITH_CALLS", 2)
    kept = [ask(application)[0] for _ in range(3)]
    with application.database.write() as connection:
        connection.execute(update(runs).where(runs.c.id == kept[1]).values(started_at=time.time() - 1e6))
    application.runs.delete_orphaned_data()
    assert [bool(application.runs.calls(run_id)) for run_id in kept] == [True, False, True]
    conversation = application.conversations.create()
    wait(application.runs.start(conversation.id, QUESTION, OPTIONS))
    before = rows(application)
    application.conversations.delete(conversation.id)
    application.conversations.purge(0)
    assert 0 < rows(application) < before


def rows(application) -> int:
    with application.database.read() as connection:
        return connection.execute(select(func.count()).select_from(model_calls)).scalar_one()


def test_half_a_surrogate_costs_no_call(application, ollama):
    ollama.script = lambda asked: Say("citric \ud800 acid")
    assert "citric ? acid" in ask(application)[1][-1].reply


def test_prompts_read_back_are_those_that_were_sent():
    row = call_log._encode_call(
        3, ModelCall("generate", "m", 1.0, 2.0, (Prompt("user", "무엇?", "about"),), "답", "생각")
    )
    assert b"about" not in row["body"]
