"""Scorers against people's labels: kappa by hand, intervals over questions, and when cutoffs move."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from crag.evaluation.agreement import MIN_LABELS_OF_EACH, fit_cutoffs, measure_agreement
from crag.evaluation.types import Cutoffs, EvaluationResult, Example, Judgement, ScoredAnswer

LLAMA, QWEN = "ollama:llama3.1:8b@aaa", "ollama:qwen3:8b@eee"


def result(
    number: int,
    label: bool | None,
    text: float = 0.0,
    judge: float | None = None,
    model: str = LLAMA,
    repetition: int = 1,
) -> EvaluationResult:
    example = Example(f"question {number}", "Who?", ("Ada",))
    judged = None if judge is None else Judgement(model, judge, "")
    scored = ScoredAnswer(answer="Ada.", text_score=text)
    return EvaluationResult(0, number, repetition, example, "", "done", scored=scored, judged=judged, label=label)


def results(pairs: list[tuple[bool, float]], repetitions: int = 1) -> list[EvaluationResult]:
    return [
        result(number, label, text, repetition=repetition)
        for number, (label, text) in enumerate(pairs)
        for repetition in range(1, repetitions + 1)
    ]


def test_agreement_is_as_counted_by_hand():
    labelled = results([(True, 0.9)] * 20 + [(True, 0.1)] * 5 + [(False, 0.8)] * 10 + [(False, 0.2)] * 15)
    (found,) = measure_agreement([*labelled, result(99, None, 1.0)], Cutoffs())
    assert (found.scorer, found.title, found.n, found.agree) == ("text", "Comparing texts", 50, 0.7)
    assert found.kappa == pytest.approx(0.4)  # (0.7 - 0.5) / (1 - 0.5), the example of many textbooks
    assert found.low < found.kappa < found.high
    assert 0.1 < found.low < 0.25
    assert 0.55 < found.high < 0.7


def test_judges_are_compared_one_by_one_without_unread_answers():
    labelled = [result(n, n % 2 == 0, 1.0, float(n % 2 == 0)) for n in range(10)]
    labelled += [result(n, n % 2 == 0, 1.0, float(n % 2), QWEN) for n in range(10, 16)]
    unread = replace(result(20, True), judged=Judgement(QWEN, None, "The judge's reply could not be read."))
    found = measure_agreement([*labelled, unread], Cutoffs())
    assert [(one.title, one.n, one.kappa) for one in found] == [
        ("Judge ollama:llama3.1:8b", 10, 1.0),
        ("Judge ollama:qwen3:8b", 6, -1.0),
        ("Comparing texts", 17, pytest.approx(0.0, abs=0.2)),
    ]
    assert found[0].low < 1.0  # ten of ten are no certainty


def test_agreement_needs_labels_and_kappa_two_kinds():
    assert measure_agreement([result(1, None, 1.0, 1.0)], Cutoffs()) == []
    (found,) = measure_agreement([result(n, True, float(n > 0)) for n in range(4)], Cutoffs())
    assert (found.kappa, found.low, found.high, found.agree, found.n) == (None, None, None, 0.75, 4)


def test_a_refusal_is_wrong_whatever_its_score():
    refused = [replace(one, scored=replace(one.scored, outcome="not_answered")) for one in results([(False, 0.9)] * 4)]
    (found,) = measure_agreement([*refused, *results([(True, 0.9)] * 4)], Cutoffs())
    assert found.kappa == 1.0


def test_repetitions_of_a_question_make_an_interval_no_narrower():
    pairs = [(n % 2 == 0, float(n % 2 == 0) if n % 5 else 0.5) for n in range(30)]
    (once,), (thrice,) = (
        measure_agreement(results(pairs), Cutoffs()),
        measure_agreement(results(pairs, repetitions=3), Cutoffs()),
    )
    assert (thrice.n, once.n) == (90, 30)
    assert thrice.kappa == pytest.approx(once.kappa)
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low)


def test_cutoffs_move_to_where_people_say_right_begins():
    low = results([(True, 0.3 + n / 200) for n in range(15)] + [(False, n / 100) for n in range(15)])
    assert measure_agreement(low, Cutoffs())[0].kappa == pytest.approx(0.0)
    cutoffs = fit_cutoffs(low)
    assert cutoffs == Cutoffs(judge=0.5, text=0.3)  # the nearest to the usual one of those that tell all apart
    assert measure_agreement(low, cutoffs)[0].kappa == 1.0


def test_a_judge_that_is_too_kind_gets_a_higher_cutoff():
    kind = [result(n, n < 12, 0.0, 1.0 if n < 12 else 0.7) for n in range(24)]
    assert fit_cutoffs(kind) == Cutoffs(judge=0.75, text=0.5)


@pytest.mark.parametrize("wrong", [0, MIN_LABELS_OF_EACH - 1])
def test_few_labels_of_one_kind_move_nothing(wrong):
    kind = [result(n, label=False, judge=0.7) for n in range(wrong)] + [
        result(99 + n, True, judge=1.0) for n in range(50)
    ]
    assert fit_cutoffs(kind) == Cutoffs()
    again = [replace(one, repetition=2) for one in kind]
    assert fit_cutoffs([*kind, *again]) == Cutoffs()  # nor do the same questions once more


def test_what_the_usual_cutoff_tells_apart_it_keeps():
    assert fit_cutoffs(results([(True, 0.8)] * 20 + [(False, 0.1)] * 20)) == Cutoffs()


def test_scores_that_say_nothing_seldom_move_a_cutoff():
    """Fitted and tried on the same labels, a better one would be found nearly each time."""
    moved = 0
    for seed in range(40):
        chance = random.Random(seed)
        noise = results([(n % 2 == 0, chance.random()) for n in range(40)])
        moved += fit_cutoffs(noise) != Cutoffs()
    assert moved < 20
