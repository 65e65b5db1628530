"""The list of all runs: filters, owners, and summaries filled in when they are missing."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from sqlalchemy import delete, insert, text, update

from crag.events import SufficiencyJudged, encode_event
from crag.inspection.run_archive import RunArchive, RunFilter
from crag.inspection.run_labels import OUTCOME_BADGES, run_badge
from crag.options import RunOptions
from crag.storage.tables import events, run_summaries, runs
from crag.types import Assessment
from tests.applications import wait
from tests.doubles.engine import QuotingWriter
from tests.runs.conftest import House
from tests.waiting import wait_until

OFF = RunOptions(web="off")
WEB = RunOptions(web="auto")


@pytest.fixture
def house(tmp_path):
    home = House(tmp_path)
    yield home
    home.close()


@pytest.fixture
def archive(house):
    opened = RunArchive(house.database)
    yield opened
    opened.summaries.close()


def ask(house, question, options=OFF, scores=None, user=""):
    if scores is not None:
        house.grader.scores.update(scores)
    run = house.runs.start(house.conversations.for_user(user or None).create().id, question, options)
    wait(run)
    return run.id


@pytest.fixture
def three(house):
    """One from the documents, one from the web, one not answered."""
    return {
        "documents": ask(house, "What holds?"),
        "web": ask(house, "What holds elsewhere?", WEB, {1: 0.05, 2: 0.02, -1: 0.9}),
        "none": ask(house, "Nothing at all?", OFF, {1: 0.05, 2: 0.02}),
    }


def names(three, found):
    known = {run_id: name for name, run_id in three.items()}
    return [known[row.run_id] for row in found]


def test_a_run_is_listed_with_what_it_came_to(archive, three):
    row = archive.list()[-1]
    assert (row.run_id, row.question, row.state) == (three["documents"], "What holds?", "done")
    assert (row.action, row.outcome, row.best, row.relevant) == ("correct", "documents", 0.9, 2)
    assert row.seconds > 0
    assert row.policy == "paper"
    assert row.helpful is None
    web = archive.list(RunFilter(web=True))[0]
    assert (web.action, web.outcome, web.best) == ("incorrect", "web", 0.05)
    assert web.query_sent


def test_what_is_listed_can_be_narrowed(archive, three):
    for wanted, left in (
        (RunFilter(), ["none", "web", "documents"]),
        (RunFilter(search="HOLDS"), ["web", "documents"]),
        (RunFilter(search="100%"), []),
        (RunFilter(outcomes=("not_answered", "web")), ["none", "web"]),
        (RunFilter(outcomes=("documents", "web"), search="else"), ["web"]),
        (RunFilter(outcomes=("not_answered",)), ["none"]),
        (RunFilter(verdicts=("relevant",)), ["web", "documents"]),
        (RunFilter(verdicts=("ambiguous",)), []),
        (RunFilter(states=("running", "waiting")), []),
        (RunFilter(web=True), ["web"]),
        (RunFilter(web=False), ["none", "documents"]),
        (RunFilter(models=("no such model",)), []),
        (RunFilter(since=time.time() + 60), []),
        (RunFilter(until=time.time() + 3600), ["none", "web", "documents"]),
    ):
        assert names(three, archive.list(wanted)) == left, wanted
        assert archive.count(wanted) == len(left)


def test_by_thumbs(house, archive, three):
    house.conversations.give_feedback(three["web"], helpful=False, reason="Out of date")
    house.conversations.give_feedback(three["documents"], helpful=True)
    assert names(three, archive.list(RunFilter(helpful=("down",)))) == ["web"]
    assert names(three, archive.list(RunFilter(helpful=("up", "none")))) == ["none", "documents"]
    assert [(row.helpful, row.reason) for row in archive.list()] == [(None, ""), (False, "Out of date"), (True, "")]


def test_pages_of_the_list_follow_each_other(archive, three):
    assert names(three, archive.list(limit=2)) == ["none", "web"]
    assert names(three, archive.list(limit=2, offset=2)) == ["documents"]


def test_kinds_days_and_the_slowest_are_counted(archive, three):
    facets = archive.facets()
    assert facets.states == {"done": 3}
    assert facets.outcomes == {"documents": 1, "web": 1, "not_answered": 1}
    days = archive.days(since=time.time() - 3600)
    assert sorted((day.outcome, day.runs) for day in days) == [("documents", 1), ("not_answered", 1), ("web", 1)]
    slowest = archive.slowest(limit=2)
    assert slowest[0].seconds >= slowest[1].seconds


def test_declined_questions_with_related_passages_are_apart(house, archive, three):
    with house.database.write() as connection:
        declined = update(run_summaries).where(run_summaries.c.run_id == three["none"])
        connection.execute(declined.values(action="ambiguous", sufficiency="insufficient"))
    assert archive.facets().outcomes == {"documents": 1, "web": 1, "related": 1}
    assert sorted(one.outcome for one in archive.days(since=0.0)) == ["documents", "related", "web"]
    assert not archive.list(RunFilter(outcomes=("not_answered",)))
    (row,) = archive.list(RunFilter(outcomes=("related",)))
    assert run_badge(row) == OUTCOME_BADGES["related"]


def test_nobody_sees_the_runs_of_others_or_of_what_was_deleted(house, archive):
    mine, other = ask(house, "Mine?", user="anna"), ask(house, "Not mine?", user="ben")
    bare = house.runs.start(None, "From the command line?", OFF)
    wait(bare)
    assert [row.run_id for row in archive.for_user("anna").list()] == [mine]
    assert archive.for_user("anna").facets().outcomes == {"documents": 1}
    assert archive.for_user("nobody").count() == 0
    assert archive.for_user("nobody").days(0.0) == archive.for_user("nobody").slowest() == []
    assert {row.run_id for row in archive.list()} == {mine, other, bare.id}
    house.conversations.delete(archive.for_user("anna").list()[0].conversation_id)
    assert archive.for_user("anna").list() == []
    assert archive.count() == 2


def test_what_runs_or_waits_is_listed_too(house, archive):
    house.grader.scores = {1: 0.05, 2: 0.02}
    run = house.runs.start(None, "What is asked first?", RunOptions(web="ask"))
    wait(run)
    house.grader.scores, house.writer.gate = {1: 0.9}, (gate := threading.Event())
    house.runs.start(None, "What still runs?", OFF)
    assert [(row.state, row.action, row.seconds) for row in archive.list()] == [
        ("running", None, None),
        ("waiting", None, None),
    ]
    gate.set()


def test_a_version_is_a_run_of_its_own(house, archive):
    first = ask(house, "What holds?")
    second = house.runs.overrule(first, {1: "drop"})
    wait(second)
    assert [(row.run_id, bool(row.change)) for row in archive.list()] == [(second.id, True), (first, False)]


def test_runs_from_before_are_summed_up_in_the_background(house, archive, three):
    judged = encode_event(SufficiencyJudged(Assessment("insufficient", "No day is given.")))
    before = [
        replace(row, sufficiency="insufficient" if row.run_id == three["none"] else None) for row in archive.list()
    ]
    with house.database.write() as connection:
        connection.execute(insert(events).values(run_id=three["none"], number=0, body=judged))
        connection.execute(delete(run_summaries).where(run_summaries.c.run_id == three["web"]))
        damaged = text("UPDATE run_summaries SET seconds = 'half', action = '?' WHERE run_id = :id")
        connection.execute(damaged, {"id": three["none"]})
    assert names(three, archive.list(RunFilter(outcomes=("",)))) == ["none", "web"]
    archive.summaries.begin()
    wait_until(lambda: archive.list() == before)
    wait_until(lambda: archive.summaries.progress is None)


def test_events_that_cannot_be_read_do_not_hold_up_the_others(house, archive, three):
    with house.database.write() as connection:
        connection.execute(delete(run_summaries))
        connection.execute(update(events).where(events.c.run_id == three["none"]).values(body="{"))
    archive.summaries.begin()
    wait_until(lambda: archive.count(RunFilter(outcomes=("documents", "not_answered", "web"))) == 2)
    assert archive.list()[0].action is None


def test_a_killed_run_is_summed_up_when_its_death_is_noticed(house, archive, tmp_path):
    house.writer = QuotingWriter(gate=threading.Event())
    run = house.runs.start(None, "What holds?", OFF)
    wait_until(lambda: house.runs.trace(run.id).action)
    house.runs._log.flush()
    with house.database.write() as connection:
        connection.execute(update(runs).values(owner="0@0"))
    other = House(tmp_path)
    row = archive.list()[0]
    assert (row.state, row.action) == ("interrupted", "correct")
    other.close()
    house.writer.gate.set()


@pytest.mark.parametrize("sought", ["x" * 60_000, "問" * 60_000, "%" * 30_000, "ÜBER"])
def test_runs_are_found_whatever_is_sought_however_long_it_is(house, archive, sought):
    ask(house, f"Is {sought.lower()} there?")
    ask(house, "Is it there?")
    assert [row.question for row in archive.list(RunFilter(search=sought))] == [f"Is {sought.lower()} there?"]
    assert house.conversations.find(sought, 50).total == 1
