"""What the results of a variant come to."""

import pytest
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from crag.evaluation.metrics import METRICS
from crag.evaluation.summary import ActionCount, summarise_results
from crag.evaluation.types import Cutoffs, Example, GradedPassage, NodeCost, ScoredAnswer
from tests.evaluation.answers import answered, refused, result, scored_result

UNANSWERABLE = Example("u", "Who?", answerable=False)


def graded(key: str, *grades: tuple[float | None, bool, bool], repetition: int = 1):
    scored = ScoredAnswer(outcome="documents", grades=tuple(GradedPassage(*one) for one in grades))
    example = Example(key, "Where?", sources=("s1",))
    return result(key, example=example, scored=scored, repetition=repetition)


def test_nothing_comes_to_nothing():
    summary = summarise_results([])
    assert (summary.figures, summary.actions, summary.nodes) == ({}, [], {})
    assert (summary.examples, summary.answers, summary.failed, summary.repetitions) == (0, 0, 0, 0)


def test_right_answers_with_their_n_and_interval():
    figure = summarise_results([result(str(n), 1.0 if n < 15 else 0.0) for n in range(20)]).figures["answer_right"]
    assert (figure.value, figure.n) == (0.75, 20)
    assert 0.5 < figure.low < 0.6
    assert 0.85 < figure.high < 0.95


def test_repetitions_are_no_examples_and_do_not_narrow_the_interval():
    once = [result(str(n), float(n % 2)) for n in range(10)]
    thrice = [result(str(n), float(n % 2), repetition=turn) for n in range(10) for turn in (1, 2, 3)]
    summary = summarise_results(thrice)
    assert summary.figures["answer_right"] == summarise_results(once).figures["answer_right"]
    assert (summary.examples, summary.answers, summary.repetitions) == (10, 30, 3)


def test_every_example_weighs_the_same_however_often_it_was_answered():
    """One was stopped after its first answer: it came right, the other twice wrong and twice right."""
    results = [result("a", 1.0), *(result("b", float(turn % 2), repetition=turn) for turn in (1, 2, 3, 4))]
    assert summarise_results(results).figures["answer_right"].value == pytest.approx(0.75)


def test_the_cutoffs_decide():
    results = [result("a", 0.4), result("b", 0.6), result("c", 0.9, judged=0.6)]
    assert summarise_results(results, Cutoffs(text=0.3, judge=0.5)).figures["answer_right"].value == 1.0
    assert summarise_results(results, Cutoffs(text=0.7, judge=0.7)).figures["answer_right"].value == 0.0


def test_figures_stand_in_the_order_of_the_metrics_and_only_where_they_apply():
    figures = summarise_results([result("a", 1.0, judged=0.8)]).figures
    assert list(figures) == [name for name in METRICS if name in figures]
    assert set(figures) == {"answer_right", "contained", "judged", "seconds", "tokens"}


def test_a_failure_counts_as_wrong_among_answers_and_refusals_and_nowhere_else():
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
    assert set(summary.figures) == {"answer_right", "refusal_right", "answered"}
    assert summary.figures["answer_right"].value == 0.0
    assert summary.figures["answer_right"].high > 0.3  # three failures do not prove that none will ever be right
    assert (summary.actions, summary.nodes, summary.failed) == ([], {}, 3)


def test_graders_are_measured_over_all_passages_together():
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


def test_a_grader_that_took_nothing_has_no_precision_and_one_kind_of_passage_no_area():
    figures = summarise_results([graded("a", (0.1, False, True)), graded("b", (None, False, True))]).figures
    assert "grader_precision" not in figures
    assert "grader_auc" not in figures
    assert figures["grader_recall"].value == 0.0


def test_which_action_was_taken_where_another_was_expected():
    def acted(key, expected, actual):
        return result(key, example=Example(key, "?", action=expected), scored=ScoredAnswer(action=actual))

    wrong = [acted(key, "correct", "incorrect") for key in "bc"]
    others = acted("a", "correct", "correct"), acted("d", None, "ambiguous"), acted("e", "incorrect", None)
    summary = summarise_results([*wrong, *others])
    assert list(summary.actions) == [
        ActionCount("", "ambiguous", 1),
        ActionCount("correct", "correct", 1),
        ActionCount("correct", "incorrect", 2),
        ActionCount("incorrect", "", 1),
    ]


def test_what_an_answer_takes_on_average_adds_up():
    searched = ScoredAnswer(
        nodes={"generate": NodeCost(2.0, 100, 10), "web_search": NodeCost(1.0)}, seconds=3.0, tokens=110
    )
    plain = ScoredAnswer(nodes={"generate": NodeCost(1.0, 50, 5)}, seconds=1.0, tokens=55)
    summary = summarise_results([result("a", scored=searched), result("b", scored=plain)])
    assert summary.nodes == {"generate": NodeCost(1.5, 75, 8), "web_search": NodeCost(0.5)}
    assert sum(cost.seconds for cost in summary.nodes.values()) == summary.figures["seconds"].value == 2.0
    assert summary.figures["tokens"].value == 82.5
