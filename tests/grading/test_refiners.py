"""Strips: how passages are cut, and the refiners that choose strips with and without a model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.grading.refiners import (
    MAX_STRIPS_PER_PASSAGE,
    BuiltinRefiner,
    ExplainedRefiner,
    ListwiseRefiner,
    ScoreRefiner,
    cut_strips,
    read_strip_numbers,
    select_strips,
)
from crag.protocols import ChatModel, Embedder, Refiner
from crag.text.language import split_sentences
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Strip
from tests.doubles.scripted_model import ScriptedModel
from tests.grading.passages import ENGLISH, passages

LONG = " ".join(
    f"Sentence number {n} tells something about the harbour and its {n} boats that leave at dawn." for n in range(1, 13)
)
TABLE = """There are three kinds of knots.

| Knot | Use |
|---|---|
| Bowline | rescue |
| Reef | sails |
| Sheet bend | ropes |"""

QUESTION = "Who built the Halden lighthouse?"
MIXED = " ".join((ENGLISH[2], ENGLISH[0], ENGLISH[3], ENGLISH[4]))
OTHER = " ".join(ENGLISH[2:5])
REFINERS: list[Callable[[ChatModel], Refiner]] = [ScoreRefiner, ListwiseRefiner]


def test_one_or_two_sentences_are_one_strip() -> None:
    assert cut_strips("Only this. And that.") == ["Only this. And that."]
    assert cut_strips("") == []


def test_longer_passages_are_cut_into_up_to_three_sentences() -> None:
    strips = cut_strips(LONG)
    assert all(1 <= len(split_sentences(strip)) <= 3 for strip in strips)
    assert " ".join(strips) == LONG


def test_one_long_sentence_is_not_broken() -> None:
    sentence = "This goes on " * 100 + "and ends."
    assert cut_strips(f"First here. Second here. {sentence}")[-1] == sentence


def test_a_heading_stays_with_its_text_and_a_table_in_one_piece() -> None:
    assert cut_strips("# Knots\n" + LONG)[0].startswith("# Knots\nSentence number 1")
    assert cut_strips("Some words before. More words.\n" + TABLE)[-1].endswith("| Sheet bend | ropes |")


def refined(embedder: Embedder, question: str, text: str) -> tuple[Strip, ...]:
    refiner = BuiltinRefiner(embedder, CountedTermStatistics(ENGLISH))
    ((_, strips),) = refiner.refine(question, passages((text,)), Cancellation())
    return strips


def test_the_answering_strip_is_kept_and_the_order_stays(embedder: Embedder) -> None:
    text = " ".join((ENGLISH[2], ENGLISH[0], ENGLISH[3], ENGLISH[4]))
    strips = refined(embedder, "Who built the Halden lighthouse?", text)
    assert " ".join(strip.text for strip in strips) == text
    assert any("Clara Moor" in strip.text for strip in strips if strip.kept)
    assert any("strings" in strip.text for strip in strips if not strip.kept)


def test_at_most_five_strips_and_at_least_one_are_kept(embedder: Embedder) -> None:
    crowd = " ".join(["The Halden lighthouse was built by Clara Moor in 1874."] * 30)
    assert (
        sum(strip.kept for strip in refined(embedder, "Who built the Halden lighthouse?", crowd))
        == MAX_STRIPS_PER_PASSAGE
    )
    assert sum(strip.kept for strip in refined(embedder, "Who won the Orbital Cup?", LONG)) >= 1


def test_strips_without_a_score_count_against_the_limit_of_their_passage() -> None:
    """The limit for all passages leaves such strips alone."""
    assert [strip.kept for strip in select_strips("abcd", [None, 0.9, 0.2, None], limit=2)] == [
        True,
        True,
        False,
        False,
    ]


def test_a_table_is_kept_with_what_leads_into_it(embedder: Embedder) -> None:
    strips = refined(embedder, "What kinds of knots are there?", f"{ENGLISH[2]} {ENGLISH[4]}\n{TABLE}")
    assert any("Bowline" in strip.text for strip in strips if strip.kept)


def test_a_row_is_judged_with_the_names_of_its_columns(embedder: Embedder) -> None:
    rows = "Wash | Warmth | Duration\nW1 | 60 °C | 94 min\nWool | 30 °C | 41 min\nSilk | 20 °C | 28 min"
    text = f"{rows}\n\nFilling takes about 3 minutes. The door stays locked for 2 minutes after the end."
    kept = [strip.text for strip in refined(embedder, "How long does the wool wash take?", text) if strip.kept]
    assert any("41 min" in text for text in kept)


@pytest.mark.parametrize("text", ["", "{}", "```\n{0.__class__}\n```", "|" * 500, "\n".join(["- x"] * 300)])
def test_hostile_text_is_only_cut(embedder: Embedder, text: str) -> None:
    strips = refined(embedder, "Who built the Halden lighthouse?", text)
    assert sum(strip.kept for strip in strips) <= MAX_STRIPS_PER_PASSAGE


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ('{"keep": [1, 3]}', {1, 3}),
        ('<think>[2]</think> {"keep": [3, 99, 0, -1]}', {3}),
        ('{"keep": []}', set()),
        ('{"keep": [99]}', None),
        ('{"keep": "all"}', None),
        ('{"keep": [true, "2"]}', None),
        ("keep them", None),
    ],
)
def test_only_strips_that_exist_can_be_kept(reply: str, numbers: set[int] | None) -> None:
    assert read_strip_numbers(reply, 4) == numbers


def test_the_model_chooses_by_number() -> None:
    model = ScriptedModel(lambda _: '{"keep": [2]}')
    ((_, strips),) = ExplainedRefiner(model).refine("q?", passages((LONG,)), Cancellation())
    assert [strip.kept for strip in strips] == [False, True, *[False] * (len(strips) - 2)]
    assert "[2] Sentence number 4" in model.asked[0][-1].text


def busy(_: str) -> str:
    raise ModelFault("busy", "Busy.", fault="passing")


@pytest.mark.parametrize("model", [ScriptedModel(lambda _: "all of them"), ScriptedModel(busy)])
def test_everything_is_kept_when_the_model_does_not_choose(model: ScriptedModel) -> None:
    ((_, strips),) = ExplainedRefiner(model).refine("q?", passages((LONG,)), Cancellation())
    assert all(strip.kept for strip in strips)


def test_a_heading_without_a_mark_begins_a_strip() -> None:
    strips = cut_strips(f"{LONG}\n\nSelf-Reflection\n\nIt matters. It helps.")
    assert strips[-1] == "Self-Reflection\nIt matters. It helps."


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
    assert sum(strip.kept for strip in refine(refiner(ScriptedModel(judge)), crowd)[0]) == MAX_STRIPS_PER_PASSAGE


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
    assert all(strip.kept for strip in strips[:MAX_STRIPS_PER_PASSAGE])


@pytest.mark.parametrize("refiner", REFINERS)
def test_a_fault_that_the_person_must_mend_is_told(refiner: Callable[[ChatModel], Refiner]) -> None:
    def missing(_: str) -> str:
        raise ModelFault("model_missing", "There is no such model.")

    with pytest.raises(ModelFault):
        refine(refiner(ScriptedModel(missing)), MIXED)


def test_a_model_that_keeps_none_leaves_the_nearest_strip() -> None:
    strips = refine(ExplainedRefiner(ScriptedModel(lambda _: '{"keep": []}')), MIXED)[0]
    assert [strip.kept for strip in strips] == ["lighthouse was built" in strip.text for strip in strips]
