"""The cascade of two graders, and the cache of verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from crag.cancellation import Cancellation
from crag.grading.composites import CachedGrader, CascadeAssessor, CascadeGrader, GradeCache
from crag.grading.score import ScoreGrader
from crag.types import Assessment, Grade, Thresholds
from tests.doubles.engine import KeepEverySecond, TableGrader, passage
from tests.doubles.scripted_model import ScriptedModel

CLEAR = Thresholds(lower=0.2, upper=0.8)


def grade(first: TableGrader, second: TableGrader, *numbers: int) -> dict[int, Grade]:
    return dict(CascadeGrader(first, second).grade("q?", [passage(number) for number in numbers], Cancellation()))


@pytest.mark.parametrize(
    ("scores", "complete", "asked"),
    [
        ({1: 0.9, 2: 0.5, 3: 0.05, 4: 0.1}, True, [2, 4]),
        ({1: 0.9, 2: 0.0}, None, []),
        ({1: 0.9, 2: 0.0}, False, [1]),
        ({1: 0.5, 2: 0.3, 3: 0.0, 4: None}, None, [1, 2, 4]),
    ],
)
def test_the_model_grades_what_is_neither_clearly_right_nor_wrong(scores, complete, asked) -> None:
    second = TableGrader(dict.fromkeys(scores, 0.4))
    grades = grade(TableGrader(scores, thresholds=CLEAR, complete=complete), second, *scores)
    assert second.graded == asked
    assert {number: grades[number - 1].score for number in asked} == dict.fromkeys(asked, 0.4)
    kept = {number: second.thresholds.verdict_for(grades[number - 1].score) for number in scores.keys() - set(asked)}
    assert kept == {number: CLEAR.verdict_for(scores[number]) for number in kept}


def test_words_never_reject_a_passage_in_another_language() -> None:
    second = TableGrader({1: 0.9})
    cascade = CascadeGrader(TableGrader({1: 0.0, 2: 0.0}, thresholds=CLEAR), second)
    held = [passage(1, "The lighthouse was built by Clara Moor."), passage(2, "등대는 섬의 북쪽에 있다.")]
    grades = dict(cascade.grade("등대는 누가 지었나요?", held, Cancellation()))
    assert (second.graded, grades[0].score, grades[1].score) == ([1], 0.9, 0.0)


FOREIGN = [
    passage(1, "The lighthouse was built by Clara Moor. It rained."),
    passage(2, "등대는 클라라가 지었다."),
    passage(3, "등대는 섬의 북쪽에 있다."),
]


@dataclass
class ListingJudge:
    """Remembers the ids of what it was to judge, best first."""

    candidates: list[int] = field(default_factory=list)

    def judge(self, question, graded, stop, **_written_from) -> Assessment:
        self.candidates = [passage.id for passage, _ in graded]
        return Assessment("sufficient", "It is.")


@pytest.mark.parametrize(
    ("scores", "asked", "candidates"),
    [
        ({1: 0.9, 2: 0.95, 3: 0.5}, [1], [2, 1, 3]),
        ({1: 0.0, 2: 0.95, 3: 0.1}, [1], [2, 1]),
        ({1: 0.0, 2: 0.5, 3: 0.1}, [1, 2, 3], [2, 3, 1]),
    ],
)
def test_beside_a_clearly_right_passage_only_foreign_ones_are_asked_about(scores, asked, candidates) -> None:
    second, judge = TableGrader(dict.fromkeys(scores, 0.9)), ListingJudge()
    assessor = CascadeAssessor(CascadeGrader(TableGrader(scores, thresholds=CLEAR), second), judge, KeepEverySecond())
    *grades, assessment = assessor.assess("등대는 누가 지었나요?", FOREIGN, Cancellation())
    assert sorted(index for index, _ in grades) == [0, 1, 2]
    assert second.shown[1] == "The lighthouse was built by Clara Moor.", "only the excerpts that are kept"
    assert (second.graded, judge.candidates, assessment.sufficiency) == (asked, candidates, "sufficient")


@pytest.mark.parametrize("old", [0.05, 0.2, 0.5, 0.79999, 0.8, 0.9])
def test_a_kept_score_keeps_its_word_and_its_rank_under_other_thresholds(old: float) -> None:
    scores = {1: old, 2: 0.95, 3: 0.99}
    second, judge = TableGrader({}), ListingJudge()
    assessor = CascadeAssessor(CascadeGrader(TableGrader(scores, thresholds=CLEAR), second), judge, KeepEverySecond())
    *grades, _ = assessor.assess("q?", [passage(number) for number in scores], Cancellation())
    moved = [grade.score for _, grade in sorted(grades)]
    assert (second.graded, moved) == ([], sorted(moved))
    assert second.thresholds.verdict_for(moved[0]) == CLEAR.verdict_for(old)


@pytest.mark.parametrize(
    ("scores", "asked"), [({1: 0.05, 2: 0.06, 3: 0.0}, [2]), ({1: 0.05, 2: 0.5, 3: 0.0}, [2]), ({1: 0.05, 2: 0.95}, [])]
)
def test_of_rejected_passages_the_model_sees_the_best_unless_there_is_a_better_one(scores, asked) -> None:
    second = TableGrader(dict.fromkeys(scores, 0.9))
    cascade = CascadeGrader(TableGrader(scores, thresholds=CLEAR), second)
    grades = dict(cascade.grade("q?", [passage(number) for number in scores], Cancellation()))
    assert (len(grades), second.graded) == (len(scores), asked)


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
