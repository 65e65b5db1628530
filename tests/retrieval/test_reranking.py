"""Two stages of retrieval: the evaluator orders the best candidates, and its scores are those of the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.grading.evaluator import EvaluatorGrader
from crag.library.library import Library
from crag.models.evaluator import OnnxEvaluator
from crag.options import RunOptions
from crag.retrieval import reranking
from tests.doubles.engine import TableGrader
from tests.doubles.evaluator import write_evaluator
from tests.waiting import PATIENCE

QUESTION = "Who repaired the kettle?"
LINES = [*(f"The kettle, the kettle, the kettle number {number}." for number in range(25)), "Ann repaired the kettle."]


class CountingEvaluator(OnnxEvaluator):
    """Notes what it is asked."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, only="en")
        self.asked: list[int] = []
        self.fails_after = 99
        self.stops: Cancellation | None = None

    def score(self, question: str, texts: Sequence[str], stop: Cancellation) -> list[float | None]:
        if len(self.asked) >= self.fails_after:
            raise ModelFault.make("evaluator.missing", name="there", file="model.onnx")
        self.asked.append(len(texts))
        if self.stops and len(self.asked) == 2:
            self.stops.cancel()
        return super().score(question, texts, stop)


@pytest.fixture
def evaluator(tmp_path: Path) -> CountingEvaluator:
    return CountingEvaluator(write_evaluator(tmp_path / "evaluator"))


@pytest.fixture
def kettles(reopen: Callable[..., Library], evaluator: CountingEvaluator, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(reranking, "_BUDGET_SECONDS", PATIENCE)
    library = reopen(find_evaluator=lambda: evaluator)
    library.pipeline.add_bytes("kettles.txt", "\n".join(LINES).encode())
    return library


def test_the_best_candidates_are_scored_and_ordered(kettles: Library, evaluator: CountingEvaluator) -> None:
    found = kettles.retriever.retrieve(QUESTION, RunOptions(k=3))
    assert found.passages[0].text == LINES[-1]
    assert (found.scored, sum(evaluator.asked), found.notice) == (20, 20, "")
    scores = [passage.score for passage in found.passages]
    assert scores == sorted(scores, reverse=True)
    texts = [passage.with_title(passage.text) for passage in found.passages]
    stopped = Cancellation()
    stopped.cancel()
    assert evaluator.score(QUESTION, texts, stopped) == scores, "known already"
    grades = dict(EvaluatorGrader(evaluator, TableGrader({})).grade(QUESTION, found.passages, stopped))
    assert [grades[index].score for index in range(3)] == scores


def test_more_passages_than_are_scored_follow_in_their_order(kettles: Library) -> None:
    plain = kettles.explain(QUESTION, 26, rerank=False)[0]
    found = kettles.retriever.retrieve(QUESTION, RunOptions(k=26))
    assert len(found.passages) == 26
    assert [one.id for one in found.passages[20:]] == [hit.passage.id for hit in plain[20:]]


def test_the_builtin_grader_needs_no_evaluator_anywhere(kettles: Library, evaluator: CountingEvaluator) -> None:
    found = kettles.retriever.retrieve(QUESTION, RunOptions(k=3, grader="builtin"))
    assert [one.id for one in found.passages] == [
        one.passage.id for one in kettles.explain(QUESTION, 3, rerank=False)[0]
    ]
    assert (found.scored, evaluator.asked) == (0, [])


def test_a_question_in_a_language_that_it_does_not_read_is_left_alone(
    kettles: Library, evaluator: CountingEvaluator
) -> None:
    assert kettles.retriever.retrieve("누가 주전자를 고쳤습니까?", RunOptions(k=3)).scored == 0
    assert kettles.retriever.retrieve(QUESTION, RunOptions(k=3)).scored == 20


def test_what_the_budget_leaves_out_follows_in_its_order(
    kettles: Library, evaluator: CountingEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranking, "_BUDGET_SECONDS", 0)
    found = kettles.retriever.retrieve(QUESTION, RunOptions(k=3))
    plain = kettles.explain(QUESTION, 3, rerank=False)[0]
    assert [one.id for one in found.passages] == [hit.passage.id for hit in plain]
    assert (found.scored, evaluator.asked) == (1, [1])


def test_a_stop_ends_the_scoring_of_candidates(kettles: Library, evaluator: CountingEvaluator) -> None:
    evaluator.stops = Cancellation()
    with pytest.raises(Stopped):
        kettles.retriever.retrieve(QUESTION, RunOptions(k=3), evaluator.stops)
    assert evaluator.asked == [1, 4]


def test_a_candidate_without_a_score_follows_those_with_one(
    reopen: Callable[..., Library], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranking, "_BUDGET_SECONDS", PATIENCE)
    silent = OnnxEvaluator(write_evaluator(tmp_path / "silent", long="no number"))
    library = reopen(find_evaluator=lambda: silent)
    library.pipeline.add_bytes("long.txt", ("repaired the kettle, " * 100).encode())
    library.pipeline.add_bytes("short.txt", LINES[-1].encode())
    found = library.retriever.retrieve(QUESTION, RunOptions(k=9))
    assert found.passages[0].text == LINES[-1]
    assert 0 < found.scored < len(found.passages)


def test_an_evaluator_that_fails_leaves_what_was_found(kettles: Library, evaluator: CountingEvaluator) -> None:
    evaluator.fails_after = 0
    found = kettles.retriever.retrieve(QUESTION, RunOptions(k=3))
    assert (len(found.passages), found.scored) == (3, 0)
