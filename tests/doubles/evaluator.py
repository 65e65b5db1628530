"""A tiny evaluator whose score is real: the share of the question's words that are in the text.

The model is a graph without learned weights, and the tokenizer is that in WordLlama's wheel, made smaller.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from crag.models.evaluator import MODEL_FILE
from crag.models.evaluator_weights import KNOWN_EVALUATORS, WeightsFile
from crag.models.token_counts import find_llama_tokenizer
from tests.doubles.served_file import ServedFile
from tests.doubles.web import WebServer

_END = 2  # id of </s>, which follows the question and the text
_COMMON = "the a an of in on at to is are was were did do does has have who what when where which how and ? . , : it"
_TOKENS = 32_000
_SINGLE_SIGNS = 29_871  # the first id of the tokens that are one sign


@cache
def evaluator_files(
    logits: int = 1,
    known_tokens: int = _TOKENS,
    inputs: tuple[str, ...] = (),
    scores: tuple[float, float] = (-4.05, 4.95),
    long: Literal["read", "no number", "endless"] = "read",
) -> dict[str, bytes]:
    """Both files by name.

    `logits` is the width of the output, `inputs` are named in place of the usual ones, `scores` are the logits of a
    text without and with all words of the question. `long` says what is made of pairs above 300 tokens.
    """
    tokenizer = Tokenizer.from_str(_read_small_tokenizer())
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 1), ("</s>", _END)]
    )
    weights = np.ones(known_tokens, dtype=np.float32)
    unimportant = [0, 1, _END, *(tokenizer.token_to_id(f"▁{word}") for word in f"{_COMMON} {_COMMON.title()}".split())]
    unimportant += [tokenizer.token_to_id(sign) for sign in "▁?.,:"]
    weights[[number for number in unimportant if number is not None and number < known_tokens]] = 0
    model = _build_model(weights, logits, scores, long, inputs or ("input_ids", "attention_mask", "token_type_ids"))
    return {"model.onnx": model, "tokenizer.json": tokenizer.to_str().encode()}


def _read_small_tokenizer() -> str:
    """WordLlama's, without the rarer tokens of several letters: it is read in a quarter of the time."""
    described = json.loads(find_llama_tokenizer().read_text(encoding="utf-8"))
    model = described["model"]
    model["vocab"] = {token: number for token, number in model["vocab"].items() if not 8_000 <= number < _SINGLE_SIGNS}
    merges = (pair.split(" ") for pair in model["merges"])
    model["merges"] = [pair for pair in merges if {*pair, "".join(pair)} <= model["vocab"].keys()]
    return json.dumps(described)


def write_evaluator(folder: Path, **options: Any) -> Path:
    """Write both files into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in evaluator_files(**options).items():
        (folder / name).write_bytes(body)
    return folder


def offer_evaluators(server: WebServer, patch: pytest.MonkeyPatch) -> dict[str, ServedFile]:
    """Serve tiny evaluators in place of the known ones; returns the file of each model by the evaluator's name."""
    served = {}
    for logits, (name, known) in enumerate(KNOWN_EVALUATORS.items(), start=1):
        files = {}
        for own_name, body in evaluator_files(logits=logits).items():
            path = known.files[own_name].path
            file = server.scripts[f"/{known.repository}/{path}"] = ServedFile(body)
            files[own_name] = WeightsFile(path, len(body), hashlib.sha256(body).hexdigest())
            if own_name == MODEL_FILE:
                served[name] = file
        patch.setitem(KNOWN_EVALUATORS, name, replace(known, files=dict(sorted(files.items(), reverse=True))))
    return served


def _build_model(
    weights: np.ndarray, logits: int, scores: tuple[float, float], long: str, inputs: tuple[str, ...]
) -> bytes:
    ids = inputs[0]
    nodes = [
        # the question is what stands before the first </s>
        helper.make_node("Equal", [ids, "end"], ["is_end"]),
        helper.make_node("Cast", ["is_end"], ["ends"], to=TensorProto.INT32),
        helper.make_node("CumSum", ["ends", "axis"], ["passed"]),
        helper.make_node("Equal", ["passed", "none"], ["in_question"]),
        helper.make_node("Equal", ["passed", "one"], ["in_text"]),
        helper.make_node("Gather", ["weights", ids], ["weight"]),
        helper.make_node("Cast", ["in_question"], ["asked"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["weight", "asked"], ["asked_weight"]),
        # which tokens of the question are in the text
        helper.make_node("Unsqueeze", [ids, "two"], ["rows"]),
        helper.make_node("Unsqueeze", [ids, "axis"], ["columns"]),
        helper.make_node("Equal", ["rows", "columns"], ["same"]),
        helper.make_node("Unsqueeze", ["in_text", "axis"], ["text_columns"]),
        helper.make_node("And", ["same", "text_columns"], ["same_in_text"]),
        helper.make_node("Cast", ["same_in_text"], ["found"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["found", "two"], ["held"], keepdims=0),
        helper.make_node("Mul", ["asked_weight", "held"], ["held_weight"]),
        helper.make_node("ReduceSum", ["held_weight", "axis"], ["shared"], keepdims=1),
        helper.make_node("ReduceSum", ["asked_weight", "axis"], ["total"], keepdims=1),
        helper.make_node("Add", ["total", "little"], ["some"]),
        helper.make_node("Div", ["shared", "some"], ["share"]),
        helper.make_node("Mul", ["share", "steep"], ["above"]),
        helper.make_node("Add", ["above", "least"], ["plain"]),
        # what is made of a long pair
        helper.make_node("Shape", [ids], ["length"], start=1),
        helper.make_node("Greater", ["length", "most"], ["is_long"]),
        helper.make_node("Where", ["is_long", "turns", "axis"], ["rounds"]),
        helper.make_node("Loop", ["rounds", "", "plain"], ["after"], body=_copy_unchanged()),
        helper.make_node("Where", ["is_long", "after_long", "zero"], ["change"]),
        helper.make_node("Add", ["after", "change"], ["logit"]),
        helper.make_node("Concat", [*["zero_logit"] * (logits - 1), "logit"], ["logits"], axis=1),
        helper.make_node("Sub", ["logit", "logit"], ["zero_logit"]),
    ]
    nodes.insert(-2, nodes.pop())
    constants = {
        "end": np.array(_END), "axis": np.array([1]), "two": np.array([2]), "weights": weights,
        "none": np.array(0, dtype=np.int32), "one": np.array(1, dtype=np.int32),
        "little": np.float32(1e-6), "least": np.float32(scores[0]), "steep": np.float32(scores[1] - scores[0]),
        "most": np.array([300]), "turns": np.array([2**60 if long == "endless" else 1]), "zero": np.float32(0),
        "after_long": np.float32("nan" if long == "no number" else 0),
    }  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "overlap",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", logits])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return bytes(made.SerializeToString())


def _copy_unchanged() -> onnx.GraphProto:
    """The body of a loop that changes nothing."""
    nodes = [helper.make_node("Identity", [f"{name}_in"], [f"{name}_out"]) for name in ("goes_on", "score")]
    number, goes_on = TensorProto.INT64, TensorProto.BOOL
    given = [("number", number), ("goes_on_in", goes_on), ("score_in", TensorProto.FLOAT)]
    made = [("goes_on_out", goes_on), ("score_out", TensorProto.FLOAT)]
    return helper.make_graph(
        nodes,
        "copy",
        [helper.make_tensor_value_info(name, kind, None if kind == TensorProto.FLOAT else []) for name, kind in given],
        [helper.make_tensor_value_info(name, kind, None if kind == TensorProto.FLOAT else []) for name, kind in made],
    )
