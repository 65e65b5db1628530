"""The evaluator as grader and refiner, in three languages."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.grading.evaluator import EvaluatorGrader, EvaluatorRefiner
from crag.models.evaluator import OnnxEvaluator
from crag.types import Passage
from tests.doubles.evaluator import write_evaluator
from tests.grading.passages import CHINESE, ENGLISH, KOREAN, passages

CASES = [
    ("Who built the Halden lighthouse?", ENGLISH, "Score 0.9", "The Halden lighthouse was built in 1874"),
    ("한강 도서관은 누가 설계했나요?", KOREAN, "점수 0.", "한강 도서관은 1962년에"),
    ("青山圖書館的建築師是誰？", CHINESE, "得分 0.", "青山圖書館於1962年由建築師林文遠設計"),
]


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> OnnxEvaluator:
    return OnnxEvaluator(write_evaluator(tmp_path_factory.mktemp("overlap")))


@pytest.mark.parametrize(("question", "texts", "score", "sentence"), CASES)
def test_the_best_passage_scores_best_and_its_nearest_sentence_is_quoted(
    evaluator: OnnxEvaluator, question: str, texts: tuple[str, ...], score: str, sentence: str
) -> None:
    grades = dict(EvaluatorGrader(evaluator).grade(question, passages(texts), Cancellation()))
    scores = [grades[index].score or 0 for index in range(len(texts))]
    assert max(scores) == scores[0] > max(scores[1:])
    assert grades[0].reason.startswith(score)
    assert f"“{sentence}" in grades[0].reason


def test_the_title_counts_as_part_of_passage_and_strip(evaluator: OnnxEvaluator) -> None:
    text = "It was built in 1874. Its lamp is old. Four people keep it. It stands on the cape. Boats pass by."
    named, nameless = (Passage(1, "s", title, "", text, text) for title in ("Halden lighthouse", ""))
    question = "When was the Halden lighthouse built?"
    grades = dict(EvaluatorGrader(evaluator).grade(question, [named, nameless], Cancellation()))
    assert (grades[0].score or 0) > 0.7 > (grades[1].score or 0)
    strips = dict(EvaluatorRefiner(evaluator).refine(question, [named, nameless], Cancellation()))
    first, last = strips[0][0], strips[0][-1]
    assert first.kept
    assert (first.score or 0) > (last.score or 0)
    assert "Halden" not in first.text


def test_a_title_is_not_repeated() -> None:
    passage = Passage(1, "s", "Halden", "", "Halden\n\nIt is old.", "", heading="Harbours")
    assert passage.with_title(passage.text) == "Harbours\nHalden\n\nIt is old."
    assert passage.with_title("It is old.") == "Halden\nHarbours\nIt is old."


def test_the_grader_is_named_after_the_exact_files(evaluator: OnnxEvaluator) -> None:
    assert EvaluatorGrader(evaluator).name == f"evaluator:{evaluator.fingerprint}"
