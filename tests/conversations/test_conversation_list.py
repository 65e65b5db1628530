"""The list of conversations: search, limit, count and snippet."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import insert

from crag.conversations.conversation_list import Snippet, remove_answer_markup
from crag.conversations.conversations import Conversations, DelayedDeletion
from crag.storage.engine import Database
from crag.storage.tables import messages
from tests.waiting import PATIENCE, wait_until


@pytest.fixture
def conversations(tmp_path):
    database = Database(tmp_path)
    yield Conversations(database)
    database.close()


@pytest.fixture
def conversation(conversations, tmp_path):
    """Makes one with these messages; gives its id."""
    database = Database(tmp_path)

    def make(*texts: str, user: str = "ann") -> str:
        made = conversations.for_user(user or None).create().id
        rows = [{"conversation_id": made, "role": "user", "text": text, "created_at": 0} for text in texts]
        with database.write() as connection:
            connection.execute(insert(messages), rows)
        return made

    yield make
    database.close()


@pytest.mark.parametrize("sought", ["ÜBERGRÖSSE", "übergröße", "100%", "_a", "고양이", "(a"])
def test_it_is_found_whatever_the_case_and_only_where_it_is(conversations, conversation, sought):
    held = conversation("One of Übergrösse and Übergröße, 100% _a (a), 고양이.")
    conversation("100 of a: uber")
    assert [one.id for one in conversations.for_user("ann").find(sought, 9).conversations] == [held]


def test_the_snippet_is_one_line_of_the_latest_matching_message(conversations, conversation):
    one = conversation("A zebra.", "word " * 40 + "two\nZebras,\n\nthree" + " word" * 40, "Nothing.")
    found = conversations.for_user("ann").find(" zebra ", 9)
    snippet = found.snippets[one]
    assert (snippet.match, snippet.before[-4:], snippet.after[:9]) == ("Zebra", "two ", "s, three ")
    assert (snippet.before[0], snippet.after[-1]) == ("…", "…")
    conversations.rename(one, "The okapi")
    assert conversations.for_user("ann").find("okapi", 9).snippets == {}
    assert conversations.for_user("ann").find("A ZEBRA", 9).snippets == {one: Snippet("", "A zebra", ".")}


def test_a_snippet_begins_with_a_whole_word(conversations, conversation):
    one = conversation("There is a counter, and when the counter reaches a hotness threshold, it starts.")
    assert conversations.for_user("ann").find("hotness", 9).snippets[one].before == "…when the counter reaches a "
    other = conversation("w" * 50 + "okapi")
    assert conversations.for_user("ann").find("okapi", 9).snippets[other].before == "…" + "w" * 30


def test_a_limited_list_counts_only_the_rest_of_the_same_person(conversations, conversation):
    ids = [conversation("A zebra.") for _ in range(5)]
    conversation("A zebra.", user="ben")
    conversations.pin(ids[0], pinned=True)
    for search in ("", "zebra"):
        found = conversations.for_user("ann").find(search, 2)
        assert ([one.id for one in found.conversations], found.total) == ([ids[0], ids[4]], 5)


def test_marks_of_markdown_are_removed_however_many_there_are():
    rule = "#" * 300_000  # with a pattern that looks at each from each, half an hour
    assert remove_answer_markup(f"## The **result** [1]\n{rule}\n`x`") == f"The result {rule} x"


def test_each_scheduled_purge_happens_once_and_leaves_no_error(caplog):
    purges = []
    purging = DelayedDeletion(lambda: purges.append(1), seconds=0.01)
    for count in (1, 2):
        purging.schedule()
        wait_until(lambda count=count: len(purges) == count)
    assert purging._worker.wait(PATIENCE)
    purging.close()
    assert len(purges) == 2
    assert not [one for one in caplog.records if one.name != "crag.concurrency.workers"]  # of other tests


def test_what_was_deleted_is_purged_later_and_not_after_closing():
    purged = threading.Event()
    purging = DelayedDeletion(purged.set, seconds=0.01)
    purging.schedule()
    assert purged.wait(PATIENCE)
    purged.clear()
    purging.schedule()
    assert purged.wait(PATIENCE)
    purging.close()
    never = threading.Event()
    purging = DelayedDeletion(never.set, seconds=60)
    purging.schedule()
    assert not never.wait(0.05)
    purging.close()
    assert not never.is_set()
