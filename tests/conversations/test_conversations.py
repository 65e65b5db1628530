"""Conversations and their owners, on a real database."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import insert

from crag.cli.main import main
from crag.conversations import message_tree
from crag.conversations.conversations import ConversationOwners, Conversations, set_first_title
from crag.errors import BadRequest, NotFound
from crag.options import RunOptions
from crag.runs.records import insert_run
from crag.storage.outbound_log import OutboundLog, on_behalf_of
from crag.storage.tables import messages
from crag.types import Feedback, Thresholds, generate_user_key
from tests.applications import wait
from tests.runs.conftest import house  # noqa: F401 — fixtures

NEW, NEWEST = generate_user_key(), generate_user_key()


@pytest.fixture
def conversations(database):
    return Conversations(database)


def say(database, conversation, *texts):
    with database.write() as connection:
        for number, text in enumerate(texts):
            values = {"conversation_id": conversation.id, "role": "user", "text": text, "created_at": number}
            values |= {"parent_id": message_tree.read_head(connection, conversation.id)}
            said = connection.execute(insert(messages).values(**values).returning(messages.c.id)).scalar_one()
            message_tree.set_head(connection, conversation.id, said)


def test_an_empty_conversation_is_not_listed(database, conversations):
    conversation = conversations.create()
    assert conversations.list() == []
    say(database, conversation, "hello")
    assert [one.id for one in conversations.list()] == [conversation.id]


def test_changes_are_kept_whole(conversations):
    changes = {
        "model": "ollama:llama3.1",
        "answering.window": 4096,
        "thresholds": Thresholds(0.3, 0.7),
        "source_ids": ("a", "b"),
    }
    assert conversations.get(conversations.create(changes).id).changes == changes
    conversation = conversations.create()
    assert conversation.changes == {}
    conversations.set_changes(conversation.id, changes)
    assert conversations.get(conversation.id).changes == changes


def test_only_the_first_question_names_a_conversation(database, conversations):
    conversation = conversations.create()
    for asked in ("Where is it?", "And when?"):
        with database.write() as connection:
            set_first_title(connection, conversation.id, asked)
        say(database, conversation, asked)
    assert conversations.get(conversation.id).title == "Where is it?"


def test_search_covers_titles_and_texts_and_takes_signs_as_is(database, conversations):
    one, other = conversations.create(), conversations.create()
    say(database, one, "about 100% of it")
    say(database, other, "about 100 of it")
    conversations.rename(other.id, "Penguins")
    assert [found.id for found in conversations.list("100%")] == [one.id]
    assert [found.id for found in conversations.list("penguin")] == [other.id]


@pytest.mark.parametrize(
    ("text", "search"),
    [("Über Öl", "über öl"), ("ΣΊΣΥΦΟΣ", "σίσυφο"), ("한국어 문서", "국어"), ("ДОГОВОР " * 9_000, "договор " * 8_000)],
)
def test_search_ignores_the_case_of_every_alphabet_however_long_the_text(database, conversations, text, search):
    conversation = conversations.create()
    say(database, conversation, text)
    assert [found.id for found in conversations.list(search)] == [conversation.id]
    assert conversations.find(search, 1).snippets.keys() == {conversation.id}


def test_last_messages_oldest_first(database, conversations):
    conversation = conversations.create()
    say(database, conversation, *"abcde")
    assert [message.text for message in conversations.messages(conversation.id, last=2)] == ["d", "e"]
    assert conversations.count(conversation.id) == 5


def test_deleting_takes_the_messages_along(database, conversations):
    conversation = conversations.create()
    say(database, conversation, "hello")
    conversations.delete(conversation.id)
    conversations.purge()
    assert conversations.messages(conversation.id) == []
    with pytest.raises(NotFound):
        conversations.get(conversation.id)
    conversations.delete(conversation.id)


def test_refusals(conversations):
    conversation = conversations.create()
    with pytest.raises(BadRequest):
        conversations.rename(conversation.id, "  ")
    with pytest.raises(NotFound):
        conversations.rename("gone", "title")
    with pytest.raises(NotFound):
        conversations.give_feedback("gone", True)


def test_the_revision_changes_with_what_the_user_sees(conversations):
    def revision():
        return conversations.for_user("ann").revision(made.id)

    made = conversations.for_user("ann").create()
    first = revision()
    conversations.for_user("bob").create()
    assert revision() == first
    conversations.rename(made.id, "Coffee")
    renamed = revision()
    conversations.for_user("ann").create()
    longer = revision()
    conversations.delete(made.id)
    assert len({first, renamed, longer, revision()}) == 4
    others = [conversations.for_user("ben").revision(one) for one in (made.id, "unknown")]
    assert others[0] == others[1], "of another's conversation it says nothing"


def test_feedback_is_changed_and_taken_back(database, conversations):
    conversation = conversations.create()
    with database.write() as connection:
        for run_id in ("other", "r"):
            insert_run(connection, id=run_id, conversation_id=conversation.id, question="q")
    conversations.give_feedback("other", helpful=True)
    assert conversations.feedback("r") is None
    conversations.give_feedback("r", helpful=False, reason=" It missed the second failure ")
    assert conversations.feedback("r") == Feedback(helpful=False, reason="It missed the second failure")
    conversations.give_feedback("r", helpful=True)
    assert conversations.feedback("r") == Feedback(helpful=True)
    conversations.withdraw_feedback("r")
    conversations.withdraw_feedback("r")
    assert conversations.feedback_by_run(["r", "other"]) == {"other": Feedback(helpful=True)}
    assert conversations.feedback_by_run([]) == {}


def test_a_renamed_collection_is_kept_by_the_conversations_that_use_it(conversations):
    papers, notes = (conversations.create({"collection": name}).id for name in ("Papers", "Notes"))
    conversations.rename_collection("Papers", "Theses")
    assert [conversations.get(one).changes for one in (papers, notes)] == [
        {"collection": "Theses"},
        {"collection": "Notes"},
    ]


@pytest.fixture
def home(house):  # noqa: F811
    return house()


@pytest.fixture
def people(home):
    return ConversationOwners(home.database)


def conversation(home, user=""):
    made = home.conversations.for_user(user or None).create().id
    wait(home.runs.start(made, "One?", RunOptions()))
    return made


def seen(home, user):
    return {found.id for found in home.conversations.for_user(user).list()}


def test_the_first_person_claims_unowned_conversations(home, people):
    old, sent = conversation(home), OutboundLog(home.database)
    for kind in ("web search", "model", "embedding", "download"):
        sent.record("example.org", kind, "cats")
    people.claim_unowned("first")
    people.claim_unowned("second")
    assert {entry.kind for entry in sent.for_user("second").entries()} == {"download"}
    assert (seen(home, "first"), seen(home, "second")) == ({old}, set())
    later = conversation(home)  # as a command makes them
    people.claim_unowned("second")
    assert later not in seen(home, "second")
    assert [people.for_user(user).has_others() for user in ("first", "second")] == [False, True]


def test_a_visit_that_takes_over_nothing_waits_for_no_writer(home, people):
    def visit():
        with home.database.write():
            people.claim_unowned("second")
            people.adopt("former", "second")

    visit()
    owned, common = conversation(home, "first"), conversation(home)
    visit()
    assert seen(home, "second") == set()
    assert seen(home, None) == {owned, common}


def test_conversations_are_handed_over_one_by_one_or_all_at_once(home, people):
    one, other = conversation(home, "old"), conversation(home, "other")
    assert people.transfer(NEW, [one, "unknown"]) == 1
    assert (seen(home, NEW), seen(home, "other")) == ({one}, {other})
    sent = OutboundLog(home.database)
    sent.record("example.org", "download", "weights")
    with on_behalf_of("other"):
        sent.record("example.org", "web search", "cats")
    assert people.transfer_all(NEWEST) == 2
    assert [entry.what for entry in sent.for_user("third").entries()] == ["weights"]
    assert len(sent.for_user(NEWEST).entries()) == 2
    assert seen(home, NEWEST) == {one, other}
    with pytest.raises(BadRequest):
        people.transfer("newest", [one])


def test_what_a_former_key_owned_is_adopted_once(home, people):
    one, other = conversation(home, "former"), conversation(home, "other")
    sent = OutboundLog(home.database)
    with on_behalf_of("former"):
        sent.record("example.org", "web search", "cats")
    people.adopt("former", NEW)
    people.adopt("former", NEWEST)
    assert (seen(home, NEW), seen(home, "former"), seen(home, NEWEST)) == ({one}, set(), set())
    assert [entry.what for entry in sent.for_user(NEW).entries()] == ["cats"]
    assert seen(home, "other") == {other}


def test_the_command_transfers_all_named_conversations_or_none(home, capsys):
    one, other = conversation(home, "old"), conversation(home, "old")

    def give(*arguments):
        code = main(["conversations", "give", *arguments, "--home", str(home.database.home), "--json"])
        return code, json.loads(capsys.readouterr().out)

    assert give(f"--to={NEW}", one, "unknown")[0] == 1
    assert give(f"--to={NEW}")[0] == give("--to=short", one)[0] == 1
    assert seen(home, "old") == {one, other}
    assert give(f"--to={NEW}", one) == (0, {"given": 1})
    assert give(f"--to={NEWEST}", "--all") == (0, {"given": 2})
    assert seen(home, NEWEST) == {one, other}
