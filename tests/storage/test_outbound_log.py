"""The outbound log: on disk before anything is sent; what cannot be logged is not sent."""

import sqlite3
import time

import pytest

from crag.cancellation import Cancellation
from crag.concurrency.workers import map_parallel
from crag.errors import HomeFault
from crag.storage.outbound_log import OutboundLog, on_behalf_of


@pytest.fixture
def outbound_log(database):
    return OutboundLog(database)


def test_what_is_recorded_is_there_for_any_other_process_at_once(outbound_log, tmp_path):
    before = time.time()
    outbound_log.record("api.tavily.com", "web search", "누가 이겼나요? 🏀")
    with sqlite3.connect(tmp_path / "crag.sqlite") as other:
        (row,) = other.execute("SELECT host, kind, what, at FROM departures").fetchall()
    assert row[:3] == ("api.tavily.com", "web search", "누가 이겼나요? 🏀")
    assert before <= row[3] <= time.time()


def test_each_person_sees_only_their_own_records_from_any_thread(outbound_log):
    outbound_log.record("example.org", "download", "weights")
    with on_behalf_of("ann"):
        list(
            map_parallel(
                lambda _: outbound_log.record("example.org", "model", "to Ann's question"), 2, 2, Cancellation()
            )
        )
    with on_behalf_of("ben"):
        outbound_log.record("example.org", "model", "to Ben's question")
    assert [entry.what for entry in outbound_log.for_user("ben").entries()] == ["to Ben's question", "weights"]
    assert (outbound_log.for_user("ann").count_since(), outbound_log.count_since()) == (3, 4)
    assert outbound_log.for_user("ann").clear() == 3
    assert [entry.what for entry in outbound_log.entries()] == ["to Ben's question"]


def test_entries_come_newest_first_and_by_kind(outbound_log):
    outbound_log.record("example.org", "web page", "https://example.org/1")
    outbound_log.record("api.tavily.com", "web search", "cats")
    outbound_log.record("example.org", "web page", "https://example.org/2")
    assert [entry.what for entry in outbound_log.entries()] == [
        "https://example.org/2",
        "cats",
        "https://example.org/1",
    ]
    assert [entry.what for entry in outbound_log.entries(1)] == ["https://example.org/2"]
    assert [entry.what for entry in outbound_log.entries(kind="web search")] == ["cats"]


def test_departures_are_counted_from_a_moment_on(outbound_log):
    outbound_log.record("api.tavily.com", "web search", "cats")
    later = time.time() + 1
    assert outbound_log.count_since() == outbound_log.count_since(kind="web search") == 1
    assert outbound_log.count_since(later) == outbound_log.count_since(kind="web page") == 0


def test_the_list_can_be_forgotten(outbound_log):
    outbound_log.record("api.tavily.com", "web search", "cats")
    outbound_log.record("api.tavily.com", "web search", "dogs")
    assert outbound_log.clear() == 2
    assert outbound_log.entries() == []


def test_text_no_database_can_hold_is_recorded_cleaned(outbound_log):
    outbound_log.record("api.tavily.com", "web search", "a\x00b\ud800c")
    assert outbound_log.entries()[0].what == "abc"


def test_what_cannot_be_written_down_is_refused_in_words(outbound_log, database):
    with database.write() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    with database.read() as connection:  # the disk is full, as far as this connection can tell
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(HomeFault, match=r"^Nothing was sent .* The disk is full"):
        outbound_log.record("api.tavily.com", "web search", "cats" * 10_000)
    assert outbound_log.entries() == []
