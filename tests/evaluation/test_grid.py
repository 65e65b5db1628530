"""A grid: its values as users write them, the variants it makes, and the best of them."""

from dataclasses import replace

import pytest

from crag.errors import BadRequest
from crag.evaluation.grid import (
    MAX_VARIANTS,
    SUGGESTED_AXES,
    GridAxes,
    find_axis_option,
    find_best_variant,
    make_variants,
    parse_axes,
    rank_variants,
)
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult, Example, ScoredAnswer
from crag.options import RunOptions, apply_changes


def test_values_are_read_as_settings_are():
    axes = parse_axes(["policy=paper, any", "k=4,8", "refine=on,off", "model=builtin,ollama:llama3.1:8b"])
    assert axes.values == {
        "policy": ("paper", "any"),
        "k": (4, 8),
        "refine": (True, False),
        "model": ("builtin", "ollama:llama3.1:8b"),
    }
    assert axes.combinations == 16


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["k"], "names no values"),
        (["=4"], "names no values"),
        (["k="], "has no value to try"),
        (["k=4,,8"], "has no value to try"),
        (["k=4,4"], "twice"),
        (["k=4", "k=8"], "named twice"),
        (["k=99"], "from 1 to 20"),
        (["k=many"], "cannot be “many”"),
        (["policy=mild"], "Choose one of paper"),
        (["refine=yes"], "on or off"),
        (["colour=red"], "nothing to try under “colour”"),
        (["answering.keep_alive=1,2"], "nothing to try"),
        (["passage_size=5"], "from 50 to 2,000"),
        (["k=1,2,3,4,5,6,7,8,9,10", "web_results=1,2,3,4,5,6,7"], "70 combinations; at most 64"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_words(written, said):
    with pytest.raises(BadRequest) as refused:
        parse_axes(written)
    assert said in str(refused.value)
    assert refused.value.remedy


def test_what_a_page_chooses_is_checked_alike():
    with pytest.raises(BadRequest, match="twice"):
        GridAxes({"k": (4, 4)})
    with pytest.raises(BadRequest, match=r"Values such as .*policy.* can be tried"):
        find_axis_option("preset")
    for axis in map(find_axis_option, SUGGESTED_AXES):
        assert all(axis.is_valid(value) for value in axis.offered)
    assert GridAxes({"policy": ("paper", "any", "none", "off"), "k": (2, 4, 8)}).combinations == 12
    assert MAX_VARIANTS == 64


def test_variants_are_all_combinations_named_by_what_differs():
    base = RunOptions(model="builtin", web="ask", preset="paper")
    axes = parse_axes(["policy=paper,any", "k=4,8", "refine=off", "passage_size=250,500"])
    made = make_variants(base, axes)
    assert [variant.name for variant in made][:3] == [
        "balanced grading · 4 passages · passage size 250 tokens",
        "balanced grading · 4 passages · passage size 500 tokens",
        "balanced grading · 8 passages · passage size 250 tokens",
    ]
    assert len({variant.name for variant in made}) == len(made) == 8
    assert made[-1].options == apply_changes(
        base, {"policy": "any", "k": 8, "refine": False, "passage_size": 500, "preset": ""}
    )
    assert make_variants(base, axes) == made


def test_models_and_switches_have_the_names_of_people():
    axes = parse_axes(["model=builtin,ollama:llama3.1:8b", "refine=on,off"])
    assert [variant.name for variant in make_variants(RunOptions(), axes)][1:3] == [
        "model Built-in engine · excerpts off",
        "model Llama 3.1 8B · excerpts on",
    ]
    assert [variant.name for variant in make_variants(RunOptions(), parse_axes(["grader=builtin"]))] == [
        "grader Built-in"
    ]
    assert len(make_variants(RunOptions(), parse_axes([]))) == 1


def evaluation(names: str) -> Evaluation:
    made = tuple(replace(make_variants(RunOptions(), parse_axes([]))[0], name=name) for name in names)
    return Evaluation("e", "", "grid", "", "", "", 20, made, 1, "", 1, "", "done", "", 0.0, 1.0, 1.0)


def answers(variant: int, right: int, seconds: float = 1.0, of: int = 20) -> list[EvaluationResult]:
    def scored(is_right: bool) -> ScoredAnswer:
        said = {"answer_right": float(is_right), "contained": float(is_right)}
        return ScoredAnswer(text_score=float(is_right), outcome="documents", scores=said, seconds=seconds)

    examples = [Example(str(n), f"Q{n}?", references=("a",)) for n in range(of)]
    return [
        EvaluationResult(variant, n, 1, example, f"{variant}-{n}", "done", scored=scored(n < right))
        for n, example in enumerate(examples)
    ]


def test_the_best_variant_is_most_often_right_then_fastest():
    results = [*answers(0, 2), *answers(1, 19, seconds=3.0), *answers(2, 19, seconds=1.0)]
    assert [one.variant.name for one in rank_variants(evaluation("abc"), results, Cutoffs())] == ["c", "b", "a"]
    found = find_best_variant(evaluation("abc"), results, Cutoffs())
    assert found
    assert found.variant.name == "c"
    assert not found.is_clear
    assert [rival.name for rival in found.rivals] == ["b"]


def test_only_a_clear_winner_is_called_one():
    clear = find_best_variant(evaluation("ab"), [*answers(0, 2), *answers(1, 19)], Cutoffs())
    close = find_best_variant(evaluation("ab"), [*answers(0, 18), *answers(1, 19)], Cutoffs())
    assert clear
    assert close
    assert (clear.variant.name, clear.is_clear) == ("b", True)
    assert (close.variant.name, close.is_clear) == ("b", False)


def test_without_a_known_answer_nothing_is_best():
    unknown = [
        replace(one, example=Example(one.example.key, "?"), scored=ScoredAnswer(scores={"seconds": 1.0}))
        for one in answers(0, 3)
    ]
    assert find_best_variant(evaluation("ab"), unknown, Cutoffs()) is None
    assert find_best_variant(evaluation("ab"), [], Cutoffs()) is None
