"""Calibrations of a home: measured in the background, kept, applied to runs and forgotten."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import insert

from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.errors import BadRequest, NotFound, Stopped
from crag.evaluation.calibration_probes import read_provided_questions
from crag.evaluation.calibrator import CalibrationJob, CalibrationPlan
from crag.evaluation.threshold_proposal import Calibration, ProvidedQuestion, ThresholdProposal
from crag.options import RunOptions
from crag.storage.tables import rulings
from crag.types import Progress, Thresholds
from tests.waiting import PATIENCE, wait_until

OPTIONS = RunOptions(model="builtin")
BRIDGE = "When was the bridge of Alder opened?"

RESULT = Calibration("", "table", Thresholds(0.3, 0.7), (), ThresholdProposal(None), 1.0)


def ruling(home: Application, number: int, text: str, given: str, collection: str = "Towns") -> None:
    with home.database.write() as connection:
        connection.execute(
            insert(rulings).values(
                run_id=f"run {number}", question=BRIDGE, passage_id=number, title="Alder", text=text,
                collection=collection, grader="another", score=None, ruling=given, given_at=0.0,
            )
        )  # fmt: skip


def test_a_collection_is_measured_by_questions_made_of_it(home):
    told: list[Progress] = []
    measured = home.calibration.run(OPTIONS, CalibrationPlan(count=20), told.append)
    assert {one.kind for one in measured.scored} == {"passage", "hidden", "swapped"}
    assert len(measured.scored) == 40
    assert measured.proposal.thresholds is not None
    assert told[-1].done == 39
    again = home.calibration.run(OPTIONS, CalibrationPlan(count=20))
    assert again.scored == measured.scored


def test_questions_of_a_person_take_the_place_of_made_ones(home):
    given = [ProvidedQuestion(BRIDGE, True), ProvidedQuestion("Who won the chess world cup?", False)]
    scored = home.calibration.run(OPTIONS, CalibrationPlan(given)).scored
    assert [(one.kind, one.answerable) for one in scored] == [("given", True), ("given", False)]
    assert scored[0].score > scored[1].score


def test_the_last_ruling_on_a_passage_counts_as_a_label(home):
    ruling(home, 1, "The bridge of Alder was opened in 1799.", "use")
    ruling(home, 2, "Alder has no bridge.", "use")
    ruling(home, 3, "Alder has no bridge.", "drop")
    ruling(home, 4, "Elsewhere.", "use", collection="Other")
    scored = home.calibration.run(
        replace(OPTIONS, collection="Towns"), CalibrationPlan([ProvidedQuestion(BRIDGE, True)])
    ).scored
    labels = [one.answerable for one in scored if one.kind == "ruling"]
    assert sorted(labels) == [False, True]


def test_nothing_to_measure_on_is_said(home):
    home.library.create_collection("Void")
    with pytest.raises(BadRequest, match="no documents"):
        home.calibration.run(replace(OPTIONS, collection="Void"))


def test_it_stops_when_asked(home):
    stop = Cancellation()
    with pytest.raises(Stopped):
        home.calibration.run(OPTIONS, CalibrationPlan(count=20), lambda _: stop.cancel(), stop)


def keep(home, collection, thresholds):
    grader = home.grading_setup(OPTIONS).grader
    measured = home.calibration.run(
        replace(OPTIONS, collection=collection), CalibrationPlan([ProvidedQuestion(BRIDGE, True)])
    )
    home.calibration.save(measured, thresholds)
    return grader


def test_runs_judge_by_what_was_kept_for_their_collection(home):
    own = home.grading_setup(OPTIONS).thresholds
    keep(home, "Towns", Thresholds(0.11, 0.22))
    within = home.grading_setup(replace(OPTIONS, collection="Towns"))
    assert (within.thresholds, within.calibrated) == (Thresholds(0.11, 0.22), True)
    assert home.grading_setup(OPTIONS).thresholds == own
    keep(home, "", Thresholds(0.33, 0.44))
    assert home.grading_setup(OPTIONS).thresholds == Thresholds(0.33, 0.44)
    chosen = replace(OPTIONS, collection="Towns", thresholds=Thresholds(0.5, 0.5))
    assert (home.grading_setup(chosen).thresholds, home.grading_setup(chosen).calibrated) == (
        Thresholds(0.5, 0.5),
        False,
    )


def test_home_thresholds_do_not_apply_to_collections(home):
    keep(home, "", Thresholds(0.33, 0.44))
    assert not home.grading_setup(replace(OPTIONS, collection="Towns")).calibrated


def test_thresholds_follow_renames_and_deletions_of_a_collection(home):
    grader = keep(home, "Towns", Thresholds(0.11, 0.22))
    ruling(home, 1, "The bridge of Alder was opened in 1799.", "use")
    home.rename_collection("Towns", "Places")
    assert home.calibration.saved.load("Towns", grader) is None
    assert home.calibration.saved.load("Places", grader) == Thresholds(0.11, 0.22)
    assert home.calibration.saved.labels("Places")
    home.delete_collection("Places")
    assert home.calibration.saved.all() == []
    assert not home.calibration.saved.labels("Places")


def test_thresholds_for_a_renamed_collection_are_refused(home):
    measured = home.calibration.run(
        replace(OPTIONS, collection="Towns"), CalibrationPlan([ProvidedQuestion(BRIDGE, True)])
    )
    home.rename_collection("Towns", "Places")
    with pytest.raises(NotFound, match="collection “Towns” no longer exists"):
        home.calibration.save(measured, Thresholds(0.1, 0.2))
    home.rename_collection("Places", "Towns")
    assert home.calibration.save(measured, Thresholds(0.1, 0.2)) == Thresholds(0.1, 0.2)


def test_forgetting_goes_back_to_the_graders_own(home):
    grader = keep(home, "", Thresholds(0.33, 0.44))
    assert [(one.thresholds, one.n) for one in home.calibration.saved.all()] == [(Thresholds(0.33, 0.44), 1)]
    assert home.calibration.saved.forget("", grader)
    assert not home.calibration.saved.forget("", grader)
    assert not home.grading_setup(OPTIONS).calibrated


@pytest.mark.parametrize("thresholds", [Thresholds(0.8, 0.2), Thresholds(-1.0, 0.2), Thresholds(0.1, 2.0), None])
def test_thresholds_that_cannot_be_are_refused(home, thresholds):
    measured = home.calibration.run(OPTIONS, CalibrationPlan([ProvidedQuestion(BRIDGE, True)]))
    with pytest.raises(BadRequest):
        home.calibration.save(measured, thresholds)
    assert home.calibration.saved.all() == []


def test_past_questions_are_decided_anew(home):
    for collection in ("", "Towns"):
        list(home.runs.start(None, BRIDGE, replace(OPTIONS, collection=collection)).follow())
    grader = home.grading_setup(OPTIONS).grader
    past = home.calibration.replay_past_runs("Towns", grader, Thresholds(1.0, 1.0))
    assert [(one.question, one.now, one.changes) for one in past] == [
        (BRIDGE, "incorrect", past[0].then != "incorrect")
    ]
    best = past[0].best or 0.0
    assert home.calibration.replay_past_runs("Towns", grader, Thresholds(0.0, best))[0].now == "correct"
    assert home.calibration.replay_past_runs("Towns", "another grader", Thresholds(0.0, best)) == []
    assert home.calibration.for_user("somebody else").replay_past_runs("Towns", grader, Thresholds(1.0, 1.0)) == []


@pytest.mark.parametrize(
    "line", ["no", "[]", "{}", '{"question": "", "answerable": true}', '{"question": "Q?", "answerable": "yes"}']
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, line):
    file = tmp_path / "questions.jsonl"
    file.write_text(f'{{"question": "Q?", "answerable": true, "answers": ["A"]}}\n\n{line}\n', encoding="utf-8")
    with pytest.raises(BadRequest, match="Line 3"):
        read_provided_questions(file)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(BadRequest, match="cannot be read"):
        read_provided_questions(tmp_path / "none.jsonl")


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
        gate.wait(PATIENCE)
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
