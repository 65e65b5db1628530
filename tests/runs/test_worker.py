"""Stops at the worst moment, texts that no database can hold, damaged or hostile checkpoints."""

import json
import sqlite3
import threading

import pytest

from crag.errors import BadRequest, HomeFault
from crag.options import RunOptions
from crag.types import Grade
from tests.applications import wait
from tests.doubles.engine import QuotingWriter, TableGrader
from tests.waiting import PATIENCE, wait_until

ASK = RunOptions(web="ask")


def ask(home, options=RunOptions()):  # noqa: B008 — frozen
    return home.runs.start(home.conversations.create().id, "What holds?", options)


def state_file(home):
    return home.database.home / "checkpoints.sqlite"


def waiting(home):
    run = ask(home, ASK)
    assert wait(run).state == "waiting"
    return run


@pytest.fixture
def unsure(house):
    """Its runs want the web."""
    return lambda **given: house(scores={1: 0.0, 2: 0.0, -1: 0.9}, **given)


def test_a_query_is_kept_without_what_no_database_holds(unsure):
    home = unsure()
    run = waiting(home)
    home.runs.save_draft(run.id, "fi\ud800nals")
    assert home.runs.draft(run.id) == "finals"
    with pytest.raises(BadRequest, match="empty"):
        home.runs.answer_consent(run.id, "\ud800\x00")
    done = wait(home.runs.answer_consent(run.id, "fi\ud800nals\x00"))
    assert home.web.queries == ["finals"]
    home.close()
    assert unsure().runs.trace(run.id).text == done.text


def test_nothing_is_no_sentence_to_search_for(house):
    home = house()
    run = ask(home)
    wait(run)
    with pytest.raises(BadRequest, match="nothing to search for"):
        home.runs.search_web_for(run.id, " \x00\ud800 ")
    assert len(home.runs.versions(run.id)) == 1


def test_a_stop_that_comes_while_a_run_begins_to_wait_is_heard(unsure, monkeypatch):
    home = unsure()
    records = home.runs._records
    wait_for_person = records.wait

    def stop_then_wait(run_id):
        home.runs.stop(run_id)
        wait_for_person(run_id)

    monkeypatch.setattr(records, "wait", stop_then_wait)
    run = ask(home, ASK)
    wait_until(lambda: home.runs.trace(run.id).state == "stopped")


def test_a_run_that_goes_on_at_once_can_still_be_stopped(unsure, monkeypatch):
    home = unsure(writer=QuotingWriter(gate=threading.Event()))
    worker = home.runs._worker
    work, decided = worker.execute, threading.Event()

    def work_slowly(task):
        trace = work(task)
        if trace is None:
            decided.wait(PATIENCE)  # the thread that made it wait ends only when the next one works on it
        return trace

    monkeypatch.setattr(worker, "execute", work_slowly)
    run = ask(home, ASK)
    assert wait(run).state == "waiting"
    again = home.runs.answer_consent(run.id, "finals")
    decided.set()
    wait_until(lambda: home.runs.trace(run.id).text)
    home.runs.stop(run.id)
    assert wait(again).state == "stopped"


class HaltingGrader(TableGrader):
    """Judges one passage, then waits until it is stopped."""

    def grade(self, question, passages, stop):
        yield 0, Grade(0.9, "Because.")
        self.judged.set()
        while True:
            stop.check()
            stop.wait(0.01)


def test_an_answer_stopped_while_grading_has_no_versions(house):
    home = house()
    home.grader = HaltingGrader({})
    home.grader.judged = threading.Event()
    run = ask(home)
    assert home.grader.judged.wait(PATIENCE)
    home.runs.stop(run.id)
    assert wait(run).state == "stopped"
    for version in (
        lambda: home.runs.overrule(run.id, {1: "drop"}),
        lambda: home.runs.search_web_for(run.id, "A fact."),
    ):
        with pytest.raises(BadRequest, match="before its passages were graded"):
            version()


def test_a_ruling_that_is_refused_is_no_label(house):
    home = house(writer=QuotingWriter(gate=threading.Event()))
    home.writer.gate.set()
    conversation = home.conversations.create()
    first = home.runs.start(conversation.id, "What holds?", RunOptions())
    wait(first)
    home.writer.gate.clear()
    second = home.runs.start(conversation.id, "And then?", RunOptions())
    with pytest.raises(BadRequest, match="still being written"):
        home.runs.overrule(first.id, {1: "drop"})
    with home.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM rulings").scalar() == 0
    home.runs.stop(second.id)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE checkpoints SET checkpoint = x'93c1ff'",
        "UPDATE checkpoints SET checkpoint = x'80'",
        "UPDATE checkpoints SET type = 'pickle'",
        "DROP TABLE checkpoints",
    ],
)
def test_a_run_whose_state_cannot_be_read_goes_on_from_its_events(unsure, harm):
    home = unsure()
    run = waiting(home)
    with sqlite3.connect(state_file(home)) as connection:
        connection.execute(harm)
    connection.close()
    assert wait(home.runs.answer_consent(run.id, "finals")).outcome == "web"
    home.runs.delete_orphaned_data()


def test_a_file_with_damaged_pages_is_set_aside(unsure):
    home = unsure()
    waiting(home)
    home.close()
    with state_file(home).open("r+b") as file:
        file.seek(4096)
        file.write(b"garbage!" * 2_000)
    waiting(unsure())
    assert state_file(home).with_suffix(".damaged").exists()


def test_a_strangers_state_makes_no_objects_but_ours(unsure, caplog):
    home = unsure()
    run = waiting(home)
    made = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "prompts", "prompt", "PromptTemplate"],
        "kwargs": {"template": "{question}"},
    }
    home.close()
    with sqlite3.connect(state_file(home)) as connection:
        connection.execute("UPDATE checkpoints SET type = 'json', checkpoint = ?", (json.dumps(made).encode(),))
    connection.close()
    assert wait(unsure().runs.answer_consent(run.id, "finals")).outcome == "web"
    assert "The state of a run has an unsupported format." in caplog.text


def test_an_event_that_cannot_be_kept_costs_no_other_its_place(house):
    home = house()
    home.writer.reply = lambda knowledge: ["One ", "t\ud800wo ", "three."]
    run = ask(home)
    wait(run)
    home.close()
    again = house().runs.trace(run.id)
    assert [step.node for step in again.steps][-1] == "check_answer"
    assert again.verdicts.keys() == {1, 2}


def test_an_unwritten_end_does_not_block_the_conversation(house, monkeypatch):
    home = house()
    conversation = home.conversations.create()
    close, full = home.runs._records.close, [True]

    def close_on_a_full_disk(*given):
        if full:
            full.pop()
            raise HomeFault("The disk is full.", "Free some space.")
        close(*given)

    monkeypatch.setattr(home.runs._records, "close", close_on_a_full_disk)
    run = home.runs.start(conversation.id, "What holds?", RunOptions())
    assert (wait(run).state, home.runs.trace(run.id).error) == ("failed", "The disk is full.")
    wait_until(lambda: run.id not in home.runs._live)
    assert wait(home.runs.start(conversation.id, "And now?", RunOptions())).state == "done"


def test_a_question_whose_events_were_lost_is_still_asked_again(house):
    home = house()
    run = ask(home)
    wait(run)
    home.close()
    again = house()
    with again.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE body NOT LIKE '%run_ended%'")
    assert wait(again.runs.regenerate(run.id, RunOptions())).question == "What holds?"
