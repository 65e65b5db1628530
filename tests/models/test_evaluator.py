"""Evaluators: which folders are refused, and what a score is made from."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading

import onnx
import pytest
from onnx import external_data_helper

from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.errors import BadRequest, ModelFault, Stopped
from crag.models import evaluator
from crag.models.evaluator import OnnxEvaluator
from crag.models.evaluator_weights import InstalledEvaluator
from crag.options import RunOptions
from crag.settings import Settings
from tests.doubles.evaluator import evaluator_files, write_evaluator

QUESTION = "Who built the Halden lighthouse?"
ANSWER = "The Halden lighthouse was built in 1874 by the engineer Clara Moor."
OTHER = "Bread rises because yeast turns sugar into gas."


def score(opened: OnnxEvaluator, texts: list[str], question: str = QUESTION) -> list[float]:
    scores = opened.score(question, texts, Cancellation())
    return [score for score in scores if score is not None]


@pytest.mark.parametrize("options", [{}, {"logits": 2}, {"inputs": ("input_ids", "attention_mask")}])
def test_every_usual_shape_of_a_cross_encoder_scores(tmp_path, options):
    opened = OnnxEvaluator(write_evaluator(tmp_path, **options))
    answer, other = score(opened, [ANSWER, OTHER])
    assert 0 <= other < 0.3 < 0.7 < answer <= 1


def test_the_library_reports_nothing_to_its_maker(tmp_path):
    """What it would send it first writes into the user's folder, as soon as it is imported."""
    import_both = "import crag, onnxruntime, sys; sys.exit('crag' not in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    homes = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", import_both], env=environment | homes, check=True)
    assert list(tmp_path.rglob("*")) == []


def test_scores_depend_neither_on_the_batch_nor_on_the_order(tmp_path):
    texts = [f"{ANSWER} {'Halden lies on an island. ' * number}" for number in range(20)] + [OTHER, ""]
    opened = OnnxEvaluator(write_evaluator(tmp_path))
    alone = [score(opened, [text])[0] for text in texts]
    assert score(OnnxEvaluator(tmp_path), texts) == pytest.approx(alone, abs=1e-6)
    assert score(OnnxEvaluator(tmp_path), texts[::-1]) == pytest.approx(alone[::-1], abs=1e-6)


def test_only_the_end_of_a_long_text_is_not_read(tmp_path):
    opened = OnnxEvaluator(write_evaluator(tmp_path))
    begins, ends = score(opened, [f"{ANSWER} {OTHER * 200}", f"{OTHER * 200} {ANSWER}"])
    assert begins > 0.7 > ends
    assert score(opened, [ANSWER], question=f"{QUESTION} " * 200)[0] > 0.7


def test_no_pair_is_scored_twice(tmp_path):
    opened = OnnxEvaluator(write_evaluator(tmp_path))
    first = score(opened, [ANSWER, OTHER])
    (tmp_path / "model.onnx").unlink()
    stopped = Cancellation()
    stopped.cancel()
    assert opened.score(QUESTION, [OTHER, ANSWER, OTHER], stopped) == [first[1], first[0], first[1]]
    with pytest.raises(Stopped):
        opened.score(QUESTION, ["Another text."], stopped)


def test_a_text_for_which_the_model_gives_no_number_has_no_score(tmp_path):
    opened = OnnxEvaluator(write_evaluator(tmp_path, long="no number"))
    long = f"{ANSWER} {OTHER * 200}"
    for _ in range(2):
        assert [one and round(one) for one in opened.score(QUESTION, [ANSWER, long, OTHER], Cancellation())] == [
            1,
            None,
            0,
        ]


def test_a_stop_ends_the_computation_of_a_batch(tmp_path):
    opened, stop = OnnxEvaluator(write_evaluator(tmp_path, long="endless")), Cancellation()
    threading.Timer(0.1, stop.cancel).start()
    with pytest.raises(Stopped):
        opened.score(QUESTION, [OTHER * 200], stop)


def separate_nothing() -> dict[str, bytes]:
    """The files of an evaluator whose tokenizer marks neither the end of the question nor that of the text."""
    tokenizer = json.loads(evaluator_files()["tokenizer.json"]) | {"post_processor": None}
    return evaluator_files() | {"tokenizer.json": json.dumps(tokenizer).encode()}


def keep_weights_elsewhere() -> dict[str, bytes]:
    """The files of a model whose weights are in a third one."""
    model = onnx.load_from_string(evaluator_files()["model.onnx"])
    weights = next(tensor for tensor in model.graph.initializer if tensor.name == "weights")
    external_data_helper.set_external_data(weights, "weights.bin")
    elsewhere = weights.raw_data
    weights.ClearField("raw_data")
    return evaluator_files() | {"model.onnx": model.SerializeToString(), "weights.bin": elsewhere}


def break_tokenizer() -> dict[str, bytes]:
    """The files of an evaluator whose tokenizer gives up on a long word."""
    tokenizer = json.loads(evaluator_files()["tokenizer.json"])
    pattern = {"Regex": "(a+)+$"}
    tokenizer["pre_tokenizer"] = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    return evaluator_files() | {"tokenizer.json": json.dumps(tokenizer).encode()}


def cut(name: str, share: float) -> dict[str, bytes]:
    body = evaluator_files()[name]
    return evaluator_files() | {name: body[: int(share * len(body))]}


@pytest.mark.parametrize(
    ("files", "code", "words"),
    [
        (dict, "missing", "no file model.onnx"),
        (lambda: {"model.onnx": evaluator_files()["model.onnx"]}, "missing", "no file tokenizer.json"),
        (lambda: cut("model.onnx", 0.5), "damaged", "model.onnx"),
        (lambda: cut("model.onnx", 0), "damaged", "model.onnx"),
        (lambda: cut("tokenizer.json", 0.5), "damaged", "tokenizer.json"),
        (lambda: evaluator_files() | {"model.onnx": b"GGUF" * 100}, "damaged", "model.onnx"),
        (lambda: evaluator_files() | {"tokenizer.json": b"{}"}, "damaged", "tokenizer.json"),
        (lambda: evaluator_files(inputs=("input_ids", "pixels")), "foreign", "its inputs are input_ids, pixels"),
        (lambda: evaluator_files(logits=3), "foreign", "not one score for each pair"),
        (lambda: evaluator_files(scores=(math.nan, math.nan)), "foreign", "its scores are not numbers"),
        (lambda: evaluator_files(scores=(2, 2)), "foreign", "an answer scores no better than an unrelated text"),
        (lambda: evaluator_files(scores=(2, -2)), "foreign", "an answer scores no better than an unrelated text"),
        (separate_nothing, "foreign", "does not separate the question from the text"),
        (keep_weights_elsewhere, "foreign", "some of its weights are not in model.onnx"),
        (lambda: evaluator_files(known_tokens=9_000), "foreign", "cannot read the tokens of this tokenizer"),
    ],
)
def test_files_that_are_no_evaluator_are_refused_in_words(tmp_path, files, code, words, capfd):
    for name, body in files().items():
        (tmp_path / name).write_bytes(body)
    with pytest.raises(ModelFault) as refused:
        OnnxEvaluator(tmp_path)
    assert refused.value.code == code
    assert words in refused.value.message
    assert "CRAG_EVALUATOR" in refused.value.remedy
    assert str(tmp_path) not in str(refused.value)
    assert capfd.readouterr() == ("", ""), "the libraries write nothing of their own"


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_what_is_no_file_is_not_read(tmp_path, name):
    write_evaluator(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(ModelFault, match=f"has no file {name}"):
        OnnxEvaluator(tmp_path)


def test_a_tokenizer_that_panics_is_said_to_be_damaged(tmp_path):
    for name, body in break_tokenizer().items():
        (tmp_path / name).write_bytes(body)
    opened = OnnxEvaluator(tmp_path)
    with pytest.raises(ModelFault, match="is damaged"):
        score(opened, [f"{'a' * 40}!"])


@pytest.mark.parametrize("named", ["~nobody-of-that-name/evaluator", "evaluator\0"])
def test_an_impossible_folder_is_a_fault_like_any_other(tmp_path, named):
    installed = InstalledEvaluator(Settings(home=tmp_path, evaluator=named))
    assert (installed.get(), installed.report().state) == (None, "fault")


def test_files_that_are_too_big_are_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setitem(evaluator._MAX_BYTES, "model.onnx", 1000)
    with pytest.raises(ModelFault, match="larger than") as refused:
        OnnxEvaluator(write_evaluator(tmp_path))
    assert refused.value.code == "too_large"


def test_the_name_says_which_files_score(tmp_path):
    names = [OnnxEvaluator(write_evaluator(tmp_path / "mine", logits=logits)).fingerprint for logits in (1, 2, 1)]
    assert names[0] == names[2] != names[1]
    assert names[0].startswith("mine@")


def test_a_folder_is_opened_again_when_its_files_change(tmp_path):
    folder = tmp_path / "evaluator"
    application = Application(Settings(home=tmp_path / "home", evaluator=str(folder)))
    options = RunOptions(model="builtin", grader="evaluator")
    try:
        with pytest.raises(ModelFault, match="has no file"):
            application.grading_setup(options)
        assert application.grading_setup(RunOptions(model="builtin")).grader.startswith("builtin:")
        write_evaluator(folder)
        assert application.grading_setup(options).grader.startswith("evaluator:evaluator@")
        model = folder / "model.onnx"
        before = model.stat()
        model.write_bytes(bytes(before.st_size))
        os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
        with pytest.raises(ModelFault, match="is damaged"):
            application.grading_setup(options)
    finally:
        application.close()


def test_without_an_evaluator_the_grader_says_so(tmp_path):
    application = Application(Settings(home=tmp_path))
    try:
        with pytest.raises(BadRequest, match="Download one in Settings"):
            application.grading_setup(RunOptions(model="builtin", grader="evaluator"))
    finally:
        application.close()
