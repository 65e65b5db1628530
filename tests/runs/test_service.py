"""Runs over a real database: independent of their viewers, stoppable, recovered after a kill, waiting for consent."""

import shutil
import threading
import time

import pytest
from sqlalchemy import insert, text

from crag.errors import BadRequest, ModelFault, NotFound
from crag.events import NodeStarted, RunEnded, TokensWritten
from crag.options import RunOptions
from crag.runs.event_log import EventLog
from crag.runs.records import RunRecords
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.storage.engine import Database
from crag.storage.tables import runs
from tests.applications import wait
from tests.crashing import Forked
from tests.doubles.engine import QuotingWriter
from tests.doubles.postgres import home_url
from tests.runs.conftest import House
from tests.waiting import PATIENCE, wait_until

OPTIONS = RunOptions()

ASK = RunOptions(web="ask")
NO_ANSWER = {1: 0.0, 2: 0.0, -1: 0.9}


def test_question_and_answer_are_kept(house):
    home = house()
    conversation = home.conversations.create()
    trace = wait(home.runs.start(conversation.id, "  What holds? ", OPTIONS))
    assert trace.state == "done"
    question, answer = home.conversations.messages(conversation.id)
    assert (question.role, question.text) == ("user", "What holds?")
    assert (answer.role, answer.text, answer.state) == ("assistant", trace.text, "done")
    assert home.conversations.get(conversation.id).title == "What holds?"


@pytest.mark.parametrize("greeting", ["Hello!", "안녕하세요", "谢谢"])
def test_a_greeting_does_not_name_a_conversation(house, greeting):
    home = house()
    conversation = home.conversations.create()
    for asked, title in ((greeting, "New conversation"), ("What holds?", "What holds?"), ("And why?", "What holds?")):
        wait(home.runs.start(conversation.id, asked, OPTIONS))
        assert home.conversations.get(conversation.id).title == title


def test_a_conversation_that_was_named_by_hand_keeps_its_name(house):
    home = house()
    conversation = home.conversations.create()
    wait(home.runs.start(conversation.id, "Hello!", OPTIONS))
    home.conversations.rename(conversation.id, "Lighthouses")
    wait(home.runs.start(conversation.id, "What holds?", OPTIONS))
    assert home.conversations.get(conversation.id).title == "Lighthouses"


def test_the_stored_run_adds_up_to_what_was_seen_live(house):
    home = house()
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", OPTIONS)
    seen = wait(run)
    again = RunService(home.database, home.build)
    try:
        stored = again.trace(run.id)
    finally:
        again.close()
    stored.pieces = seen.pieces
    assert stored == seen


def test_two_followers_see_the_same_and_can_begin_anywhere(house):
    home = house()
    run = home.runs.start(None, "What holds?", OPTIONS)
    every = list(run.follow(seconds=PATIENCE))
    assert [number for number, _ in every] == list(range(1, len(every) + 1))
    assert list(run.follow(after=3, seconds=PATIENCE)) == every[3:]


def test_follow_returns_when_its_time_is_over(house):
    home = house(writer=QuotingWriter(gate=threading.Event()))
    run = home.runs.start(None, "What holds?", OPTIONS)
    began = time.monotonic()
    assert list(run.follow(seconds=0.3))
    assert time.monotonic() - began > 0.2
    assert not run.ended


def test_stop_keeps_the_partial_answer(house):
    home = house(writer=QuotingWriter(gate=threading.Event()))
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", OPTIONS)
    next(event for _, event in run.follow(seconds=PATIENCE) if isinstance(event, TokensWritten))
    home.runs.stop(run.id)
    trace = wait(run)
    assert trace.state == "stopped"
    assert trace.text.startswith("Passage 1 says")
    assert home.conversations.messages(conversation.id)[-1].text == trace.text
    assert home.conversations.messages(conversation.id)[-1].state == "stopped"
    assert RunService(home.database, home.build).trace(run.id).text == trace.text


@pytest.mark.parametrize("one_file", [True, pytest.param(False, marks=pytest.mark.postgres)])
def test_another_process_follows_a_run_and_stops_it(house, one_file):
    asking, following = house(writer=QuotingWriter(gate=threading.Event())), house()
    assert asking.database.is_one_file == one_file
    conversation = asking.conversations.create()
    asking.runs.start(conversation.id, "What holds?", OPTIONS)
    run = following.runs.active(conversation.id)
    next(event for _, event in run.follow(seconds=PATIENCE) if isinstance(event, TokensWritten))
    following.runs.stop(run.id)
    assert wait(run).state == "stopped"
    assert following.conversations.messages(conversation.id)[-1].text.startswith("Passage 1 says")


def test_one_run_at_a_time_in_a_conversation(house):
    home = house(writer=QuotingWriter(gate=threading.Event()))
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "First?", OPTIONS)
    with pytest.raises(BadRequest, match="still being written"):
        home.runs.start(conversation.id, "Second?", OPTIONS)
    assert home.runs.active(conversation.id).id == run.id
    other = home.conversations.create()
    assert home.runs.start(other.id, "Elsewhere?", OPTIONS).id != run.id
    home.runs.stop(run.id)
    wait(run)
    assert home.runs.active(conversation.id) is None


@pytest.mark.parametrize("question", ["", "   ", "\x00", "\ud800", "x" * 200_001])
def test_what_is_no_question_is_refused_and_nothing_is_kept(house, question):
    home = house()
    conversation = home.conversations.create()
    with pytest.raises(BadRequest):
        home.runs.start(conversation.id, question, OPTIONS)
    assert home.conversations.messages(conversation.id) == []


def test_a_missing_model_fails_in_words_and_keeps_the_question(house):
    home = house(equip_fault=ModelFault("unreachable", "Ollama does not answer.", "Start it with `ollama serve`."))
    conversation = home.conversations.create()
    trace = wait(home.runs.start(conversation.id, "What holds?", OPTIONS))
    assert (trace.state, trace.error, trace.error_code) == ("failed", "Ollama does not answer.", "unreachable")
    assert trace.question == "What holds?"
    assert home.conversations.messages(conversation.id)[0].text == "What holds?"


def test_a_fault_in_mid_answer_keeps_what_was_written(house):
    def break_off(_):
        yield "So far "
        raise ModelFault("reset", "The connection broke.")

    home = house(writer=QuotingWriter(reply=lambda knowledge: _Lazy(break_off(knowledge))))
    conversation = home.conversations.create()
    trace = wait(home.runs.start(conversation.id, "What holds?", OPTIONS))
    assert (trace.state, trace.text) == ("failed", "So far ")
    assert home.conversations.messages(conversation.id)[-1].text == "So far "


class _Lazy(list):
    def __init__(self, pieces):
        super().__init__()
        self._pieces = pieces

    def __iter__(self):
        return iter(self._pieces)


def test_a_bug_is_told_without_its_inside(house, caplog):
    home = house(equip_fault=RuntimeError("secret inside"))
    trace = wait(home.runs.start(None, "What holds?", OPTIONS))
    assert trace.state == "failed"
    assert "secret" not in trace.error + trace.remedy
    assert "Unexpected error in a run" in caplog.text


def test_the_next_question_knows_the_turns_before(house):
    home = house()
    conversation = home.conversations.create()
    wait(home.runs.start(conversation.id, "What holds?", OPTIONS))
    trace = wait(home.runs.start(conversation.id, "And when?", OPTIONS))
    assert trace.condensed == "And when? (about What holds?)"


def test_small_talk_in_between_is_no_part_of_the_conversation_so_far(house):
    home = house()
    conversation = home.conversations.create()
    for said in ("Hello!", "What holds?", *["Thanks!"] * 7):
        wait(home.runs.start(conversation.id, said, OPTIONS))
    trace = wait(home.runs.start(conversation.id, "And when?", OPTIONS))
    assert trace.condensed == "And when? (about What holds?)"


def test_a_conversation_may_be_deleted_while_it_is_answered(house):
    gate = threading.Event()
    home = house(writer=QuotingWriter(gate=gate))
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", OPTIONS)
    home.conversations.delete(conversation.id)
    gate.set()
    assert wait(run).state == "done"
    with pytest.raises(NotFound):
        home.conversations.get(conversation.id)
    assert wait(home.runs.start(None, "And now?", OPTIONS)).state == "done"


def test_a_killed_run_is_marked_and_keeps_its_text(house, tmp_path):
    script = (
        "import sys, threading, pathlib\n"
        "from tests.runs.test_service import House, OPTIONS, QuotingWriter, TokensWritten\n"
        "home = House(pathlib.Path(sys.argv[1]), QuotingWriter(gate=threading.Event()))\n"
        "run = home.runs.start(home.conversations.create().id, 'What holds?', OPTIONS)\n"
        "next(e for _, e in run.follow() if isinstance(e, TokensWritten))\n"
        "home.runs._log.flush()\n"
        "print(run.id, flush=True)\n"
        "threading.Event().wait()\n"
    )
    with Forked(script, tmp_path) as process:
        run_id = process.stdout.readline().strip()
        watching = house()
        conversation = watching.conversations.list()[0]
        assert watching.runs.active(conversation.id).id == run_id, "it lives on in the other process"
    assert watching.runs.active(conversation.id) is None
    reopened = house()
    trace = reopened.runs.trace(run_id)
    assert trace.state == "interrupted"
    assert trace.text.startswith("Passage 1 says")
    question, answer = reopened.conversations.messages(conversation.id)
    assert (question.text, answer.text, answer.state) == ("What holds?", trace.text, "interrupted")
    reopened.runs.start(conversation.id, "Again?", OPTIONS)


@pytest.mark.parametrize("one_file", [True, pytest.param(False, marks=pytest.mark.postgres)])
def test_another_process_ends_the_run_of_one_that_dies_and_asks_what_is_queued(house, tmp_path, one_file):
    """A killed process keeps its lease for four seconds, which its database does not know to be its last."""
    watching = house()
    assert watching.database.is_one_file == one_file
    run_id, ended = "0" * 32, []
    watching.runs.on_end = ended.append
    with watching.database.write() as connection:
        if not one_file:
            connection.execute(text("INSERT INTO process_leases VALUES ('dead-dead', clock_timestamp())"))
        owned = {"state": "running", "owner": "999999-1" if one_file else "dead-dead", "started_at": 1.0}
        connection.execute(insert(runs).values(id=run_id, question="What holds?", **owned))
    assert wait(watching.runs.attach(run_id)).state == "interrupted"
    wait_until(lambda: ended == [run_id])


def test_closing_stops_what_runs(tmp_path):
    home = House(tmp_path, QuotingWriter(gate=threading.Event()))
    run = home.runs.start(None, "What holds?", OPTIONS)
    home.close()
    assert isinstance(list(run.follow())[-1][1], RunEnded)


def test_twenty_conversations_at_once_do_not_mix(house):
    home = house()
    started = [home.runs.start(home.conversations.create().id, f"Question {n}?", OPTIONS) for n in range(20)]
    for number, run in enumerate(started):
        assert wait(run).question == f"Question {number}?"
    assert len(home.conversations.list()) == 20


def test_a_log_that_is_closed_holds_nobody_up(tmp_path):
    database = Database(tmp_path)
    log = EventLog(database)
    log.close()
    waiting = threading.Thread(target=log.flush, daemon=True)
    waiting.start()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    database.close()


def test_what_cannot_be_kept_still_ends(house):
    home = house()
    trace = wait(home.runs.start(None, "Why?", RunOptions(model="half a pair \ud800")))
    assert trace.state in ("done", "failed")
    assert wait(home.runs.start(None, "And now?", OPTIONS)).state == "done"


def test_an_answer_whose_end_cannot_be_written_holds_up_no_other(house):
    home = house()
    conversation = home.conversations.create().id
    with home.database.write() as connection:
        connection.execute(
            text("CREATE TRIGGER full BEFORE INSERT ON run_summaries BEGIN SELECT RAISE(ABORT, ''); END")
        )
    assert wait(home.runs.start(conversation, "Why?", OPTIONS)).state == "failed"
    assert home.runs.active(conversation) is None
    with home.database.write() as connection:
        connection.execute(text("DROP TRIGGER full"))
    assert wait(home.runs.start(conversation, "And now?", OPTIONS)).state == "done"
    assert [message.state for message in home.conversations.messages(conversation)][1::2] == ["interrupted", "done"]


def test_two_processes_do_not_answer_in_one_conversation(house, tmp_path):
    home, other = house(writer=QuotingWriter(gate=threading.Event())), house()
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "First?", OPTIONS)
    with pytest.raises(BadRequest, match="still being written"):
        other.runs.start(conversation.id, "Second?", OPTIONS)
    assert len(home.conversations.messages(conversation.id)) == 2
    home.runs.stop(run.id)
    wait(run)


def test_two_processes_may_find_the_same_orphan(house):
    home = house()
    run = home.runs.start(None, "First?", OPTIONS)
    wait(run)
    records = RunRecords(home.database)
    records.close(run.id, 3, RunEnded("interrupted", 0.1), Trace())
    assert RunService(home.database, home.build).trace(run.id).state == "done"


def test_the_end_of_a_run_follows_what_its_process_stored_while_it_was_taken_for_dead(house):
    home = house()
    records, log = RunRecords(home.database), EventLog(home.database)
    records.open("r1", None, "First?", None, None, None)
    for number in (1, 2):
        log.append("r1", number, NodeStarted("retrieve", 0.1))
    log.flush()
    records.close("r1", 1, RunEnded("interrupted", 0.1), Trace())
    assert [number for number, _ in log.read("r1")] == [1, 2, 3]


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
    started = [event.node for _, event in home.runs.attach(run.id).follow(seconds=0) if isinstance(event, NodeStarted)]
    assert all(started.count(node) == 1 for node in ("retrieve", "grade_documents", "transform_query"))
    assert [step.node for step in trace.steps].count("web_search") == 1


def test_the_question_and_its_draft_survive_the_process(house):
    home = house(scores=NO_ANSWER)
    conversation, run, _ = ask(home)
    home.runs.save_draft(run.id, "finals 2024")
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
    with pytest.raises(BadRequest, match="is waiting for you"):
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


def test_a_run_whose_checkpoint_is_lost_goes_on_from_its_events(house, tmp_path):
    home = house(scores=NO_ANSWER)
    _, kept, _ = ask(home)
    _, lost, _ = ask(home)
    usual = wait(home.runs.answer_consent(kept.id, "finals"))
    home.close()
    (tmp_path / "checkpoints.sqlite").unlink()
    again = house(scores=NO_ANSWER)
    trace = wait(again.runs.answer_consent(lost.id, "finals"))
    assert again.web.queries == ["finals"]
    for name in ("text", "outcome", "citations", "verdicts", "passages", "trajectory", "notes", "query_sent"):
        assert getattr(trace, name) == getattr(usual, name), name


@pytest.mark.postgres
@pytest.mark.parametrize("query", ["finals", None])
def test_a_waiting_run_goes_on_in_a_process_with_another_folder(postgres, tmp_path, query):
    url = home_url(postgres, tmp_path)
    first, second = (House(tmp_path / name, scores=NO_ANSWER, url=url) for name in ("a", "b"))
    try:
        _, run, _ = ask(first)
        assert second.runs.draft(run.id) == "question of Who won?"
        trace = wait(second.runs.answer_consent(run.id, query))
        assert (trace.state, trace.outcome == "web") == ("done", query is not None)
        assert (first.web.queries, second.web.queries) == ([], [query] if query else [])
        assert second.grader.graded == [-1] * (query is not None), "passages are not graded again"
        assert wait(first.runs.attach(run.id)).text == trace.text
        with pytest.raises(BadRequest, match="decided already"):
            first.runs.answer_consent(run.id, "finals")
    finally:
        first.close()
        second.close()


def test_a_search_for_a_sentence_goes_on_without_its_checkpoint(house, tmp_path):
    home = house(scores=NO_ANSWER)
    _, run, _ = ask(home)
    wait(home.runs.answer_consent(run.id, "finals"))
    search = home.runs.search_web_for(run.id, "The web says that fact9 holds.")
    assert wait(search).state == "waiting"
    home.close()
    (tmp_path / "checkpoints.sqlite").unlink()
    again = house(scores=NO_ANSWER)
    trace = wait(again.runs.answer_consent(search.id, "which fact"))
    assert again.web.queries == ["which fact"]
    assert trace.found["web"] == (-1, -2), "the results of the first search are kept"
    assert trace.sought == {-2: "which fact"}


def move_away(path, how):
    moved = path.rename(path.with_name("moved.sqlite"))
    if how == "deleted":
        moved.unlink()
    elif how == "replaced":
        shutil.copy(moved, path)


@pytest.mark.parametrize("query", ["finals", None])
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_waiting_run_outlasts_a_file_of_checkpoints_that_is_gone_while_the_application_runs(
    house, tmp_path, how, query
):
    home = house(scores=NO_ANSWER)
    _, run, _ = ask(home)
    move_away(tmp_path / "checkpoints.sqlite", how)
    trace = wait(home.runs.answer_consent(run.id, query))
    assert (trace.state, trace.web_skipped == "") == ("done", query is not None)
    new = ask(home)[2]
    assert (new.state, new.error.partition(",")[0]) == ("failed", "The data folder is gone or was replaced")
    home.runs.delete_orphaned_data()


def test_a_run_that_began_to_wait_after_its_file_was_gone_goes_on(house, tmp_path):
    home = house(scores=NO_ANSWER)
    ask(home)
    grade = home.grader.grade

    def grade_without_home(*given):
        (tmp_path / "checkpoints.sqlite").unlink()
        return grade(*given)

    home.grader.grade = grade_without_home
    _, run, _ = ask(home)
    home.close()
    again = house(scores=NO_ANSWER)
    assert wait(again.runs.answer_consent(run.id, "finals")).outcome == "web"


def test_a_killed_process_leaves_the_question_that_it_asked(house, tmp_path):
    script = (
        "import sys, threading, pathlib\n"
        "from tests.applications import wait\n"
        "from tests.runs.conftest import House\n"
        "from tests.runs.test_service import ASK, NO_ANSWER\n"
        "home = House(pathlib.Path(sys.argv[1]), scores=NO_ANSWER)\n"
        "run = home.runs.start(home.conversations.create().id, 'Who won?', ASK)\n"
        "print(run.id, wait(run).state, flush=True)\n"
        "threading.Event().wait()\n"
    )
    with Forked(script, tmp_path) as process:
        run_id, state = process.stdout.readline().split()
    assert state == "waiting"
    home = house(scores=NO_ANSWER)
    assert home.runs.trace(run_id).waiting.query == "question of Who won?"
    assert wait(home.runs.answer_consent(run_id, "finals")).outcome == "web"
    assert home.grader.graded == [-1]
