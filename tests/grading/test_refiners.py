from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.grading.refiners import MAX_KEPT_STRIPS, BuiltinRefiner, ExplainedRefiner, cut_strips, read_strip_numbers
from crag.protocols import Embedder
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


def refine(embedder: Embedder, question: str, text: str) -> tuple[Strip, ...]:
    refiner = BuiltinRefiner(embedder, CountedTermStatistics(ENGLISH))
    ((_, strips),) = refiner.refine(question, passages((text,)), Cancellation())
    return strips


def test_the_answering_strip_is_kept_and_the_order_stays(embedder: Embedder) -> None:
    text = " ".join((ENGLISH[2], ENGLISH[0], ENGLISH[3], ENGLISH[4]))
    strips = refine(embedder, "Who built the Halden lighthouse?", text)
    assert " ".join(strip.text for strip in strips) == text
    assert any("Clara Moor" in strip.text for strip in strips if strip.kept)
    assert any("strings" in strip.text for strip in strips if not strip.kept)


def test_at_most_five_strips_and_at_least_one_are_kept(embedder: Embedder) -> None:
    crowd = " ".join(["The Halden lighthouse was built by Clara Moor in 1874."] * 30)
    assert sum(strip.kept for strip in refine(embedder, "Who built the Halden lighthouse?", crowd)) == MAX_KEPT_STRIPS
    assert sum(strip.kept for strip in refine(embedder, "Who won the Orbital Cup?", LONG)) >= 1


def test_a_table_is_kept_with_what_leads_into_it(embedder: Embedder) -> None:
    strips = refine(embedder, "What kinds of knots are there?", f"{ENGLISH[2]} {ENGLISH[4]}\n{TABLE}")
    assert any("Bowline" in strip.text for strip in strips if strip.kept)


@pytest.mark.parametrize("text", ["", "{}", "```\n{0.__class__}\n```", "|" * 500, "\n".join(["- x"] * 300)])
def test_hostile_text_is_only_cut(embedder: Embedder, text: str) -> None:
    strips = refine(embedder, "Who built the Halden lighthouse?", text)
    assert sum(strip.kept for strip in strips) <= MAX_KEPT_STRIPS


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
