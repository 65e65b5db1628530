"""A run that waits for a person: what is asked, what is sent, what survives, and who may decide."""

import subprocess
import sys

import pytest

from crag.errors import BadRequest
from crag.events import NodeStarted
from crag.options import RunOptions
from tests.runs.conftest import wait

ASK = RunOptions(web="ask")
NO_ANSWER = {1: 0.0, 2: 0.0, -1: 0.9}


def ask(home, question="Who won?"):
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, question, ASK)
    return conversation, run, wait(run)


def test_nothing_leaves_before_somebody_has_seen_the_query(house):
    home = house(scores=NO_ANSWER)
    conversation, run, trace = ask(home)
    assert (trace.state, trace.waiting.query, trace.waiting.host) == (
        "waiting",
        "question of Who won?",
        "api.tavily.com",
    )
    assert not trace.waiting.from_answer
    assert home.web.queries == []
    assert home.runs.active(conversation.id).id == run.id
    assert home.conversations.messages(conversation.id)[-1].state == "waiting"


def test_what_is_sent_is_what_the_person_made_of_it(house):
    home = house(scores=NO_ANSWER)
    _, run, _ = ask(home)
    trace = wait(home.runs.answer_consent(run.id, "  2024 finals winner "))
    assert home.web.queries == [trace.query_sent] == ["2024 finals winner"]
    assert (trace.state, trace.outcome) == ("done", "web")
    assert [step.node for step in trace.steps].count("web_search") == 1


def test_who_declines_is_answered_from_the_documents(house):
    home = house(scores={1: 0.4, 2: 0.0})
    _, run, _ = ask(home)
    trace = wait(home.runs.answer_consent(run.id, None))
    assert home.web.queries == []
    assert trace.outcome == "documents"
    assert "your documents only" in trace.web_skipped


def test_the_question_and_its_draft_survive_the_process(house):
    home = house(scores=NO_ANSWER)
    conversation, run, _ = ask(home)
    home.runs.keep_draft(run.id, "finals 2024")
    home.close()
    again = house(scores=NO_ANSWER)
    assert again.runs.trace(run.id).state == "waiting"
    assert again.runs.draft(run.id) == "finals 2024"
    trace = wait(again.runs.answer_consent(run.id, again.runs.draft(run.id)))
    assert again.web.queries == ["finals 2024"]
    assert again.grader.graded == [-1], "what was graded before the process ended is not graded again"
    assert again.conversations.messages(conversation.id)[-1].text == trace.text != ""


def test_only_the_first_who_decides_is_heard(house):
    home = house(scores=NO_ANSWER)
    _, run, _ = ask(home)
    first = home.runs.answer_consent(run.id, None)
    with pytest.raises(BadRequest, match="decided already"):
        home.runs.answer_consent(run.id, "another")
    wait(first)
    assert home.web.queries == []


def test_an_empty_query_is_refused_and_the_run_still_waits(house):
    home = house(scores=NO_ANSWER)
    _, run, _ = ask(home)
    with pytest.raises(BadRequest, match="query is empty"):
        home.runs.answer_consent(run.id, "  ")
    assert home.runs.trace(run.id).state == "waiting"


def test_another_question_has_to_wait_for_the_decision(house):
    home = house(scores=NO_ANSWER)
    conversation, run, _ = ask(home)
    with pytest.raises(BadRequest, match="waits for you"):
        home.runs.start(conversation.id, "And then?", ASK)
    home.runs.stop(run.id)
    assert home.runs.trace(run.id).state == "stopped"
    assert home.runs.active(conversation.id) is None


def test_a_run_that_waits_takes_no_time(house):
    home = house(scores=NO_ANSWER)
    _, run, trace = ask(home)
    asked_at = trace.waiting.at
    trace = wait(home.runs.answer_consent(run.id, None))
    assert asked_at <= trace.seconds < asked_at + 10
    numbers = [number for number, _ in home.runs.attach(run.id).follow(seconds=0)]
    assert numbers == sorted(set(numbers))


def test_the_query_of_a_run_that_was_told_to_search_is_not_asked_for(house):
    home = house(scores=NO_ANSWER)
    trace = wait(home.runs.start(None, "Who won?", RunOptions(web="auto")))
    assert trace.outcome == "web"
    assert home.web.queries == ["question of Who won?"]


def test_without_a_conversation_the_run_waits_as_well(house):
    home = house(scores=NO_ANSWER)
    run = home.runs.start(None, "Who won?", ASK)
    assert wait(run).state == "waiting"
    assert wait(home.runs.answer_consent(run.id, "finals")).outcome == "web"


def test_steps_before_the_question_ran_once(house):
    home = house(scores=NO_ANSWER)
    _, run, _ = ask(home)
    wait(home.runs.answer_consent(run.id, "finals"))
    started = [event.node for _, event in home.runs.attach(run.id).follow(seconds=0) if isinstance(event, NodeStarted)]
    assert started.count("retrieve") == started.count("grade_documents") == started.count("transform_query") == 1


def test_a_run_that_cannot_go_on_says_so(house, tmp_path):
    home = house(scores=NO_ANSWER)
    _, run, _ = ask(home)
    home.close()
    (tmp_path / "checkpoints.sqlite").unlink()
    again = house(scores=NO_ANSWER)
    trace = wait(again.runs.answer_consent(run.id, "finals"))
    assert (trace.state, trace.error) == ("failed", "What this question waited with is no longer kept.")
    assert again.web.queries == []


def test_a_killed_process_leaves_the_question_that_it_asked(house, tmp_path):
    script = (
        "import sys, threading, pathlib\n"
        "from tests.runs.conftest import House, wait\n"
        "from tests.runs.test_service_consent import ASK, NO_ANSWER\n"
        "home = House(pathlib.Path(sys.argv[1]), scores=NO_ANSWER)\n"
        "run = home.runs.start(home.conversations.create().id, 'Who won?', ASK)\n"
        "print(run.id, wait(run).state, flush=True)\n"
        "threading.Event().wait()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    run_id, state = process.stdout.readline().split()
    process.kill()
    process.wait()
    process.stdout.close()
    assert state == "waiting"
    home = house(scores=NO_ANSWER)
    assert home.runs.trace(run_id).waiting.query == "question of Who won?"
    assert wait(home.runs.answer_consent(run_id, "finals")).outcome == "web"
    assert home.grader.graded == [-1]
