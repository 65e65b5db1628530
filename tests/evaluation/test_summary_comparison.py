"""Two variants over the same questions: what differs, what broke, what was mended."""

from dataclasses import replace

import pytest

from crag.evaluation.summary import compare_results
from crag.evaluation.types import Cutoffs, Example, GradedPassage, ScoredAnswer
from tests.evaluation.answers import answered, refused, result, scored_result


def results(*texts: float, prefix: str = "") -> list:
    return [result(f"{prefix}{place}", text) for place, text in enumerate(texts)]


def difference(before, after, metric="answer_right"):
    return next((one for one in compare_results(before, after).differences if one.metric == metric), None)


def test_the_difference_is_paired():
    """Hard and easy questions are so in both: one mended of each ten is seen, though both intervals overlap."""
    before = results(*[1.0] * 50, *[0.0] * 50)
    after = results(*[1.0] * 60, *[0.0] * 40)
    found = difference(before, after)
    assert (found.before, found.after, found.n) == (0.5, 0.6, 100)
    assert 0.03 < found.low < 0.1 < found.high < 0.18
    assert found.is_clear


def test_the_same_answers_do_not_differ_but_few_of_them_do_not_prove_it():
    few, many = results(*[1.0] * 3), results(*[1.0] * 300)
    assert not difference(few, few).is_clear
    assert difference(few, few).high > 0.2
    assert difference(many, many).high < 0.02


def test_one_question_proves_nothing():
    found = difference(results(0.0), results(1.0))
    assert (found.before, found.after, found.n) == (0.0, 1.0, 1)
    assert not found.is_clear


def test_only_questions_that_both_have_count():
    before, after = results(1.0, 1.0, 0.0), [*results(0.0, 1.0), *results(0.0, 0.0, prefix="new")]
    comparison = compare_results(before, after)
    assert comparison.examples == 2
    assert comparison.differences[0].n == 2
    assert [change.example.key for change in comparison.changed] == ["0"]


def test_nothing_in_common():
    comparison = compare_results(results(1.0), results(1.0, prefix="other"))
    assert (comparison.differences, comparison.changed, comparison.examples) == ([], [], 0)
    assert compare_results([], []).differences == []


def test_what_broke_comes_first_and_leads_to_runs_that_show_it():
    before = [result("a", 1.0), result("b", 0.0), result("c", 0.7)]
    after = [result("a", 0.0), result("b", 1.0), result("c", 0.9)]
    broken, mended = compare_results(before, after).changed
    assert (broken.example.key, broken.what, broken.before, broken.after) == ("a", "broken", 1.0, 0.0)
    assert (broken.before_run, broken.after_run) == ("a/1/1.0", "a/1/0.0")
    assert (mended.example.key, mended.what) == ("b", "mended")


def test_repetitions_are_averaged_and_the_runs_are_those_that_differ():
    before = [result("a", text, repetition=turn) for turn, text in enumerate((0.1, 0.9, 0.9), start=1)]
    after = [result("a", text, repetition=turn) for turn, text in enumerate((0.8, 0.2, 0.1), start=1)]
    (change,) = compare_results(before, after).changed
    assert (change.what, change.before, change.after) == ("broken", pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert (change.before_run, change.after_run) == ("a/2/0.9", "a/2/0.2")


def test_a_question_without_a_reference_changes_by_refusing():
    unanswerable = Example("u", "Who?", answerable=False)
    answerable = Example("v", "Who?", answerable=True)
    before = [scored_result(unanswerable, refused()), scored_result(answerable, refused())]
    after = [scored_result(unanswerable, answered("He.")), scored_result(answerable, answered("He."))]
    assert [(one.example.key, one.what) for one in compare_results(before, after).changed] == [
        ("u", "broken"),
        ("v", "mended"),
    ]


def test_a_question_of_which_nothing_is_known_does_not_change():
    example = Example("x", "Why?")
    assert compare_results([scored_result(example, answered("A"))], [scored_result(example, refused())]).changed == []


def test_a_question_of_which_only_right_passages_are_known_breaks_when_fewer_of_them_are_found():
    example = Example("p", "When?", phrases=("in May", "in June"))
    both, one, none = (
        replace(result("p", example=example, scored=ScoredAnswer(scores={"recall": recall})), run_id=str(recall))
        for recall in (1.0, 0.5, 0.0)
    )
    (change,) = compare_results([both, both], [both, one]).changed
    assert (change.what, change.before, change.after) == ("broken", 1.0, 0.75)
    assert (change.before_run, change.after_run) == ("1.0", "0.5")
    assert [change.what for change in compare_results([none], [one]).changed] == ["mended"]
    assert compare_results([both], [replace(both, state="failed")]).changed[0].after == 0.0


def test_one_that_fails_broke():
    (change,) = compare_results(results(1.0), [result("0", state="failed")]).changed
    assert change.what == "broken"


def test_a_judge_counts_only_where_the_same_one_judged_both():
    judged, texts = [result("a", 0.9, judged=0.1)], [result("a", 0.9)]
    assert compare_results(judged, texts).changed == []
    assert compare_results(judged, texts).unjudged
    assert difference(judged, texts).before == 1.0
    other = [replace(judged[0], judged=replace(judged[0].judged, model="other", score=1.0))]
    assert compare_results(judged, other).changed == []
    both = [replace(judged[0], judged=replace(judged[0].judged, score=1.0))]
    assert compare_results(judged, both).changed[0].what == "mended"
    assert not compare_results(judged, both).unjudged


def test_the_cutoffs_decide():
    assert compare_results(results(0.6), results(0.4), Cutoffs(text=0.5)).changed[0].what == "broken"
    assert compare_results(results(0.6), results(0.4), Cutoffs(text=0.3)).changed == []


def test_graders_differ_over_all_passages_of_the_questions_that_both_have():
    """The stricter one takes nothing of the second question: it counts for the other's precision all the same."""
    one, other = (Example(key, "Where?", sources=("s1",)) for key in "ab")
    loose = [
        result(
            "a",
            example=one,
            scored=ScoredAnswer(grades=(GradedPassage(0.9, True, True), GradedPassage(0.5, True, False))),
        ),
        result(
            "b",
            example=other,
            scored=ScoredAnswer(grades=(GradedPassage(0.4, True, False), GradedPassage(0.3, True, False))),
        ),
    ]
    strict = [
        result(
            "a",
            example=one,
            scored=ScoredAnswer(grades=(GradedPassage(0.9, True, True), GradedPassage(0.1, False, False))),
        ),
        result(
            "b",
            example=other,
            scored=ScoredAnswer(grades=(GradedPassage(0.2, False, False), GradedPassage(0.1, False, False))),
        ),
    ]
    found = difference(loose, strict, "grader_precision")
    assert (found.before, found.after, found.n) == (0.25, 1.0, 2)
    assert difference(loose, strict, "grader_auc").after == 1.0


def test_seconds_differ_without_bounds():
    before = [result(str(n), scored=ScoredAnswer(seconds=10.0 + n)) for n in range(20)]
    after = [result(str(n), scored=ScoredAnswer(seconds=2.0 + n)) for n in range(20)]
    found = difference(before, after, "seconds")
    assert (found.low, found.high) == (pytest.approx(-8.0), pytest.approx(-8.0))
    assert found.is_clear
