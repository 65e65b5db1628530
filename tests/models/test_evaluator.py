"""Evaluators: which folders are refused, and what a score is made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.errors import BadRequest, ModelFault, Stopped
from crag.models import evaluator
from crag.models.evaluator import OnnxEvaluator
from crag.options import RunOptions
from crag.settings import Settings
from tests.doubles.evaluator import evaluator_files, write_evaluator

QUESTION = "Who built the Halden lighthouse?"
ANSWER = "The Halden lighthouse was built in 1874 by the engineer Clara Moor."
OTHER = "Bread rises because yeast turns sugar into gas."


def score(opened: OnnxEvaluator, texts: list[str], question: str = QUESTION) -> list[float]:
    return opened.score(question, texts, Cancellation())


@pytest.mark.parametrize("options", [{}, {"logits": 2}, {"inputs": ("input_ids", "attention_mask")}])
def test_every_usual_shape_of_a_cross_encoder_scores(tmp_path: Path, options: dict[str, object]) -> None:
    opened = OnnxEvaluator(write_evaluator(tmp_path, **options))
    answer, other = score(opened, [ANSWER, OTHER])
    assert 0 <= other < 0.3 < 0.7 < answer <= 1


def test_scores_depend_neither_on_the_batch_nor_on_the_order(tmp_path: Path) -> None:
    texts = [f"{ANSWER} {'Halden lies on an island. ' * number}" for number in range(20)] + [OTHER, ""]
    alone = [score(OnnxEvaluator(write_evaluator(tmp_path)), [text])[0] for text in texts]
    assert score(OnnxEvaluator(tmp_path), texts) == pytest.approx(alone, abs=1e-6)
    assert score(OnnxEvaluator(tmp_path), texts[::-1]) == pytest.approx(alone[::-1], abs=1e-6)


def test_only_the_end_of_a_long_text_is_not_read(tmp_path: Path) -> None:
    opened = OnnxEvaluator(write_evaluator(tmp_path))
    begins, ends = score(opened, [f"{ANSWER} {OTHER * 200}", f"{OTHER * 200} {ANSWER}"])
    assert begins > 0.7 > ends
    assert score(opened, [ANSWER], question=f"{QUESTION} " * 200)[0] > 0.7


def test_no_pair_is_scored_twice(tmp_path: Path) -> None:
    opened = OnnxEvaluator(write_evaluator(tmp_path))
    first = score(opened, [ANSWER, OTHER])
    (tmp_path / "model.onnx").unlink()
    stopped = Cancellation()
    stopped.cancel()
    assert opened.score(QUESTION, [OTHER, ANSWER, OTHER], stopped) == [first[1], first[0], first[1]]
    with pytest.raises(Stopped):
        opened.score(QUESTION, ["Another text."], stopped)


def cut(name: str, share: float) -> dict[str, bytes]:
    body = evaluator_files()[name]
    return evaluator_files() | {name: body[: int(share * len(body))]}


@pytest.mark.parametrize(
    ("files", "code", "words"),
    [
        ({}, "missing", "no file model.onnx"),
        ({"model.onnx": evaluator_files()["model.onnx"]}, "missing", "no file tokenizer.json"),
        (cut("model.onnx", 0.5), "damaged", "model.onnx"),
        (cut("model.onnx", 0), "damaged", "model.onnx"),
        (cut("tokenizer.json", 0.5), "damaged", "tokenizer.json"),
        (evaluator_files() | {"model.onnx": b"GGUF" * 100}, "damaged", "model.onnx"),
        (evaluator_files() | {"tokenizer.json": b"{}"}, "damaged", "tokenizer.json"),
        (evaluator_files(inputs=("input_ids", "pixels")), "foreign", "its inputs are input_ids, pixels"),
        (evaluator_files(logits=3), "foreign", "not one score for each pair"),
        (evaluator_files(known_tokens=9_000), "foreign", "cannot read the tokens of this tokenizer"),
    ],
)
def test_files_that_are_no_evaluator_are_refused_in_words(
    tmp_path: Path, files: dict[str, bytes], code: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, body in files.items():
        (tmp_path / name).write_bytes(body)
    with pytest.raises(ModelFault) as refused:
        OnnxEvaluator(tmp_path)
    assert refused.value.code == code
    assert words in refused.value.message
    assert "CRAG_EVALUATOR" in refused.value.remedy
    assert str(tmp_path) not in str(refused.value)
    assert capfd.readouterr() == ("", ""), "the libraries write nothing of their own"


def test_files_that_are_too_big_are_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(evaluator._MAX_BYTES, "model.onnx", 1000)
    with pytest.raises(ModelFault, match="larger than") as refused:
        OnnxEvaluator(write_evaluator(tmp_path))
    assert refused.value.code == "too_large"


def test_the_name_says_which_files_score(tmp_path: Path) -> None:
    names = [OnnxEvaluator(write_evaluator(tmp_path / "mine", logits=logits)).fingerprint for logits in (1, 2, 1)]
    assert names[0] == names[2] != names[1]
    assert names[0].startswith("mine@")


def test_a_folder_is_opened_again_when_its_files_change(tmp_path: Path) -> None:
    folder = tmp_path / "evaluator"
    application = Application(Settings(home=tmp_path / "home", evaluator=str(folder)))
    options = RunOptions(model="builtin", grader="evaluator")
    try:
        with pytest.raises(ModelFault, match="has no file"):
            application.grading_setup(options)
        assert application.grading_setup(RunOptions(model="builtin")).grader.startswith("builtin:")
        write_evaluator(folder)
        assert application.grading_setup(options).grader.startswith("evaluator:evaluator@")
        (folder / "model.onnx").write_bytes(b"damaged")
        with pytest.raises(ModelFault, match="is damaged"):
            application.grading_setup(options)
    finally:
        application.close()


def test_without_an_evaluator_the_grader_says_so(tmp_path: Path) -> None:
    application = Application(Settings(home=tmp_path))
    try:
        with pytest.raises(BadRequest, match="Download one in Settings"):
            application.grading_setup(RunOptions(model="builtin", grader="evaluator"))
    finally:
        application.close()
