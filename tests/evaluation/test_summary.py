"""The figures of a variant, and the comparison of two variants over the same questions."""

from dataclasses import replace

import pytest

from crag.evaluation.metrics import (
    METRICS,
    answer_verdict,
    format_figure,
    format_interval,
    is_answer_right,
    score_truthfulness,
)
from crag.evaluation.summary import compare_results, summarise_results
from crag.evaluation.types import Cutoffs, Example, GradedPassage, NodeCost, ScoredAnswer
from tests.evaluation.answers import answered, refused, result, scored_result

UNANSWERABLE = Example("u", "Who?", answerable=False)
KNOWN = Example("a", "What?", ("Paris",), answerable=True)


def graded(key: str, *grades: tuple[float | None, bool, bool], repetition: int = 1):
    scored = ScoredAnswer(outcome="documents", grades=tuple(GradedPassage(*one) for one in grades))
    example = Example(key, "Where?", sources=("s1",))
    return result(key, example=example, scored=scored, repetition=repetition)


def test_nothing_comes_to_nothing():
    summary = summarise_results([])
    assert (summary.figures, summary.nodes) == ({}, {})
    assert (summary.examples, summary.answers, summary.failed, summary.repetitions) == (0, 0, 0, 0)


def test_right_answers_with_their_n_and_interval():
    figure = summarise_results([result(str(n), 1.0 if n < 15 else 0.0) for n in range(20)]).figures["answer_right"]
    assert (figure.value, figure.n) == (0.75, 20)
    assert 0.5 < figure.low < 0.6
    assert 0.85 < figure.high < 0.95


def test_repetitions_do_not_narrow_the_interval():
    once = [result(str(n), float(n % 2)) for n in range(10)]
    thrice = [result(str(n), float(n % 2), repetition=turn) for n in range(10) for turn in (1, 2, 3)]
    summary = summarise_results(thrice)
    assert summary.figures["answer_right"] == summarise_results(once).figures["answer_right"]
    assert (summary.examples, summary.answers, summary.repetitions) == (10, 30, 3)


def test_every_example_weighs_the_same():
    """One was stopped after its first answer: it came right, the other twice wrong and twice right."""
    results = [result("a", 1.0), *(result("b", float(turn % 2), repetition=turn) for turn in (1, 2, 3, 4))]
    assert summarise_results(results).figures["answer_right"].value == pytest.approx(0.75)


def test_the_cutoffs_decide():
    results = [result("a", 0.4), result("b", 0.6), result("c", 0.9, judged=0.6)]
    assert summarise_results(results, Cutoffs(text=0.3, judge=0.5)).figures["answer_right"].value == 1.0
    assert summarise_results(results, Cutoffs(text=0.7, judge=0.7)).figures["answer_right"].value == 0.0


def test_an_answer_counts_as_a_person_rated_it():
    unknown, refusal = Example("x", "Why?"), ScoredAnswer(outcome="not_answered")
    answers = [
        replace(result("a", 0.0), label=True),
        replace(result("b", 1.0, judged=1.0), label=False),
        replace(result("c", scored=refusal), label=True),
        replace(result("x", example=unknown), label=True),
        replace(result("f", state="failed"), label=True),
        result("d", 1.0),
    ]
    summary = summarise_results(answers)
    assert [is_answer_right(one, Cutoffs()) for one in answers] == [True, False, True, True, False, True]
    words = [answer_verdict(one, Cutoffs()) for one in answers]
    assert words == ["right", "wrong", "right", "right", "failed", "right"]
    assert (summary.figures["answer_right"].value, summary.figures["answer_right"].n) == (pytest.approx(4 / 6), 6)
    assert summary.labelled == 4, "a failed answer cannot be rated"


@pytest.mark.parametrize(
    ("example", "outcome", "text", "label", "expected"),
    [
        (KNOWN, "documents", 1.0, None, 1),
        (KNOWN, "documents", 0.0, None, -1),
        (KNOWN, "not_answered", 0.0, None, 0),
        (KNOWN, "not_answered", 0.0, True, 1),
        (KNOWN, "not_answered", 0.0, False, 0),
        (KNOWN, "documents", 1.0, False, -1),
        (UNANSWERABLE, "not_answered", None, None, 1),
        (UNANSWERABLE, "documents", None, None, -1),
        (Example("x", "Why?", answerable=True), "documents", None, None, None),
        (Example("x", "Why?", answerable=True), "not_answered", None, None, None),
        (Example("x", "Why?"), "documents", None, True, 1),
    ],
)
def test_right_answers_count_one_wrong_ones_minus_one(example, outcome, text, label, expected):
    answer = replace(result("a", example=example, scored=ScoredAnswer(outcome=outcome, text_score=text)), label=label)
    assert score_truthfulness(answer, Cutoffs()) == expected
    assert score_truthfulness(replace(answer, state="failed"), Cutoffs()) == (
        None if not (example.references or example.answerable is False) else 0
    )


def test_truthfulness_has_an_interval_and_needs_known_answers():
    answers = [result(str(n), 1.0 if n < 5 else 0.0) for n in range(20)]
    figure = summarise_results(answers).figures["truthfulness"]
    assert figure.value == -0.5
    assert -0.85 < figure.low < -0.75
    assert format_interval(figure).startswith("−")
    refusals = [scored_result(UNANSWERABLE, refused())]
    assert "truthfulness" not in summarise_results(refusals).figures, "always declining is no truthfulness"


def test_a_single_value_has_no_interval():
    figures = summarise_results([result("a", scored=ScoredAnswer(outcome="documents", seconds=0.2092))]).figures
    assert [format_figure(figures[name]) for name in ("seconds", "tokens")] == ["0.2 s (n=1)", "0 (n=1)"]


def test_figures_are_ordered_and_only_those_that_apply():
    figures = summarise_results([result("a", 1.0, judged=0.8)]).figures
    assert list(figures) == [name for name in METRICS if name in figures]
    assert set(figures) == {"truthfulness", "answer_right", "contained", "judged", "seconds", "tokens"}


def test_a_failure_counts_as_wrong_for_answers_and_refusals_only():
    results = [
        scored_result(Example("a", "What?", references=("Paris",)), answered("Paris")),
        result("b", state="failed", scored=ScoredAnswer(grades=(GradedPassage(0.9, True, False),))),
        scored_result(UNANSWERABLE, refused()),
        result("u2", state="interrupted", example=Example("u2", "Who?", answerable=False)),
        result("x", state="failed", example=Example("x", "Why?")),
    ]
    summary = summarise_results(results)
    told = {name: (figure.value, figure.n) for name, figure in summary.figures.items()}
    for name, expected in {
        "truthfulness": (0.5, 4),
        "answer_right": (0.5, 2),
        "refusal_right": (0.5, 4),
        "answered": (0.5, 2),
        "refused": (0.5, 2),
        "contained": (1.0, 1),
        "seconds": (2.0, 2),
    }.items():
        assert told[name] == expected
    assert "grader_precision" not in told
    assert (summary.failed, summary.answers) == (3, 5)


def test_where_all_failed_there_is_no_time_and_no_right_answer():
    summary = summarise_results([result(str(n), state="failed") for n in range(3)])
    assert set(summary.figures) == {"truthfulness", "answer_right", "refusal_right", "answered"}
    assert summary.figures["answer_right"].value == 0.0
    assert summary.figures["answer_right"].high > 0.3  # three failures do not prove that none will ever be right
    assert (summary.nodes, summary.failed) == ({}, 3)


def test_graders_are_measured_over_all_passages_together():
    from sklearn.metrics import precision_score, recall_score, roc_auc_score

    passages = [
        ("a", (0.9, True, True), (0.8, True, False), (0.1, False, False)),
        ("b", (0.2, False, True), (0.2, False, False), (None, False, True)),
        ("c", (0.7, True, True)),
    ]
    figures = summarise_results([graded(key, *grades) for key, *grades in passages]).figures
    held = [grade for _, *grades in passages for grade in grades]
    taken, labels = [relevant for _, relevant, _ in held], [right for _, _, right in held]
    assert figures["grader_precision"].value == pytest.approx(precision_score(labels, taken))
    assert figures["grader_recall"].value == pytest.approx(recall_score(labels, taken))
    scored = [(score, right) for score, _, right in held if score is not None]
    expected = roc_auc_score([right for _, right in scored], [score for score, _ in scored])
    assert figures["grader_auc"].value == pytest.approx(expected)
    # In b nothing was taken: it says nothing of precision.
    assert [figures[name].n for name in ("grader_precision", "grader_recall", "grader_auc")] == [2, 3, 3]


def test_precision_needs_accepted_and_auc_mixed_passages():
    figures = summarise_results([graded("a", (0.1, False, True)), graded("b", (None, False, True))]).figures
    assert "grader_precision" not in figures
    assert "grader_auc" not in figures
    assert figures["grader_recall"].value == 0.0


def test_what_an_answer_takes_on_average_adds_up():
    searched = ScoredAnswer(
        nodes={"generate": NodeCost(2.0, 100, 10), "web_search": NodeCost(1.0)}, seconds=3.0, tokens=110
    )
    plain = ScoredAnswer(nodes={"generate": NodeCost(1.0, 50, 5)}, seconds=1.0, tokens=55)
    summary = summarise_results([result("a", scored=searched), result("b", scored=plain)])
    assert summary.nodes == {"generate": NodeCost(1.5, 75, 8), "web_search": NodeCost(0.5)}
    assert sum(cost.seconds for cost in summary.nodes.values()) == summary.figures["seconds"].value == 2.0
    assert summary.figures["tokens"].value == 82.5


def results(*texts: float, prefix: str = "") -> list:
    return [result(f"{prefix}{place}", text) for place, text in enumerate(texts)]


def difference(before, after, metric="answer_right"):
    return next((one for one in compare_results(before, after).differences if one.metric == metric), None)


def test_the_difference_is_paired():
    """Hard and easy questions are so in both: one fixed of each ten is seen, though both intervals overlap."""
    before = results(*[1.0] * 50, *[0.0] * 50)
    after = results(*[1.0] * 60, *[0.0] * 40)
    found = difference(before, after)
    assert (found.before, found.after, found.n) == (0.5, 0.6, 100)
    assert 0.03 < found.low < 0.1 < found.high < 0.18
    assert found.is_clear


def test_few_identical_answers_do_not_prove_equality():
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
    broken, fixed = compare_results(before, after).changed
    assert (broken.example.key, broken.what, broken.before, broken.after) == ("a", "broken", 1.0, -1.0)
    assert (broken.before_run, broken.after_run) == ("a/1/1.0", "a/1/0.0")
    assert (fixed.example.key, fixed.what) == ("b", "fixed")


def test_repetitions_are_averaged_and_differing_runs_listed():
    before = [result("a", text, repetition=turn) for turn, text in enumerate((0.1, 0.9, 0.9), start=1)]
    after = [result("a", text, repetition=turn) for turn, text in enumerate((0.8, 0.2, 0.1), start=1)]
    (change,) = compare_results(before, after).changed
    assert (change.what, change.before, change.after) == ("broken", pytest.approx(1 / 3), pytest.approx(-1 / 3))
    assert (change.before_run, change.after_run) == ("a/2/0.9", "a/2/0.2")


def test_a_question_without_a_reference_changes_by_refusing():
    unanswerable = Example("u", "Who?", answerable=False)
    answerable = Example("v", "Who?", answerable=True)
    before = [scored_result(unanswerable, refused()), scored_result(answerable, refused())]
    after = [scored_result(unanswerable, answered("He.")), scored_result(answerable, answered("He."))]
    assert [(one.example.key, one.what) for one in compare_results(before, after).changed] == [
        ("u", "broken"),
        ("v", "fixed"),
    ]


def test_a_question_of_which_nothing_is_known_does_not_change():
    example = Example("x", "Why?")
    assert compare_results([scored_result(example, answered("A"))], [scored_result(example, refused())]).changed == []


def test_finding_fewer_right_passages_counts_as_broken():
    example = Example("p", "When?", phrases=("in May", "in June"))
    both, one, none = (
        replace(result("p", example=example, scored=ScoredAnswer(scores={"recall": recall})), run_id=str(recall))
        for recall in (1.0, 0.5, 0.0)
    )
    (change,) = compare_results([both, both], [both, one]).changed
    assert (change.what, change.before, change.after) == ("broken", 1.0, 0.75)
    assert (change.before_run, change.after_run) == ("1.0", "0.5")
    assert [change.what for change in compare_results([none], [one]).changed] == ["fixed"]
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
    assert compare_results(judged, both).changed[0].what == "fixed"
    assert not compare_results(judged, both).unjudged


def test_the_cutoffs_decide_what_changed():
    assert compare_results(results(0.6), results(0.4), Cutoffs(text=0.5)).changed[0].what == "broken"
    assert compare_results(results(0.6), results(0.4), Cutoffs(text=0.3)).changed == []


def test_graders_are_compared_over_passages_of_shared_questions():
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
