"""One measurement at a time in the background."""

from __future__ import annotations

import threading

import pytest

from crag.errors import BadRequest
from crag.evaluation.calibrator import CalibrationJob
from crag.evaluation.threshold_proposal import Calibration, ThresholdProposal
from crag.types import Progress, Thresholds
from tests.waiting import wait_until

RESULT = Calibration("", "table", Thresholds(0.3, 0.7), (), ThresholdProposal(None), 1.0)


@pytest.fixture
def measuring():
    opened = CalibrationJob()
    yield opened
    opened.close()


def ended(measuring):
    return wait_until(lambda: measuring.progress is None)


def test_one_at_a_time_with_its_progress_and_its_result(measuring):
    gate = threading.Event()

    def measure(report, stop):
        report(Progress("Asking", 1, 2))
        gate.wait(10)
        return RESULT

    assert measuring.begin(measure)
    wait_until(lambda: measuring.progress == Progress("Asking", 1, 2))
    assert not measuring.begin(measure)
    gate.set()
    ended(measuring)
    assert (measuring.result, measuring.fault) == (RESULT, "")


def test_stopping_ends_it_without_a_result(measuring):
    def measure(report, stop):
        while True:
            stop.check()

    measuring.begin(measure)
    measuring.cancel()
    ended(measuring)
    assert measuring.result is None
    assert "Stopped by you" in measuring.fault


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BadRequest("No documents.", "Add some."), "No documents. Add some."),
        (KeyError("secret"), "Something went wrong"),
    ],
)
def test_what_failed_is_said_in_words(measuring, error, words):
    def measure(report, stop):
        raise error

    measuring.begin(measure)
    ended(measuring)
    assert words in measuring.fault
    assert "secret" not in measuring.fault
