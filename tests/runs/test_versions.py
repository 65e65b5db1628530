"""Versions of an answer: overrides, other options, a search for a sentence, continuing; old versions stay."""

import threading
import time

import pytest
from sqlalchemy import select

from crag.errors import BadRequest
from crag.options import OPTIONS, RunOptions, apply_changes, get_option
from crag.runs.revisions import describe_option_changes
from crag.storage.tables import rulings
from crag.types import Thresholds
from tests.applications import wait
from tests.doubles.engine import QuotingWriter, passage

ASK = RunOptions(web="ask")

USUAL = RunOptions()


def answered(home, options=RunOptions(), question="What holds?"):  # noqa: B008 — frozen
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, question, options)
    return conversation, run, wait(run)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_version_names_every_option_that_changes_answers(name):
    option, usual = OPTIONS[name], get_option(RunOptions(), name)
    others = {
        "switch": not usual,
        "choice": next(reversed(option.values), ""),
        "number": option.highest,
        "thresholds": Thresholds(0.3, 0.75),
        "documents": ("a",),
    }
    changed = apply_changes(RunOptions(), {name: others.get(option.kind, "other")})
    assert get_option(changed, name) != usual
    assert (describe_option_changes(RunOptions(), changed) != "same settings") == option.changes_answers


def test_settings_are_told_in_words():
    before, after = RunOptions(), RunOptions(thresholds=Thresholds(0.3, 0.75), source_ids=("a", "b"))
    assert describe_option_changes(before, after) == "thresholds 0.3 and 0.75, documents 2"
    assert describe_option_changes(after, before) == "thresholds automatic, documents all"
    assert describe_option_changes(RunOptions(collection="Papers"), before) == "collection all documents"


def test_a_dropped_passage_is_not_answered_from(house):
    home = house()
    conversation, run, before = answered(home)
    assert "fact1" in before.text
    trace = wait(home.runs.overrule(run.id, {1: "drop"}))
    assert "fact1" not in trace.text
    assert "fact2" in trace.text
    assert (trace.verdicts[1].word, trace.verdicts[1].ruling, trace.verdicts[1].score) == ("irrelevant", "drop", 0.9)
    assert trace.action_reason.startswith("You left out 1. ")
    assert home.grader.graded == [1, 2], "nothing is graded again"
    assert len(home.retriever.queries) == 1
    shown = home.conversations.messages(conversation.id)
    assert [message.text for message in shown] == ["What holds?", trace.text]


def test_a_passage_used_anyway_makes_the_action_correct(house):
    home = house(scores={1: 0.1, 2: 0.0})
    _, run, before = answered(home)
    assert (before.action, before.outcome) == ("incorrect", "not_answered")
    trace = wait(home.runs.overrule(run.id, {2: "use"}))
    assert (trace.action, trace.outcome) == ("correct", "documents")
    assert "fact2" in trace.text
    assert "fact1" not in trace.text
    assert trace.action_reason == "You used 1. 1 of 2 passages is relevant."


def test_both_answers_are_there_and_either_can_be_shown(house):
    home = house()
    conversation, first, before = answered(home)
    second = home.runs.overrule(first.id, {1: "drop"})
    after = wait(second)
    versions = home.runs.versions(second.id)
    assert [(one.number, one.run_id, one.state) for one in versions] == [(1, first.id, "done"), (2, second.id, "done")]
    assert versions[1].change == after.change == "you left out p. 1"
    home.runs.show_version(first.id)
    assert home.conversations.messages(conversation.id)[-1].text == before.text
    assert home.conversations.messages(conversation.id)[-1].run_id == first.id
    assert home.runs.versions(first.id) == versions


@pytest.mark.parametrize("jump", [-3600, 365 * 24 * 3600])
def test_versions_keep_their_order_when_the_clock_jumps(house, monkeypatch, jump):
    home = house()
    _, first, _ = answered(home)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + jump)
    second = home.runs.overrule(first.id, {1: "drop"})
    wait(second)
    monkeypatch.setattr("time.time", lambda: now + 1)
    third = home.runs.overrule(first.id, {2: "drop"})
    wait(third)
    assert [one.run_id for one in home.runs.versions(first.id)] == [first.id, second.id, third.id]


def test_rulings_add_up_from_version_to_version(house):
    home = house()
    _, first, _ = answered(home)
    second = home.runs.overrule(first.id, {1: "drop"})
    wait(second)
    trace = wait(home.runs.overrule(second.id, {2: "drop"}))
    assert (trace.action, trace.outcome) == ("incorrect", "not_answered")
    assert trace.action_reason == "You left out 2. 0 of 2 passages are relevant: no answer found in your documents."
    back = wait(home.runs.overrule(home.runs.versions(first.id)[-1].run_id, {1: "use"}))
    assert back.verdicts[1].ruling == "use"
    assert back.verdicts[2].ruling == "drop"


def test_the_steps_that_were_kept_are_marked(house):
    home = house()
    _, run, _ = answered(home)
    trace = wait(home.runs.overrule(run.id, {1: "drop"}))
    assert [step.node for step in trace.steps if step.kept] == ["retrieve", "grade_documents"]
    assert trace.trajectory == ["retrieve_documents", "grade_document_retrieval", "generate_answer"]
    assert trace.parent == run.id


def test_overruling_survives_the_process_that_graded(house):
    home = house()
    _, run, _ = answered(home)
    home.close()
    again = house()
    trace = wait(again.runs.overrule(run.id, {1: "drop"}))
    assert "fact1" not in trace.text
    assert again.grader.graded == []


def test_dropping_the_answering_passage_may_search_after_consent(house):
    home = house(scores={1: 0.9, 2: 0.0, -1: 0.9})
    _, run, before = answered(home, ASK)
    assert before.action == "correct"
    waiting = home.runs.overrule(run.id, {1: "drop"})
    assert wait(waiting).state == "waiting"
    assert home.web.queries == []
    assert wait(home.runs.answer_consent(waiting.id, "finals")).outcome == "web"


def test_web_results_are_reused_and_nothing_is_sent_twice(house):
    home = house(scores={1: 0.4, 2: 0.4, -1: 0.9})
    _, run, before = answered(home, RunOptions(web="auto"))
    assert before.outcome == "documents_and_web"
    trace = wait(home.runs.overrule(run.id, {1: "drop"}))
    assert "fact9" in trace.text
    assert "fact1" not in trace.text
    assert len(home.web.queries) == 1
    assert trace.query_sent == ""
    dropped = wait(home.runs.overrule(run.id, {-1: "drop"}))
    assert "fact9" not in dropped.text
    assert len(home.web.queries) == 1
    sure = wait(home.runs.overrule(run.id, {1: "use"}))
    assert (sure.action, sure.outcome) == ("correct", "documents"), "the web is not called for any more"


def test_a_sentence_is_searched_for_only_after_consent(house):
    home = house(scores={1: 0.9, 2: 0.8, -1: 0.9})
    _, run, _ = answered(home, RunOptions(web="auto"))
    search = home.runs.search_web_for(run.id, "Bananas grow\non Jupiter.")
    trace = wait(search)
    assert (trace.waiting.query, trace.waiting.from_answer) == ("Bananas grow on Jupiter.", True)
    assert home.web.queries == []
    trace = wait(home.runs.answer_consent(search.id, "bananas Jupiter"))
    assert trace.outcome == "documents_and_web"
    assert home.web.queries == ["bananas Jupiter"]


def test_results_for_a_sentence_are_graded_by_that_sentence(house):
    home = house(scores={1: 0.9, 2: 0.8, -1: 0.9})
    _, run, _ = answered(home)
    search = home.runs.search_web_for(run.id, "Bananas grow on Jupiter.")
    wait(search)
    wait(home.runs.answer_consent(search.id, "bananas Jupiter"))
    assert home.grader.questions == {1: "What holds?", 2: "What holds?", -1: "bananas Jupiter"}


def test_a_web_passage_used_anyway_joins_answering_documents(house):
    home = house(scores={1: 0.9, 2: 0.8, -1: 0.0})
    _, run, _ = answered(home)
    search = home.runs.search_web_for(run.id, "Bananas grow on Jupiter.")
    wait(search)
    searched = wait(home.runs.answer_consent(search.id, "bananas Jupiter"))
    assert "fact9" not in searched.text
    wanted = wait(home.runs.overrule(search.id, {-1: "use"}))
    assert "fact9" in wanted.text
    assert wanted.outcome == "documents_and_web"
    assert len(home.web.queries) == 1


def test_a_second_search_stands_beside_the_first(house):
    home = house(scores={1: 0.0, 2: 0.0, -1: 0.9, -2: 0.9})
    _, run, _ = answered(home, RunOptions(web="auto"))
    search = home.runs.search_web_for(run.id, "More of it.")
    wait(search)
    trace = wait(home.runs.answer_consent(search.id, "more"))
    assert trace.found["web"] == (-1, -2)
    assert {citation.passage_id for citation in trace.citations} == {-1, -2}


def test_the_same_question_under_other_settings_is_a_version(house):
    home = house()
    conversation, first, _ = answered(home, question="First?")
    wait(home.runs.start(conversation.id, "Second?", RunOptions()))
    trace = wait(home.runs.regenerate(first.id, RunOptions(policy="any", k=1, refine=False)))
    assert trace.change == "k 1, policy any, excerpts off"
    assert home.retriever.queries[-1] == "First?", "what came after the question is no history of it"
    assert [message.text for message in home.conversations.messages(conversation.id)][0::2] == ["First?", "Second?"]
    assert not any(step.kept for step in trace.steps)


def test_a_version_sees_the_history_before_its_question(house):
    home = house()
    conversation, _, _ = answered(home, question="First?")
    second = home.runs.start(conversation.id, "Second?", RunOptions())
    wait(second)
    trace = wait(home.runs.regenerate(second.id, RunOptions()))
    assert trace.condensed == "Second? (about First?)"
    assert trace.change == "same settings"


def test_a_version_without_a_conversation(house):
    home = house()
    run = home.runs.start(None, "What holds?", RunOptions())
    wait(run)
    trace = wait(home.runs.overrule(run.id, {2: "drop"}))
    assert "fact2" not in trace.text


@pytest.mark.parametrize("rulings", [{}, {99: "use"}, {1: "use", 99: "drop"}])
def test_what_was_not_graded_cannot_be_overruled(house, rulings):
    home = house()
    _, run, _ = answered(home)
    with pytest.raises(BadRequest, match="no verdict"):
        home.runs.overrule(run.id, rulings)
    assert len(home.runs.versions(run.id)) == 1


def test_an_answer_that_is_still_written_has_no_versions_yet(house):
    import threading

    gate = threading.Event()
    home = house(writer=QuotingWriter(gate=gate))
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", RunOptions())
    with pytest.raises(BadRequest, match="still being written"):
        home.runs.regenerate(run.id, RunOptions())
    gate.set()
    wait(run)


def test_a_damaged_file_of_checkpoints_is_set_aside(house, tmp_path):
    home = house()
    _, run, _ = answered(home, ASK)
    home.close()
    (tmp_path / "checkpoints.sqlite").write_bytes(b"something else " * 500)
    again = house()
    assert wait(again.runs.start(None, "What holds?", ASK)).state == "done"
    assert (tmp_path / "checkpoints.damaged").exists()
    assert again.runs.trace(run.id).text


def test_what_is_deleted_leaves_nothing_in_the_checkpoints(house, tmp_path):
    home = house()
    conversation, private, _ = answered(home, ASK, "Something private?")
    wait(home.runs.overrule(private.id, {1: "drop"}))
    assert rulings_of(home) == ["Something private?"]
    _, other, _ = answered(home)
    home.conversations.delete(conversation.id)
    home.conversations.purge()
    assert b"private" in everything(tmp_path)
    home.runs.delete_orphaned_data()
    assert b"private" not in everything(tmp_path)
    assert rulings_of(home) == []
    assert wait(home.runs.overrule(other.id, {1: "drop"})).state == "done"


def rulings_of(home) -> list[str]:
    with home.database.read() as connection:
        return list(connection.execute(select(rulings.c.question)).scalars())


def everything(home) -> bytes:
    import sqlite3

    connection = sqlite3.connect(home / "checkpoints.sqlite")
    rows = [*connection.execute("SELECT * FROM checkpoints"), *connection.execute("SELECT * FROM writes")]
    connection.close()
    return repr(rows).encode()


def test_closing_while_another_thread_tidies_harms_nobody(house):
    home = house()
    _, run, _ = answered(home)
    home.runs.close()
    home.runs.delete_orphaned_data()
    again = house()
    assert wait(again.runs.overrule(run.id, {1: "drop"})).state == "done"


def test_passages_come_back_from_the_disk_as_they_were(house):
    home = house()
    home.retriever.passages = [passage(1, also_in=("Copy.pdf",)), passage(2)]
    _, run, before = answered(home)
    trace = wait(home.runs.overrule(run.id, {2: "drop"}))
    assert trace.passages == before.passages


def test_an_answer_cut_at_its_limit_continues_from_its_knowledge(house):
    home = house(writer=QuotingWriter(finish="length"))
    _, run, before = answered(home)
    home.writer.reply = lambda knowledge: ["and more [2]."]
    home.writer.finish = "stop"
    trace = wait(home.runs.continue_answer(run.id))
    assert trace.text == f"{before.text}and more [2]."
    assert trace.change == "continued"
    assert trace.verdicts == before.verdicts
    assert trace.strips == before.strips
    assert [step.node for step in trace.steps] == [step.node for step in before.steps]
    assert [version.change for version in home.runs.versions(run.id)] == ["first answer", "continued"]
    assert "length limit" not in " ".join(trace.notes)


def test_a_stopped_answer_keeps_its_text_and_goes_on(house):
    writer = QuotingWriter(gate=threading.Event())
    home = house(writer=writer)
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", USUAL)
    while not home.runs.trace(run.id).text:
        assert not run.ended
        next(iter(run.follow(after=0, seconds=0.05)), None)
    home.runs.stop(run.id)
    stopped = wait(run)
    assert stopped.state == "stopped"
    writer.gate = None
    trace = wait(home.runs.continue_answer(run.id))
    assert trace.state == "done"
    assert trace.text.startswith(stopped.text.strip())


def test_a_whole_answer_is_not_gone_on_with(house):
    home = house()
    _, run, _ = answered(home)
    with pytest.raises(BadRequest, match="complete"):
        home.runs.continue_answer(run.id)
    assert len(home.runs.versions(run.id)) == 1
