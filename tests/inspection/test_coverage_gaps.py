"""Which answers show a gap, and which no longer do; the run service is the real one, over players that are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.errors import BadRequest, NotFound
from crag.inspection.coverage_gaps import CoverageGaps, GapPage
from crag.models.embedders import DeferredEmbedder
from crag.options import RunOptions
from crag.settings import Settings
from tests.runs.conftest import RESULT, House, wait

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
        self.gaps = CoverageGaps(self.database, self.runs, embedder, Even(), self.submit)

    def submit(self, url, collection, *, found_by):
        self.submitted.append((url, collection, found_by))
        return "job"

    def ask(self, question, scores=POOR, web="auto", person=""):
        self.grader.scores = scores
        conversation = self.conversations.create(person=person)
        run = self.runs.start(conversation.id, question, RunOptions(web=web))
        wait(run)
        return run

    def listed(self, person=None):
        return {one.question for gap in self.gaps.list(person) for one in gap.questions}


@pytest.fixture
def home(tmp_path):
    made = Asked(tmp_path)
    yield made
    made.close()


def test_what_the_web_answered_or_nobody_did_is_grouped_the_biggest_first(home):
    home.ask(FINALS, web="off")
    home.ask(TURBINE)
    asked = home.ask(PLAYER)
    home.ask("Which fact does the paper hold?", GOOD)
    again = home.ask(f"{FINALS.lower()} ")
    first, second = home.gaps.list()
    assert [one.question for one in first.questions] == [again.question, PLAYER]
    assert [one.question for one in second.questions] == [TURBINE]
    assert first.topic == "2024 NBA finals"
    assert (len(first.questions[0].earlier), len(first.run_ids), first.questions[1].run_id) == (1, 3, asked.id)
    assert [one.outcome for gap in (first, second) for one in gap.questions] == ["web"] * 3
    assert first.questions[0].pages == (GapPage(RESULT.title, RESULT.location),)


def test_what_was_covered_later_is_no_gap_any_more(home):
    home.ask(FINALS)
    home.ask(TURBINE, GOOD)
    home.ask(TURBINE)  # it is covered no longer, since documents may go
    assert home.listed() == {FINALS, TURBINE}
    home.ask("who won the 2024 NBA finals", GOOD)
    assert home.listed() == {TURBINE}


def test_another_version_or_another_wording_that_is_answered_covers_it(home):
    run, other = home.ask(FINALS), home.ask(TURBINE)
    home.grader.scores = GOOD
    wait(home.runs.regenerate(run.id, RunOptions()))
    assert home.listed() == {TURBINE}
    message = home.conversations.messages(home.conversations.of_run(other.id).id)[0]
    wait(home.runs.edit(message.id, "What cools the turbine?", RunOptions()))
    assert home.listed() == set()


def test_stopped_and_praised_answers_are_no_gaps_and_doubtful_ones_are(home):
    doubtful = home.ask(FINALS, {1: 0.45}, web="off")
    assert home.listed() == {FINALS}
    home.conversations.give_feedback(doubtful.id, helpful=True)
    praised = home.ask(TURBINE)
    home.conversations.give_feedback(praised.id, helpful=True)
    assert home.listed() == {TURBINE}, "what the web answered well the documents still do not cover"
    home.web.failure = RuntimeError("a failed run")
    home.ask("Who paints the ship?")
    assert home.listed() == {TURBINE}


def test_nothing_is_missing_can_be_said_and_taken_back_until_it_is_asked_anew(home):
    home.ask(FINALS)
    (gap,) = home.gaps.list()
    home.gaps.close(gap.run_ids)
    assert home.gaps.list() == []
    home.gaps.reopen(gap.run_ids)
    assert home.gaps.list() == [gap]
    home.gaps.close(gap.run_ids)
    home.ask(FINALS)
    assert home.listed() == {FINALS}


def test_each_person_sees_their_own_and_what_was_deleted_nobody(home):
    home.ask(FINALS, person="ada")
    run = home.ask(TURBINE, person="bob")
    wait(home.runs.start(None, "Who paints the ship?", RunOptions(web="auto")))
    assert (home.listed("ada"), home.listed("bob")) == ({FINALS}, {TURBINE})
    assert home.listed() == {FINALS, TURBINE, "Who paints the ship?"}
    home.ask(FINALS, GOOD, person="bob")
    assert home.listed("ada") == {FINALS}, "what others found does not tell what she asked"
    found_by = {FINALS, TURBINE, ""}
    assert (
        home.gaps.filter_visible_questions(found_by, "ada"),
        home.gaps.filter_visible_questions(found_by, None),
    ) == ({FINALS}, found_by)
    home.conversations.delete(home.conversations.of_run(run.id).id)
    assert home.listed("bob") == set()


def test_a_follow_up_is_grouped_by_what_it_means(home):
    run = home.ask(FINALS)
    home.grader.scores = POOR
    wait(home.runs.start(home.conversations.of_run(run.id).id, "And in which city?", RunOptions(web="auto")))
    (gap,) = home.gaps.list()
    assert [one.question for one in gap.questions] == ["And in which city?", FINALS]


@pytest.mark.parametrize("location", ["javascript:alert(1)", "file:///etc/passwd", "//example.org/a", ""])
def test_what_is_no_web_page_is_neither_shown_nor_added(home, location):
    home.web.results = [replace(RESULT, location=location)]
    run = home.ask(FINALS)
    assert home.gaps.list()[0].questions[0].pages == ()
    with pytest.raises(BadRequest):
        home.gaps.add_page(location, "Documents", run.id)
    assert home.submitted == []


def test_a_page_is_submitted_with_the_question_that_found_it(home):
    run = home.ask(FINALS)
    assert home.gaps.add_page(RESULT.location, "Sports", run.id) == "job"
    assert home.submitted == [(RESULT.location, "Sports", FINALS)]
    with pytest.raises(NotFound):
        home.gaps.add_page(RESULT.location, "Sports", "nobody")
