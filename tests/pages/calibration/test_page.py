"""Calibration: measure in the background, move the thresholds, apply and reset them."""

from __future__ import annotations

import pytest

from crag.evaluation.threshold_proposal import Calibration, ThresholdProposal
from crag.options import RunOptions
from crag.types import Thresholds
from tests.evaluation.towns import add_facts
from tests.pages.conftest import click, labels, said, until

PAGE = "pages/calibration/page.py"


@pytest.fixture
def calibrating(chat, services):
    """The page over a library of forty little documents."""
    add_facts(services.library)
    return chat.switch_page(PAGE).run()


def measure(app):
    click(app, "Measure")
    until(app, lambda: "Measure" in labels(app), seconds=60)
    assert not app.exception


def test_it_is_reached_from_the_documents(chat, notes):
    chat.switch_page("pages/documents/page.py").run()
    click(chat, "Calibrate")
    assert [title.value for title in chat.title] == ["Calibrate"]
    assert "Measure" in labels(chat)


def test_an_empty_library_has_nothing_to_measure(chat):
    chat.switch_page(PAGE).run()
    assert said(chat, "No documents yet")
    assert "Measure" not in labels(chat)


def test_too_little_is_said_and_nothing_is_proposed(chat, notes):
    chat.switch_page(PAGE).run()
    measure(chat)
    assert said(chat, "at least 20 of each")


def test_measured_thresholds_are_moved_used_and_reset_and_past_questions_show_what_changes(calibrating, services):
    run = services.runs.start(None, "When was the bridge of Alder opened?", RunOptions())
    list(run.follow())
    calibrating.number_input(key="probes").set_value(20)
    measure(calibrating)
    assert said(calibrating, "answered")
    assert list(calibrating.dataframe[0].value["Question"]) == ["When was the bridge of Alder opened?"]
    slider = calibrating.select_slider[0]
    before = [item.value for item in calibrating.markdown if "| Answerable" in item.value]
    slider.set_value((0.0, 0.999)).run()
    after = [item.value for item in calibrating.markdown if "| Answerable" in item.value]
    assert not calibrating.exception
    assert before != after
    changed = calibrating.dataframe[0].value
    assert changed["Now"][0] != "from your documents" or changed["Score"][0] >= 0.999
    click(calibrating, "Use these thresholds")
    judging = services.grading_setup(RunOptions())
    assert (judging.thresholds, judging.calibrated) == (Thresholds(0.0, 0.999), True)
    assert said(calibrating, "In use")
    click(calibrating, "Back to default")
    assert not services.grading_setup(RunOptions()).calibrated


def test_thresholds_of_an_old_grader_are_not_shown_as_in_use(chat, notes, services):
    earlier = Calibration("", "builtin:wordllama@00000000", Thresholds(0.3, 0.7), (), ThresholdProposal(None), 0.0)
    services.calibration.save(earlier, Thresholds(0.2, 0.8))
    chat.switch_page(PAGE).run()
    assert [header.value for header in chat.header] == ["No longer in use"]
    assert not services.grading_setup(RunOptions()).calibrated
    click(chat, "Remove")
    assert not services.calibration.saved.all()
