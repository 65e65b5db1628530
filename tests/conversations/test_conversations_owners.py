"""Whose conversations they are: taken over once after an update, and handed from one browser to another."""

from __future__ import annotations

import json

import pytest

from crag.cli.main import main
from crag.conversations.conversations import ConversationOwners
from crag.errors import BadRequest
from crag.options import RunOptions
from crag.storage.outbound_ledger import OutboundLog
from crag.types import generate_user_key
from tests.runs.conftest import (
    house,  # noqa: F401 — fixtures
    wait,
)

NEW, NEWEST = generate_user_key(), generate_user_key()


@pytest.fixture
def home(house):  # noqa: F811
    return house()


@pytest.fixture
def people(home):
    return ConversationOwners(home.database)


def conversation(home, person=""):
    made = home.conversations.create(person=person).id
    wait(home.runs.start(made, "One?", RunOptions()))
    return made


def seen(home, person):
    return {found.id for found in home.conversations.list(person=person)}


def test_who_comes_first_after_an_update_takes_over_what_was_asked_before(home, people):
    old = conversation(home)
    OutboundLog(home.database).record("api.tavily.com", "web search", "cats")
    people.claim_unowned("first")
    people.claim_unowned("second")
    assert (seen(home, "first"), seen(home, "second")) == ({old}, set())
    later = conversation(home)  # as a command makes them
    people.claim_unowned("second")
    assert later not in seen(home, "second")
    assert people.count() == 1


def test_conversations_are_handed_over_one_by_one_or_all_at_once(home, people):
    one, other = conversation(home, "old"), conversation(home, "other")
    assert people.transfer(NEW, [one, "unknown"]) == 1
    assert (seen(home, NEW), seen(home, "other")) == ({one}, {other})
    assert people.transfer_all(NEWEST) == 2
    assert seen(home, NEWEST) == {one, other}
    with pytest.raises(BadRequest):
        people.transfer("newest", [one])


def test_the_command_hands_over_those_that_are_named_and_none_where_one_is_unknown(home, capsys):
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
