"""Intervals, areas and agreement, against figures by hand, from theory and from scikit-learn."""

import random

import pytest

from crag.evaluation.metrics import format_change, format_change_interval, is_answer_right
from crag.evaluation.statistics import (
    auc,
    auc_statistic,
    bootstrap_interval,
    cohen_kappa,
    expected_calibration_error,
    ratio_statistic,
)
from crag.evaluation.types import Cutoffs, Example, MetricDifference, ScoredAnswer
from crag.translation import use_language
from tests.evaluation.answers import result

SHARE = (0.0, 1.0)


def share(right_ones: int, n: int):
    return bootstrap_interval(ratio_statistic([1.0] * right_ones + [0.0] * (n - right_ones), [1.0] * n), n, SHARE)


@pytest.mark.parametrize(
    ("right_ones", "n", "low", "high"),
    [
        (1, 1, 0.147, 1.0),
        (5, 5, 0.621, 1.0),
        (0, 20, 0.0, 0.117),
        (4, 5, 0.371, 0.977),
        (18, 20, 0.716, 0.979),
        (98, 100, 0.937, 0.996),
        (850, 1000, 0.827, 0.871),
    ],
)
def test_the_interval_of_a_proportion_is_jeffreys(right_ones, n, low, high):
    """The quantiles 0.025 and 0.975 of the beta distribution with k + 1/2 and n - k + 1/2, drawn out to the share."""
    found = share(right_ones, n)
    assert found == pytest.approx((right_ones / n, low, high), abs=0.015)


def test_five_right_answers_of_five_are_not_certain():
    assert share(5, 5).low < 0.7
    assert share(1, 1).low < 0.2


def test_without_bounds_one_example_has_no_interval():
    assert bootstrap_interval(ratio_statistic([3.0], [1.0]), 1) == pytest.approx((3.0, 3.0, 3.0))


def test_without_bounds_it_is_that_of_the_mean():
    chance = random.Random(1)
    values = [chance.gauss(10, 2) for _ in range(200)]
    found = bootstrap_interval(ratio_statistic(values, [1.0] * 200), 200)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2 / 200**0.5, rel=0.15)


def test_the_same_examples_have_the_same_interval():
    assert share(7, 9) == share(7, 9)


def test_many_examples_are_resampled_in_batches():
    found = share(8_000, 10_000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * (0.8 * 0.2 / 10_000) ** 0.5, rel=0.1)


def test_a_pooled_share_weighs_by_its_wholes():
    assert bootstrap_interval(ratio_statistic([1, 3, 0], [1, 9, 0]), 3, SHARE).value == pytest.approx(0.4)


def test_an_interval_holds_the_truth_as_often_as_it_says():
    """95 of 100 with examples that answer in thirds, as of three repetitions; 90 leaves room for chance."""
    chance = random.Random(2)
    held = 0
    for _ in range(200):
        values = [sum(chance.random() < 0.8 for _ in range(3)) / 3 for _ in range(15)]
        found = bootstrap_interval(ratio_statistic(values, [1.0] * 15), 15, SHARE)
        held += found.low <= 0.8 <= found.high
    assert held / 200 > 0.9


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([0.9, 0.8, 0.1], [True, True, False], 1.0),
        ([0.1, 0.9], [True, False], 0.0),
        ([0.5, 0.5], [True, False], 0.5),
        ([0.9, 0.5, 0.5, 0.1], [True, False, True, False], 0.875),  # of 4 pairs 3 won and 1 tied
        ([0.9, 0.8], [True, True], None),
        ([0.9], [False], None),
        ([], [], None),
    ],
)
def test_area_under_the_curve_by_hand(scores, labels, expected):
    assert auc(scores, labels) == expected


def test_the_area_with_weights_is_that_of_repeated_examples():
    import numpy as np
    from sklearn.metrics import roc_auc_score

    scores, labels, owners = [0.2, 0.7, 0.4, 0.4, 0.9], [False, True, True, False, False], [0, 0, 1, 1, 2]
    weights = [3, 1, 2]
    repeated = [place for place in range(5) for _ in range(weights[owners[place]])]
    expected = roc_auc_score([labels[place] for place in repeated], [scores[place] for place in repeated])
    assert auc_statistic(scores, labels, owners)(np.array([weights], dtype=float))[0] == pytest.approx(expected)


def test_agreement_by_hand():
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(one, other) == pytest.approx(0.4)  # (0.7 - 0.5) / (1 - 0.5)
    assert cohen_kappa([True, False], [False, True]) == -1.0
    assert cohen_kappa([True, True, False], [True, True, False]) == 1.0
    assert cohen_kappa([True, True], [True, False]) == 0.0


@pytest.mark.parametrize(("one", "other"), [([], []), ([True], [True]), ([False] * 4, [False] * 4)])
def test_agreement_is_undefined_where_both_say_the_same_of_all(one, other):
    assert cohen_kappa(one, other) is None


def test_agreement_needs_equally_many():
    with pytest.raises(ValueError, match="zip"):
        cohen_kappa([True], [True, False])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (result("1", 0.6), True),
        (result("1", 0.5), True),
        (result("1", 0.4), False),
        (result("1", 0.9, judged=0.2), False),
        (result("1", 0.1, judged=0.7), True),
        (result("1", 0.9, state="failed"), False),
        (result("1", scored=ScoredAnswer(outcome="not_answered", text_score=1.0), judged=1.0), False),
        (result("1", 0.9, example=Example("1", "Why?")), None),
        (result("1", 0.9, example=Example("1", "Why?", references=("a",), answerable=False)), None),
        (result("1", 0.9, state="failed", example=Example("1", "Why?")), None),
    ],
)
def test_which_answers_are_right(given, expected):
    assert is_answer_right(given, Cutoffs()) is expected


def test_a_judgement_that_could_not_be_read_says_nothing():
    from dataclasses import replace

    unread = result("1", 0.6, judged=0.0)
    unread = replace(unread, judged=replace(unread.judged, score=None))
    assert is_answer_right(unread, Cutoffs()) is True
    assert is_answer_right(unread, Cutoffs(text=0.7)) is False


def test_the_calibration_error_is_the_mean_gap_between_prediction_and_outcome():
    assert expected_calibration_error([0.75] * 4 + [0.1] * 10, [True] * 3 + [False] * 10 + [True]) == pytest.approx(0.0)
    assert expected_calibration_error([0.9, 0.9, 0.2, 0.2], [True, False, False, False]) == pytest.approx(0.3)
    assert expected_calibration_error([1.0], [True]) == 0.0


def test_a_change_and_its_interval_are_in_the_language_of_the_user():
    change = MetricDifference("truthfulness", 0.5, 0.531, 40, -0.01, 0.072)
    assert (format_change(change), format_change_interval(change)) == ("+3.1 points", "−1.0 to +7.2 points")
    with use_language("ko"):
        assert (format_change(change), format_change_interval(change)) == ("+3.1%p", "−1.0 ~ +7.2%p")
        assert format_change_interval(change, with_unit=False) == "−1.0 ~ +7.2"
