"""From scores to thresholds: the rule, its precision, and what it refuses."""

from __future__ import annotations

import random

import pytest

from crag.evaluation.threshold_proposal import (
    THRESHOLD_GRID,
    ProbeScore,
    describe_calibration_error,
    estimate_calibration_error,
    measure_thresholds,
    propose_thresholds,
    score_histograms,
    score_separation,
)
from crag.types import Thresholds

OWN = Thresholds(0.3, 0.7)


def scored(answered, unanswered):
    return [
        *(ProbeScore(f"a{n}", "given", True, score) for n, score in enumerate(answered)),
        *(ProbeScore(f"u{n}", "given", False, score) for n, score in enumerate(unanswered)),
    ]


def drawn(seed, low, high, count):
    chance = random.Random(seed)
    return [chance.uniform(low, high) for _ in range(count)]


def test_what_is_clearly_apart_is_parted():
    thresholds = propose_thresholds(scored(drawn(1, 0.8, 1, 50), drawn(2, 0, 0.2, 50)), OWN).thresholds
    assert thresholds is not None
    assert 0.2 <= thresholds.lower <= thresholds.upper <= 0.8


def test_thresholds_stay_near_the_defaults_when_none_are_better():
    both = scored(drawn(1, 0.8, 1, 50), drawn(2, 0, 0.2, 50))
    assert propose_thresholds(both, OWN).thresholds == Thresholds(0.5, 0.5)
    assert propose_thresholds(both, Thresholds(0.2, 0.4)).thresholds == Thresholds(0.3, 0.3)


def test_the_rule_holds_where_the_kinds_overlap():
    both = scored(drawn(1, 0.3, 1, 200), drawn(2, 0, 0.8, 200))
    thresholds = propose_thresholds(both, OWN).thresholds
    assert thresholds is not None
    figures = measure_thresholds(both, thresholds)
    assert figures.correct.value is not None
    assert figures.correct.value >= 0.8
    assert figures.answerable.shares["incorrect"] <= 0.1
    higher = next(step for step in THRESHOLD_GRID if step > thresholds.lower)
    assert measure_thresholds(both, Thresholds(higher, 1.0)).answerable.shares["incorrect"] > 0.1


def test_the_shares_of_a_calibration_hold_for_other_questions_or_it_says_so():
    many = scored(drawn(1, 0.3, 1, 400), drawn(2, 0, 0.8, 400))
    assert estimate_calibration_error(many, OWN) < 0.05
    assert describe_calibration_error(many, OWN).endswith("points on average (cross-validated).")
    few = scored(drawn(3, 0.3, 1, 30), drawn(4, 0, 0.8, 30))
    assert estimate_calibration_error(few, OWN) > 0.05
    assert "Do not rely" in describe_calibration_error(few, OWN)
    assert describe_calibration_error(scored([0.9] * 20, [0.1] * 20), OWN) == ""


def test_precision_ignores_the_ratio_of_question_kinds():
    few = scored(drawn(1, 0.3, 1, 100), [0.1, 0.5, 0.75] * 10)
    many = scored(drawn(1, 0.3, 1, 100), [0.1, 0.5, 0.75] * 100)
    thresholds = Thresholds(0.4, 0.7)
    assert measure_thresholds(few, thresholds).correct.value == pytest.approx(
        measure_thresholds(many, thresholds).correct.value
    )
    assert measure_thresholds(few, thresholds).correct.n < measure_thresholds(many, thresholds).correct.n


def test_the_interval_holds_the_value_and_narrows_with_n():
    few = measure_thresholds(scored(drawn(1, 0.3, 1, 25), drawn(2, 0, 0.8, 25)), OWN).correct
    many = measure_thresholds(scored(drawn(1, 0.3, 1, 900), drawn(2, 0, 0.8, 900)), OWN).correct
    for share in (few, many):
        assert share.value is not None
        assert share.low <= share.value <= share.high
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize(
    ("answered", "unanswered", "words"),
    [
        ([0.9] * 5, [0.1] * 5, "at least 20"),
        ([0.9] * 50, [], "0 without one"),
        ([0.5] * 30, [0.5] * 30, "the same score"),
        ([0.2] * 30, [0.8] * 30, "cannot separate them"),
    ],
)
def test_what_tells_nothing_is_refused_in_words(answered, unanswered, words):
    proposal = propose_thresholds(scored(answered, unanswered), OWN)
    assert proposal.thresholds is None
    assert words in " ".join(proposal.remarks)


def test_a_precision_that_cannot_be_had_is_said():
    proposal = propose_thresholds(scored(drawn(1, 0.2, 1, 200), drawn(2, 0.1, 0.95, 200)), OWN)
    assert proposal.thresholds is not None
    assert "a precision of 80%" in proposal.remarks[0]


def test_grades_of_three_steps_are_parted_between_the_steps():
    both = scored([1.0] * 40 + [0.5] * 10, [0.0] * 40 + [0.5] * 10)
    thresholds = propose_thresholds(both, Thresholds(0.25, 0.75)).thresholds
    assert thresholds is not None
    assert thresholds.verdict_for(1.0) == "relevant"
    assert thresholds.verdict_for(0.0) == "irrelevant"


def test_scores_crowded_at_the_end_can_still_be_parted():
    both = scored([0.9996] * 50, [0.9970] * 50)
    thresholds = propose_thresholds(both, OWN).thresholds
    assert thresholds is not None
    assert thresholds.verdict_for(0.9996) == "relevant"
    assert thresholds.verdict_for(0.9970) == "irrelevant"


def test_nothing_has_figures_without_shares():
    figures = measure_thresholds([], OWN)
    assert (figures.answerable.n, figures.correct.value) == (0, None)
    assert score_separation([]) is None
    assert score_separation(scored([0.9], [0.1])) == 1.0


def test_a_histogram_counts_every_score_of_either_kind_once():
    answered, unanswered = score_histograms(scored([0.0, 0.05, 0.5, 1.0], [0.49, 0.999]), 10)
    assert answered == [2, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert unanswered == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert score_histograms([], 2) == ([0, 0], [0, 0])
