from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from crag.cancellation import Cancellation
from crag.grading.composites import CachedGrader, GradeCache
from crag.types import Grade
from tests.doubles.engine import TableGrader, passage


def graded(grader: CachedGrader, question: str, *numbers: int) -> dict[int, Grade]:
    return dict(grader.grade(question, [passage(number) for number in numbers], Cancellation()))


def test_a_known_passage_is_not_judged_again() -> None:
    table = TableGrader({1: 0.9, 2: 0.1, 3: 0.5})
    grader = CachedGrader(table, GradeCache())
    first = graded(grader, "q", 1, 2)
    second = graded(grader, "q", 3, 2, 1)
    assert table.graded == [1, 2, 3]
    assert (second[1], second[2]) == (first[1], first[0])


def test_another_question_or_grader_is_judged_anew() -> None:
    memory, table = GradeCache(), TableGrader({1: 0.9})
    graded(CachedGrader(table, memory), "q", 1)
    graded(CachedGrader(table, memory), "another", 1)
    graded(CachedGrader(TableGrader({1: 0.2}, name="other"), memory), "q", 1)
    assert table.graded == [1, 1]


def test_what_could_not_be_judged_is_tried_again() -> None:
    table = TableGrader({1: None})
    grader = CachedGrader(table, GradeCache())
    graded(grader, "q", 1)
    graded(grader, "q", 1)
    assert table.graded == [1, 1]


def test_the_longest_unused_grade_is_forgotten() -> None:
    table = TableGrader({})
    grader = CachedGrader(table, GradeCache(size=2))
    for number in (1, 2, 1, 3, 1, 2):
        graded(grader, "q", number)
    assert table.graded == [1, 2, 3, 2]


def test_the_memory_is_shared_between_threads() -> None:
    memory = GradeCache(size=50)
    keys = [(str(n), "d", "g") for n in range(200)]

    def use(n: int) -> None:
        memory.put(keys[n % 200], Grade(0.5, ""))
        memory.get(keys)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(2_000)))
    assert len(memory.get(keys)) == 50
