"""The evaluator as grader and refiner, in three languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.cancellation import Cancellation
from crag.grading.registry import GRADER_FACTORIES, GraderResources
from crag.models.evaluator import OnnxEvaluator
from crag.options import GraderKind
from crag.protocols import Embedder, Grader, Refiner
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Passage
from tests.doubles.evaluator import write_evaluator
from tests.grading.passages import CHINESE, ENGLISH, KOREAN, passages

CASES = [
    ("Who built the Halden lighthouse?", ENGLISH, "Score 0.9", "The Halden lighthouse was built in 1874"),
    ("한강 도서관은 누가 설계했나요?", KOREAN, "Score 0.", "한강 도서관은 1962년에"),
    ("青山圖書館的建築師是誰？", CHINESE, "Score 0.", "青山圖書館於1962年由建築師林文遠設計"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_evaluator(tmp_path_factory.mktemp("overlap"))


@pytest.fixture
def evaluator(folder: Path) -> OnnxEvaluator:
    return OnnxEvaluator(folder)


def opened(evaluator: OnnxEvaluator, embedder: Embedder, kind: GraderKind = "evaluator") -> tuple[Grader, Refiner]:
    statistics = CountedTermStatistics([*ENGLISH, *KOREAN, *CHINESE])
    return GRADER_FACTORIES[kind](GraderResources(embedder, statistics, None, lambda grader: grader, evaluator))


@pytest.mark.parametrize(("question", "texts", "score", "sentence"), CASES)
def test_the_best_passage_scores_best_and_its_nearest_sentence_is_quoted(
    evaluator: OnnxEvaluator, embedder: Embedder, question: str, texts: tuple[str, ...], score: str, sentence: str
) -> None:
    grades = dict(opened(evaluator, embedder)[0].grade(question, passages(texts), Cancellation()))
    scores = [grades[index].score or 0 for index in range(len(texts))]
    assert max(scores) == scores[0] > max(scores[1:])
    assert grades[0].reason.startswith(score)
    assert f"“{sentence}" in grades[0].reason


def test_the_title_counts_as_part_of_passage_and_strip(evaluator: OnnxEvaluator, embedder: Embedder) -> None:
    grader, refiner = opened(evaluator, embedder)
    text = "It was built in 1874. Its lamp is old. Four people keep it. It stands on the cape. Boats pass by."
    named, nameless = (Passage(1, "s", title, "", text, text) for title in ("Halden lighthouse", ""))
    question = "When was the Halden lighthouse built?"
    grades = dict(grader.grade(question, [named, nameless], Cancellation()))
    assert (grades[0].score or 0) > 0.7 > (grades[1].score or 0)
    strips = dict(refiner.refine(question, [named, nameless], Cancellation()))
    first, last = strips[0][0], strips[0][-1]
    assert first.kept
    assert (first.score or 0) > (last.score or 0)
    assert "Halden" not in first.text


@pytest.mark.parametrize("asked", ["Who built it?", "누가 지었나요?", "是誰建造的？"])
def test_a_passage_without_a_score_could_not_be_judged(tmp_path: Path, embedder: Embedder, asked: str) -> None:
    grader, refiner = opened(OnnxEvaluator(write_evaluator(tmp_path, long="no number")), embedder)
    long = [Passage(1, "s", "Kettles", "", "The kettle is old, " * 200 + "and heavy.", "")]
    ((_, grade),) = grader.grade(asked, long, Cancellation())
    assert grade.score is None
    assert grade.reason.startswith("Could not be judged")
    assert list(refiner.refine(asked, long, Cancellation()))


def test_a_title_is_not_repeated() -> None:
    passage = Passage(1, "s", "Halden", "", "Halden\n\nIt is old.", "", heading="Harbours")
    assert passage.with_title(passage.text) == "Harbours\nHalden\n\nIt is old."
    assert passage.with_title("It is old.") == "Halden\nHarbours\nIt is old."


@pytest.mark.parametrize(("question", "texts"), [(question, texts) for question, texts, *_ in CASES])
def test_questions_in_other_languages_are_graded_by_the_builtin_grader(
    folder: Path, embedder: Embedder, question: str, texts: tuple[str, ...]
) -> None:
    only_english = OnnxEvaluator(folder, only="en")
    grader, refiner = opened(only_english, embedder)
    builtin, builtin_refiner = opened(only_english, embedder, "builtin")
    given = dict(grader.grade(question, passages(texts), Cancellation()))
    usual = dict(builtin.grade(question, passages(texts), Cancellation()))
    strips = [dict(one.refine(question, passages(texts), Cancellation())) for one in (refiner, builtin_refiner)]
    is_english = texts == ENGLISH
    assert ([grade.reason for grade in given.values()] == [grade.reason for grade in usual.values()]) != is_english
    assert (strips[0] == strips[1]) != is_english
    if not is_english:
        words = [grader.thresholds.verdict_for(given[index].score) for index in given]
        assert words == [builtin.thresholds.verdict_for(usual[index].score) for index in given]


def test_the_grader_is_named_after_the_exact_files(evaluator: OnnxEvaluator, embedder: Embedder) -> None:
    assert opened(evaluator, embedder)[0].name == f"evaluator:{evaluator.fingerprint}"
