"""Edited questions: a branch is added, both are kept, and the history follows the branch that is shown."""

import threading
import time

import pytest
from sqlalchemy import insert, select

from crag.conversations import message_tree
from crag.conversations.conversations import UNDO_SECONDS
from crag.errors import BadRequest, NotFound, StillAnswering
from crag.options import RunOptions
from crag.storage.tables import messages
from tests.applications import wait
from tests.runs.conftest import house  # noqa: F401 — fixtures


@pytest.fixture
def home(house):  # noqa: F811
    return house()


def asked(home, conversation_id, question):
    wait(home.runs.start(conversation_id, question, RunOptions()))
    return home.conversations.messages(conversation_id)[-2].id


def edited(home, message_id, question):
    return wait(home.runs.edit(message_id, question, RunOptions()))


def questions(home, conversation_id):
    return [message.text for message in home.conversations.messages(conversation_id) if message.role == "user"]


def test_an_edited_question_replaces_the_old_one_and_its_sequel(home):
    conversation = home.conversations.create().id
    asked(home, conversation, "One?")
    second = asked(home, conversation, "Two?")
    asked(home, conversation, "Three?")
    edited(home, second, "Two, but better?")
    assert questions(home, conversation) == ["One?", "Two, but better?"]
    assert home.conversations.count(conversation) == 4
    shown = home.conversations.messages(conversation)[2]
    assert shown.branches == (second, shown.id)


def test_branches_are_switched_to_where_they_were_left(home):
    conversation = home.conversations.create().id
    first = asked(home, conversation, "One?")
    asked(home, conversation, "Two?")
    edited(home, first, "Uno?")
    asked(home, conversation, "Dos?")
    other = home.conversations.messages(conversation)[0].id
    home.conversations.show_branch(conversation, first)
    assert questions(home, conversation) == ["One?", "Two?"]
    assert [message.id for message in home.conversations.messages(conversation, last=1)] == [first + 3]
    home.conversations.show_branch(conversation, other)
    assert questions(home, conversation) == ["Uno?", "Dos?"]
    assert home.conversations.messages(conversation)[0].branches == (first, other)


def test_an_unedited_question_has_no_branches(home):
    conversation = home.conversations.create().id
    message = asked(home, conversation, "One?")
    assert [one.branches for one in home.conversations.messages(conversation)] == [(message,), ()]


def test_models_see_only_the_shown_branch(home):
    conversation = home.conversations.create().id
    first = asked(home, conversation, "What of whales?")
    second = asked(home, conversation, "And then?")
    edited(home, first, "What of bees?")
    wait(home.runs.start(conversation, "And how many?", RunOptions()))
    run_id = home.conversations.messages(conversation)[-1].run_id
    assert home.runs.trace(run_id).step("condense_question") is not None
    history = home.runs._records.history(conversation)
    assert [turn.text for turn in history if turn.role == "user"] == ["What of bees?", "And how many?"]
    assert home.runs._records.history_before(second)[0].text == "What of whales?"


def test_editing_the_first_question_has_no_history(home):
    conversation = home.conversations.create().id
    first = asked(home, conversation, "What of whales?")
    asked(home, conversation, "And then?")
    assert edited(home, first, "What of bees?").step("condense_question") is None


def test_versions_of_an_answer_stay_in_their_branch(home):
    conversation = home.conversations.create().id
    first = asked(home, conversation, "One?")
    answer = home.conversations.messages(conversation)[1].run_id
    wait(home.runs.regenerate(answer, RunOptions(k=2)))
    edited(home, first, "Uno?")
    home.conversations.show_branch(conversation, first)
    shown = home.conversations.messages(conversation)[1].run_id
    assert [version.run_id for version in home.runs.versions(shown)] == [answer, shown]
    assert [message.versions for message in home.conversations.messages(conversation)] == [1, 2]


def test_no_other_branch_is_shown_while_an_answer_is_written(home):
    conversation = home.conversations.create().id
    first = asked(home, conversation, "One?")
    edited(home, first, "Uno?")
    home.writer.gate = threading.Event()
    run = home.runs.start(conversation, "Two?", RunOptions())
    with pytest.raises(StillAnswering):
        home.conversations.show_branch(conversation, first)
    home.writer.gate.set()
    wait(run)
    assert questions(home, conversation) == ["Uno?", "Two?"]


def test_each_question_has_the_run_of_its_own_answer(home):
    conversation = home.conversations.create().id
    asked_first, asked_then = (asked(home, conversation, question) for question in ("One?", "Two?"))
    answers = [one for one in home.conversations.messages(conversation) if one.role == "assistant"]
    found = [home.conversations.find_answer_run(one) for one in (asked_first, asked_then)]
    assert found == [one.run_id for one in answers]


def test_missing_or_foreign_messages_cannot_be_edited_or_shown(home):
    one, other = home.conversations.create().id, home.conversations.create().id
    message = asked(home, one, "One?")
    answer = home.conversations.messages(one)[1].id
    with pytest.raises(NotFound):
        home.runs.edit(answer, "An answer?", RunOptions())
    with pytest.raises(NotFound):
        home.conversations.show_branch(other, message)
    with pytest.raises(NotFound):
        home.runs.edit(message + 1000, "Nothing?", RunOptions())
    with pytest.raises(BadRequest):
        home.runs.edit(message, "   ", RunOptions())


def test_a_long_conversation_is_walked_whole_and_deleted_whole(home):
    conversation = home.conversations.create().id
    wait(home.runs.start(conversation, "One?", RunOptions()))
    shared = {"conversation_id": conversation, "role": "user", "text": "x", "created_at": 0}
    with home.database.write() as connection:
        rows = [{"id": number, "parent_id": number - 1, **shared} for number in range(3, 3003)]
        connection.execute(insert(messages), rows)
        message_tree.set_head(connection, conversation, 3002)
    assert home.conversations.count(conversation) == 3002
    assert [message.id for message in home.conversations.messages(conversation, last=4)] == [2999, 3000, 3001, 3002]
    home.conversations.delete(conversation)
    assert home.conversations.purge() == 1
    with home.database.read() as connection:
        assert connection.execute(select(messages)).all() == []


def test_what_was_deleted_while_the_clock_was_ahead_is_purged(home, monkeypatch):
    conversation = home.conversations.create().id
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 30 * 24 * 3600)
    home.conversations.delete(conversation)
    assert home.conversations.purge(older_than=600) == 0
    monkeypatch.setattr("time.time", lambda: now)
    assert home.conversations.purge(older_than=600) == 1


def test_what_was_deleted_can_be_restored_until_it_is_purged(home):
    conversation = home.conversations.create().id
    asked(home, conversation, "One?")
    home.conversations.delete(conversation)
    assert home.conversations.list() == []
    with pytest.raises(NotFound):
        home.conversations.get(conversation)
    assert home.conversations.purge(older_than=60) == 0
    home.conversations.restore(conversation)
    assert questions(home, home.conversations.list()[0].id) == ["One?"]
    home.conversations.delete(conversation)
    assert home.conversations.purge() == 1
    home.conversations.restore(conversation)
    assert home.conversations.list() == []


def test_the_last_deletions_that_can_be_undone_are_listed(home, monkeypatch):
    one, other, kept = (home.conversations.create().id for _ in range(3))
    for conversation in (one, other):
        home.conversations.delete(conversation)
    assert [found.id for found in home.conversations.list_deleted(3)] == [other, one]
    assert [found.id for found in home.conversations.list_deleted(1)] == [other]
    home.conversations.restore(other)
    assert [found.id for found in home.conversations.list_deleted(3)] == [one]
    assert home.conversations.for_user("somebody else").list_deleted(3) == []
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + UNDO_SECONDS)
    assert home.conversations.list_deleted(3) == []
    assert home.conversations.get(kept)


def test_pinned_conversations_come_first(home):
    one, other = home.conversations.create().id, home.conversations.create().id
    asked(home, one, "One?")
    asked(home, other, "Two?")
    home.conversations.pin(one, pinned=True)
    assert [(found.id, found.pinned) for found in home.conversations.list()] == [(one, True), (other, False)]
    home.conversations.pin(one, pinned=False)
    assert [found.id for found in home.conversations.list()] == [other, one]


def test_a_deleted_conversation_takes_no_more_questions(home):
    conversation = home.conversations.create().id
    first = asked(home, conversation, "One?")
    run_id = home.conversations.messages(conversation)[-1].run_id
    home.conversations.delete(conversation)
    for begin in (
        lambda: home.runs.start(conversation, "Two?", RunOptions()),
        lambda: home.runs.edit(first, "Uno?", RunOptions()),
        lambda: home.runs.regenerate(run_id, RunOptions()),
    ):
        with pytest.raises(NotFound):
            begin()
    assert home.runs.recent(10) == []
    home.conversations.restore(conversation)
    assert questions(home, conversation) == ["One?"]
    assert home.runs.recent(10) == [run_id]
