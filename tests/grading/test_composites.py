"""The cascade of two graders, and the cache of verdicts."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.grading.composites import CachedGrader, CascadeGrader, GradeCache
from crag.grading.score import ScoreGrader
from crag.types import Grade, Thresholds
from tests.doubles.engine import TableGrader, passage
from tests.doubles.scripted_model import ScriptedModel

CLEAR = Thresholds(lower=0.2, upper=0.8)


def grade(first: TableGrader, second: TableGrader, *numbers: int) -> dict[int, Grade]:
    return dict(CascadeGrader(first, second).grade("q?", [passage(number) for number in numbers], Cancellation()))


def test_the_best_accepted_passage_is_confirmed_the_rest_kept() -> None:
    first = TableGrader({1: 0.9, 2: 0.95, 3: 0.05, 4: 0.5}, thresholds=CLEAR)
    second = TableGrader({1: 0.0, 2: 0.9, 4: 0.0})
    grades = grade(first, second, 1, 2, 3, 4)
    assert second.graded == [2]
    words = [second.thresholds.verdict_for(grades[index].score) for index in range(4)]
    assert words == ["relevant", "relevant", "irrelevant", "ambiguous"]
    assert grades[1].score == 0.9


def test_an_unconfirmed_best_sends_the_rest_to_the_model() -> None:
    first = TableGrader({1: 0.9, 2: 0.95, 3: 0.05, 4: 0.5, 5: 0.15, 6: None}, thresholds=CLEAR)
    second = TableGrader({1: 0.8, 2: 0.1, 4: 0.4, 5: 0.2, 6: 0.3})
    grades = grade(first, second, 1, 2, 3, 4, 5, 6)
    assert second.graded == [2, 1, 4, 5, 6]
    assert [grades[index].score for index in (0, 1, 3, 4, 5)] == [0.8, 0.1, 0.4, 0.2, 0.3]


def test_without_an_accepted_passage_the_model_grades_the_rest() -> None:
    second = TableGrader({1: 0.7, 2: 0.1})
    grades = grade(TableGrader({1: 0.5, 2: 0.3, 3: 0.0}, thresholds=CLEAR), second, 1, 2, 3)
    assert second.graded == [1, 2]
    assert sorted(grades) == [0, 1, 2]


def test_words_never_reject_a_passage_in_another_language() -> None:
    second = TableGrader({1: 0.9})
    cascade = CascadeGrader(TableGrader({1: 0.0, 2: 0.0}, thresholds=CLEAR), second)
    held = [passage(1, "The lighthouse was built by Clara Moor."), passage(2, "등대는 섬의 북쪽에 있다.")]
    grades = dict(cascade.grade("등대는 누가 지었나요?", held, Cancellation()))
    assert (second.graded, grades[0].score, grades[1].score) == ([1], 0.9, 0.0)


def test_foreign_passages_are_graded_beside_the_confirmed_one() -> None:
    second = TableGrader({1: 0.9, 2: 0.9})
    cascade = CascadeGrader(TableGrader({1: 0.0, 2: 0.95, 3: 0.5}, thresholds=CLEAR), second)
    held = [
        passage(1, "The lighthouse was built by Clara Moor."),
        passage(2, "등대는 클라라가 지었다."),
        passage(3, "등대는 섬의 북쪽에 있다."),
    ]
    grades = dict(cascade.grade("등대는 누가 지었나요?", held, Cancellation()))
    assert second.graded == [2, 1]
    assert [second.thresholds.verdict_for(grades[index].score) for index in range(3)] == [
        "relevant",
        "relevant",
        "ambiguous",
    ]


@pytest.mark.parametrize("score", [0.05, 0.2, 0.5, 0.79999, 0.8, 0.9])
def test_a_kept_verdict_keeps_its_word_under_other_thresholds(score: float) -> None:
    second = TableGrader({2: 0.9})
    grades = grade(TableGrader({1: score, 2: 0.95}, thresholds=CLEAR), second, 1, 2)
    assert second.graded == [2]
    assert second.thresholds.verdict_for(grades[0].score) == CLEAR.verdict_for(score)


def test_an_order_of_scores_stays_one() -> None:
    scores = {n: n / 20 for n in (1, 2, 3, 17, 18, 20)}
    grades = grade(TableGrader(dict(scores), thresholds=CLEAR), TableGrader(dict.fromkeys(scores, 1.0)), *scores)
    moved = [grades[index].score or 0.0 for index in range(len(scores))]
    assert moved == sorted(moved)


def test_what_the_model_cannot_judge_is_unknown() -> None:
    second = TableGrader({1: None, 2: None, 3: None})
    grades = grade(TableGrader({1: 0.9, 2: 0.5, 3: 0.0}, thresholds=CLEAR), second, 1, 2, 3)
    assert second.graded == [1, 2]
    assert [grades[index].score for index in (0, 1)] == [None, None]


def test_rejected_passages_need_no_model() -> None:
    def reply(_: str) -> str:
        raise ModelFault("unreachable", "Nobody is there.")

    model = ScriptedModel(reply)
    cascade = CascadeGrader(TableGrader({1: 0.05}, thresholds=CLEAR), ScoreGrader(model))
    assert len(dict(cascade.grade("q?", [passage(1), passage(2)], Cancellation()))) == 2
    assert model.asked == []


def test_only_the_models_verdicts_are_remembered() -> None:
    first, model = TableGrader({1: 0.05, 2: 0.5}, thresholds=CLEAR), ScriptedModel(lambda _: "Yes")
    cascade = CascadeGrader(first, CachedGrader(ScoreGrader(model), GradeCache(100)))
    for _ in range(2):
        grades = dict(cascade.grade("q?", [passage(1), passage(2)], Cancellation()))
    assert first.graded == [1, 2, 1, 2]
    assert len(model.asked) == 1
    assert grades[1].usage is None, "a verdict that is remembered costs nothing"
    assert cascade.name == "cascade:table+score:scripted@1"


def graded(grader: CachedGrader, question: str, *numbers: int) -> dict[int, Grade]:
    return dict(grader.grade(question, [passage(number) for number in numbers], Cancellation()))


def test_a_known_passage_is_not_judged_again() -> None:
    table = TableGrader({1: 0.9, 2: 0.1, 3: 0.5})
    grader = CachedGrader(table, GradeCache(100))
    first = graded(grader, "q", 1, 2)
    second = graded(grader, "q", 3, 2, 1)
    assert table.graded == [1, 2, 3]
    assert (second[1], second[2]) == (first[1], first[0])


def test_another_question_or_grader_is_judged_anew() -> None:
    memory, table = GradeCache(100), TableGrader({1: 0.9})
    graded(CachedGrader(table, memory), "q", 1)
    graded(CachedGrader(table, memory), "another", 1)
    graded(CachedGrader(TableGrader({1: 0.2}, name="other"), memory), "q", 1)
    assert table.graded == [1, 1]


def test_what_could_not_be_judged_is_tried_again() -> None:
    table = TableGrader({1: None})
    grader = CachedGrader(table, GradeCache(100))
    graded(grader, "q", 1)
    graded(grader, "q", 1)
    assert table.graded == [1, 1]


def test_the_longest_unused_grade_is_forgotten() -> None:
    table = TableGrader({})
    grader = CachedGrader(table, GradeCache(2))
    for number in (1, 2, 1, 3, 1, 2):
        graded(grader, "q", number)
    assert table.graded == [1, 2, 3, 2]
