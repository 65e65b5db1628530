"""Which answers show a coverage gap, what closes it, and pages added from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.app import reports
from crag.errors import BadRequest, NotFound
from crag.inspection.coverage_gaps import CoverageGaps, GapPage
from crag.models.embedders import DeferredEmbedder
from crag.options import RunOptions
from crag.settings import Settings
from tests.applications import wait
from tests.inspection.conftest import QUESTION
from tests.runs.conftest import RESULT, House

POOR, GOOD = {1: 0.1, 2: 0.0, -1: 0.9}, {1: 0.9, 2: 0.8}
FINALS, PLAYER, TURBINE = (
    "Who won the 2024 NBA finals?",
    "Which team lost the NBA finals in 2024?",
    "How is a hydraulic turbine cooled?",
)


class Even:
    """A library in which every word is as rare as another."""

    def idf(self, terms):
        return dict.fromkeys(terms, 3.0)


class Asked(House):
    """A home whose questions are answered as `scores` say, and the gaps of it."""

    def __init__(self, home):
        super().__init__(home, scores=POOR)
        self.submitted: list[tuple[str, str, str]] = []
        embedder = DeferredEmbedder("builtin", Settings(home=home))
        self.gaps = CoverageGaps(self.database, self.runs, embedder, Even(), self)

    def submit_url(self, url, collection, *, found_by):
        self.submitted.append((url, collection, found_by))
        return "job"

    def ask(self, question, scores=POOR, web="auto", user=""):
        self.grader.scores = scores
        conversation = self.conversations.for_user(user or None).create()
        run = self.runs.start(conversation.id, question, RunOptions(web=web))
        wait(run)
        return run

    def listed(self, user=None):
        return {one.question for gap in self.gaps.for_user(user).list() for one in gap.questions}


@pytest.fixture
def house(tmp_path):
    made = Asked(tmp_path)
    yield made
    made.close()


def test_uncovered_questions_are_grouped_the_biggest_first(house):
    house.ask(FINALS, web="off")
    house.ask(TURBINE)
    asked = house.ask(PLAYER)
    house.ask("Which fact does the paper hold?", GOOD)
    again = house.ask(f"{FINALS.lower()} ")
    first, second = house.gaps.list()
    assert [one.question for one in first.questions] == [again.question, PLAYER]
    assert [one.question for one in second.questions] == [TURBINE]
    assert first.topic == "2024 NBA finals"
    assert (len(first.questions[0].earlier), len(first.run_ids), first.questions[1].run_id) == (1, 3, asked.id)
    assert [one.outcome for gap in (first, second) for one in gap.questions] == ["web"] * 3
    assert first.questions[0].pages == (GapPage(RESULT.title, RESULT.location),)


def test_what_was_covered_later_is_no_gap_any_more(house):
    house.ask(FINALS)
    house.ask(TURBINE, GOOD)
    house.ask(TURBINE)  # it is covered no longer, since documents may go
    assert house.listed() == {FINALS, TURBINE}
    house.ask("who won the 2024 NBA finals", GOOD)
    assert house.listed() == {TURBINE}


def test_an_answered_version_or_edit_covers_the_question(house):
    run, other = house.ask(FINALS), house.ask(TURBINE)
    house.grader.scores = GOOD
    wait(house.runs.regenerate(run.id, RunOptions()))
    assert house.listed() == {TURBINE}
    message = house.conversations.messages(house.conversations.find_by_run(other.id).id)[0]
    wait(house.runs.edit(message.id, "What cools the turbine?", RunOptions()))
    assert house.listed() == set()


def test_a_partly_covered_question_is_answered(house):
    house.ask(FINALS, web="off")
    house.ask(TURBINE)
    assert house.listed() == {FINALS, TURBINE}
    doubtful = house.ask(FINALS, {1: 0.45}, web="off")
    assert house.runs.trace(doubtful.id).outcome == "documents_partly"
    assert house.listed() == {TURBINE}


def test_failed_answers_are_no_gaps_praised_ones_from_the_web_are(house):
    praised = house.ask(TURBINE)
    house.conversations.give_feedback(praised.id, helpful=True)
    assert house.listed() == {TURBINE}, "what the web answered well the documents still do not cover"
    house.web.failure = RuntimeError("a failed run")
    house.ask("Who paints the ship?")
    assert house.listed() == {TURBINE}


def test_a_closed_gap_reopens_by_hand_or_when_asked_again(house):
    house.ask(FINALS)
    (gap,) = house.gaps.list()
    house.gaps.close(gap.run_ids)
    assert house.gaps.list() == []
    house.gaps.reopen(gap.run_ids)
    assert house.gaps.list() == [gap]
    house.gaps.close(gap.run_ids)
    house.ask(FINALS)
    assert house.listed() == {FINALS}


def test_each_person_sees_their_own_and_what_was_deleted_nobody(house):
    house.ask(FINALS, user="ada")
    run = house.ask(TURBINE, user="bob")
    wait(house.runs.start(None, "Who paints the ship?", RunOptions(web="auto")))
    assert (house.listed("ada"), house.listed("bob")) == ({FINALS}, {TURBINE})
    assert house.listed() == {FINALS, TURBINE, "Who paints the ship?"}
    house.ask(FINALS, GOOD, user="bob")
    assert house.listed("ada") == {FINALS}, "what others found does not tell what she asked"
    house.conversations.delete(house.conversations.find_by_run(run.id).id)
    assert house.listed("bob") == set()


def test_a_follow_up_is_grouped_by_what_it_means(house):
    run = house.ask(FINALS)
    house.grader.scores = POOR
    wait(house.runs.start(house.conversations.find_by_run(run.id).id, "And in which city?", RunOptions(web="auto")))
    (gap,) = house.gaps.list()
    assert [one.question for one in gap.questions] == ["And in which city?", FINALS]


@pytest.mark.parametrize("location", ["javascript:alert(1)", "file:///etc/passwd", "//example.org/a", ""])
def test_what_is_no_web_page_is_neither_shown_nor_added(house, location):
    house.web.results = [replace(RESULT, location=location)]
    run = house.ask(FINALS)
    assert house.gaps.list()[0].questions[0].pages == ()
    with pytest.raises(BadRequest):
        house.gaps.add_page(location, "Documents", run.id)
    assert house.submitted == []


def test_a_page_is_submitted_with_the_question_that_found_it(house):
    run = house.ask(FINALS)
    assert house.gaps.add_page(RESULT.location, "Sports", run.id) == "job"
    assert house.submitted == [(RESULT.location, "Sports", FINALS)]
    with pytest.raises(NotFound):
        house.gaps.add_page(RESULT.location, "Sports", "nobody")


def test_an_added_page_answers_its_question_from_then_on(world, added):
    run, trace = world.ask()
    assert trace.outcome == "web"
    job = world.application.gaps.add_page(world.page, "Basketball", run.id)
    assert [one.id for one in world.application.jobs.jobs()] == [job]
    added()
    (source,) = world.application.library.sources("Basketball")
    assert (source.location, source.title, source.found_by) == (world.page, "2024 NBA Finals", QUESTION)
    assert reports.source_json(source)["found_by"] == QUESTION
    _, again = world.ask(web="off")
    assert (again.outcome, again.citations[0].source_id) == ("quoted", source.id)


def test_found_by_survives_refreshing_moving_and_adding_again(world, added):
    run, _ = world.ask()
    world.application.gaps.add_page(world.page, "Documents", run.id)
    added()
    library = world.application.library
    (source,) = library.sources()
    world.web.page("/finals", b"<html><body><p>The Celtics won in five games, the fans say.</p></body></html>")
    assert library.pipeline.refresh([source.id])[0].status == "replaced"
    library.move([source.id], "Basketball")
    world.web.page("/finals", b"<html><body><p>The Celtics won in five games, all say.</p></body></html>")
    assert [result.status for result in library.pipeline.add(world.page, collection="Basketball")] == ["replaced"]
    assert [(one.id, one.found_by) for one in library.sources()] == [(source.id, QUESTION)]


def test_the_question_that_found_a_page_is_shown_only_to_who_asked_it(world, added):
    run, _ = world.ask(user="ada")
    world.application.gaps.add_page(world.page, "Documents", run.id)
    added()
    ada, bob = (world.application.for_user(user).library for user in ("ada", "bob"))
    assert [(one.found_by, one.found_on_web) for one in (*ada.sources(), *bob.sources())] == [
        (QUESTION, True),
        ("", True),
    ]
    assert [one.found_by for one in bob.remove([ada.sources()[0].id])] == [""]


def test_what_a_person_had_added_stays_theirs(world, added):
    list(world.application.library.pipeline.add(world.page))
    run, _ = world.ask("Which team did the Boston Celtics beat?")
    world.web.page("/finals", b"<html><body><p>The Celtics won in five games, the fans say.</p></body></html>")
    world.application.jobs.submit_url(world.page, found_by=run.question)
    added()
    assert [one.found_by for one in world.application.library.sources()] == [""]


@pytest.mark.parametrize("format_", ["langchain", "jsonl"])
def test_it_is_exported_and_imported_with_its_question(world, added, tmp_path, format_):
    run, _ = world.ask()
    world.application.gaps.add_page(world.page, "Documents", run.id)
    added()
    world.application.exchange.export(tmp_path / "out", format_)
    world.application.library.remove([world.application.library.sources()[0].id])
    list(world.application.exchange.import_passages(tmp_path / "out"))
    assert [one.found_by for one in world.application.library.sources()] == [QUESTION]


def test_only_what_the_search_returned_is_fetched(world):
    other = world.web.page("/other", b"<html><body>Elsewhere</body></html>")
    run, _ = world.ask()
    before = list(world.web.seen)
    for location in (other, "http://169.254.169.254/latest", "file:///etc/passwd", ""):
        with pytest.raises(BadRequest, match="did not return"):
            world.application.gaps.add_page(location, "Documents", run.id)
    with pytest.raises(NotFound):
        world.application.gaps.add_page(world.page, "Documents", "nobody")
    assert (world.application.jobs.jobs(), world.web.seen) == ([], before)


def test_a_page_that_cannot_be_fetched_is_refused_and_not_stored(world, added):
    run, _ = world.ask()
    del world.web.scripts["/finals"]
    world.application.gaps.add_page(world.page, "Documents", run.id)
    added()
    (job,) = world.application.jobs.jobs()
    assert (job.state, job.result.error.code) == ("failed", "http_error")
    assert world.application.library.sources() == []
