"""The data behind the charts, on results that can be counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.evaluation import chart_data
from crag.evaluation.chart_data import compute_risk_curve
from crag.evaluation.grid import find_differing_options
from crag.evaluation.statistics import histogram
from crag.evaluation.types import (
    Cutoffs,
    Evaluation,
    EvaluationResult,
    Example,
    Figure,
    GradedPassage,
    ScoredAnswer,
    Variant,
)
from crag.options import RunOptions
from tests.evaluation.sample import evaluation

KNOWN = Example("known", "When?", ("1931",), answerable=True)
UNKNOWN = Example("unknown", "Who owns the moon?", answerable=False)
OPEN = Example("open", "And what of it?")


def result(example: Example, number: int = 0, repetition: int = 1, **scored: object) -> EvaluationResult:
    return EvaluationResult(0, number, repetition, example, f"run-{number}", "done", scored=ScoredAnswer(**scored))  # type: ignore[arg-type]


def figure(metric: str, value: float) -> Figure:
    return Figure(metric, value, 60, value, value)


def test_scores_of_passages_leave_out_what_could_not_be_judged():
    grades = (GradedPassage(0.8, True, True), GradedPassage(0.1, False, False), GradedPassage(None, False, True))
    both = [result(KNOWN, grades=grades), result(KNOWN, repetition=2, grades=grades)]
    assert chart_data.passage_scores(both) == ([0.8], [0.1])


def test_a_histogram_holds_every_score_also_the_highest():
    assert histogram([0.0, 0.24, 0.25, 0.99, 1.0], 4) == [2, 1, 0, 2]


def test_a_higher_threshold_answers_fewer_questions_of_which_fewer_are_wrong():
    given = {"outcome": "documents"}
    curve = compute_risk_curve(
        [
            result(KNOWN, 0, best=0.9, text_score=1.0, **given),
            result(KNOWN, 1, best=0.7, text_score=1.0, **given),
            result(KNOWN, 2, best=0.5, text_score=0.0, **given),
            result(UNKNOWN, 3, best=0.4, **given),
            result(KNOWN, 4, best=0.8, outcome="not_answered"),
            result(UNKNOWN, 5, best=0.1, outcome="not_answered"),
            result(OPEN, 6, best=0.6, **given),
            result(KNOWN, 7, best=None, text_score=0.0, **given),
        ],
        Cutoffs(),
        lower=0.2,
    )
    assert curve.questions == 7
    assert [(point.threshold, point.answered, point.wrong) for point in curve.points] == [
        (0.2, 5, 3),
        (0.41, 4, 2),
        (0.51, 3, 1),
        (0.71, 2, 1),
        (0.91, 1, 1),
    ]
    assert [round(7 * point.truthfulness) for point in curve.points] == [0, 2, 3, 2, 1]


def test_a_variant_is_unbeaten_unless_another_dominates_it():
    figures = {
        0: {"answer_right": figure("answer_right", 0.8), "seconds": figure("seconds", 2.0)},
        1: {"answer_right": figure("answer_right", 0.8), "seconds": figure("seconds", 1.0)},
        2: {"answer_right": figure("answer_right", 0.9), "seconds": figure("seconds", 5.0)},
        3: {"answer_right": figure("answer_right", 0.9), "seconds": figure("seconds", 5.0)},
        4: {"seconds": figure("seconds", 0.1)},
    }
    points = chart_data.trade_off_points(figures, "answer_right")
    assert {point.variant for point in points if point.is_pareto_optimal} == {1, 2, 3}
    assert {point.variant for point in points} == {0, 1, 2, 3}


def test_variants_are_told_apart_by_what_is_known_of_all_of_them():
    right, refusals = figure("truthfulness", 0.8), figure("refusal_right", 0.9)
    assert chart_data.choose_accuracy_metric([{"truthfulness": right, "refusal_right": refusals}]) == "truthfulness"
    assert chart_data.choose_accuracy_metric(
        [{"truthfulness": right, "refusal_right": refusals}, {"refusal_right": refusals}]
    ) == ("refusal_right")
    assert chart_data.choose_accuracy_metric([{"seconds": figure("seconds", 1.0)}]) == ""
    assert chart_data.choose_accuracy_metric([]) == ""


def test_routes_are_compared_with_the_expected_actions():
    expected = replace(KNOWN, action="correct")
    counts = chart_data.count_routes(
        [result(expected, action="correct"), result(expected, action="incorrect"), result(OPEN)]
    )
    assert [(one.actual, one.count, one.agrees) for one in counts] == [
        ("correct", 1, True),
        ("ambiguous", 0, False),
        ("incorrect", 1, False),
    ]


def test_routes_are_else_compared_with_answerability():
    counts = chart_data.count_routes([result(KNOWN, action="ambiguous"), result(UNKNOWN)])
    told = {(one.expected, one.actual): (one.count, one.agrees) for one in counts}
    assert told["answerable", "ambiguous"] == (1, True)
    assert told["not answerable", ""] == (1, False)
    assert chart_data.count_routes([result(OPEN, action="correct")]) == []


@pytest.mark.parametrize("variants", [1, 3])
def test_only_settings_in_which_variants_differ_are_told(variants):
    ran: Evaluation = evaluation(variants)
    assert find_differing_options(ran.variants) == ({} if variants == 1 else {"k": [1, 2, 3]})


def test_a_saved_preset_is_but_a_name_for_settings_and_a_reference_system_is_more():
    base = RunOptions()
    saved, other = Variant("mine", replace(base, preset="mine")), Variant("other", replace(base, passage_size=500))
    assert find_differing_options([saved, other]) == {"passage_size": [0, 500]}
    paper = Variant("paper", replace(base, preset="paper"))
    assert find_differing_options([paper, other]) == {"preset": ["paper", ""]}
