"""Refiners that ask a model to score strips: one pool of tokens, or one call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.grading.refiners import MAX_KEPT_STRIPS, ExplainedRefiner, ListwiseRefiner, ScoreRefiner, cut_strips
from crag.protocols import ChatModel, Refiner
from crag.types import Strip
from tests.doubles.scripted_model import ScriptedModel
from tests.grading.passages import ENGLISH, passages

QUESTION = "Who built the Halden lighthouse?"
MIXED = " ".join((ENGLISH[2], ENGLISH[0], ENGLISH[3], ENGLISH[4]))
OTHER = " ".join(ENGLISH[2:5])
REFINERS: list[Callable[[ChatModel], Refiner]] = [ScoreRefiner, ListwiseRefiner]


def judge(prompt: str) -> str:
    """Yes, or nine points, for each text that names the builder."""
    blocks = re.findall(r"<(passage[\w-]*)>(.*?)</\1>", prompt, re.DOTALL)
    found = ["Clara Moor" in text for _, text in blocks]
    if "points" in prompt:
        return json.dumps({str(number): 9 * named for number, named in enumerate(found, start=1)})
    return "Yes" if found[0] else "No"


def refine(refiner: Refiner, *texts: str) -> dict[int, tuple[Strip, ...]]:
    return dict(refiner.refine(QUESTION, passages(texts), Cancellation()))


@pytest.mark.parametrize("refiner", REFINERS)
def test_the_strips_that_answer_are_kept_in_document_order(refiner: Callable[[ChatModel], Refiner]) -> None:
    strips = refine(refiner(ScriptedModel(judge)), MIXED)[0]
    assert [strip.text for strip in strips] == cut_strips(MIXED)
    assert [strip.kept for strip in strips] == ["Clara Moor" in strip.text for strip in strips]
    assert {strip.score for strip in strips} == {0.0, 1.0}


@pytest.mark.parametrize("refiner", REFINERS)
def test_a_passage_keeps_its_best_strip_whatever_it_scores(refiner: Callable[[ChatModel], Refiner]) -> None:
    assert sum(strip.kept for strip in refine(refiner(ScriptedModel(judge)), OTHER)[0]) == 1


@pytest.mark.parametrize("refiner", REFINERS)
def test_a_passage_of_one_strip_costs_nothing(refiner: Callable[[ChatModel], Refiner]) -> None:
    model = ScriptedModel(judge)
    assert refine(refiner(model), "Only this. And that.") == {0: (Strip("Only this. And that.", None, True),)}
    assert refine(refiner(model)) == {}
    assert model.asked == []


@pytest.mark.parametrize("refiner", REFINERS)
def test_at_most_five_strips_of_a_passage_are_kept(refiner: Callable[[ChatModel], Refiner]) -> None:
    crowd = " ".join(["The Halden lighthouse was built by Clara Moor, an engineer, in 1874."] * 30)
    assert sum(strip.kept for strip in refine(refiner(ScriptedModel(judge)), crowd)[0]) == MAX_KEPT_STRIPS


@pytest.mark.parametrize("refiner", REFINERS)
def test_strips_of_several_passages_find_their_way_back(refiner: Callable[[ChatModel], Refiner]) -> None:
    model = ScriptedModel(judge)
    found = refine(refiner(model), OTHER, "Only this.", MIXED)
    assert sorted(found) == [0, 1, 2]
    assert [strip.text for strip in found[2] if strip.kept] == [
        text for text in cut_strips(MIXED) if "Clara Moor" in text
    ]
    scored = len(cut_strips(OTHER)) + len(cut_strips(MIXED))
    assert len(model.asked) == (scored if refiner is ScoreRefiner else 1)


@pytest.mark.parametrize("refiner", REFINERS)
def test_a_fault_that_may_pass_strikes_nothing_out(refiner: Callable[[ChatModel], Refiner]) -> None:
    def busy(_: str) -> str:
        raise ModelFault("busy", "Busy.", fault="passing")

    strips = refine(refiner(ScriptedModel(busy)), MIXED)[0]
    assert all(strip.kept for strip in strips[:MAX_KEPT_STRIPS])


@pytest.mark.parametrize("refiner", REFINERS)
def test_a_fault_that_the_person_must_mend_is_told(refiner: Callable[[ChatModel], Refiner]) -> None:
    def missing(_: str) -> str:
        raise ModelFault("model_missing", "There is no such model.")

    with pytest.raises(ModelFault):
        refine(refiner(ScriptedModel(missing)), MIXED)


def test_a_model_that_keeps_none_leaves_the_nearest_strip() -> None:
    strips = refine(ExplainedRefiner(ScriptedModel(lambda _: '{"keep": []}')), MIXED)[0]
    assert [strip.kept for strip in strips] == ["lighthouse was built" in strip.text for strip in strips]
