"""Inputs and outputs of nodes."""

import pytest

from crag.inspection.node_values import describe_node
from crag.inspection.steps import describe_prompt, describe_sentence, describe_strips, describe_verdicts
from crag.types import Turn
from tests.inspection import runs


def names(values):
    return {value.name: value.content for value in values}


@pytest.mark.parametrize(
    ("node", "given", "came"),
    [
        (
            "retrieve",
            {"Question": "Who won?", "Passages to grade": "4", "Embedder": "Nomic"},
            {"Nearest passages": runs.FOUND, "Scored by the evaluator": "20 candidates"},
        ),
        (
            "grade_documents",
            {"Passages": runs.FOUND, "Thresholds": "relevant from 0.59, not relevant below 0.31"},
            {"Verdicts": describe_verdicts(runs.incorrect(), "library")},
        ),
        (
            "decide",
            {"Strictness": "Balanced"},
            {"Decision": "not found in your documents", "Reason": "Best 0.06.", "Web search needed": "yes"},
        ),
        ("transform_query", {"Web query": "Question"}, {"Query": "winner 2024"}),
        (
            "web_search",
            {"Query as written": "winner 2024", "Query as you edited it": "winner of 2024"},
            {"Sent": "winner of 2024", "Sent to": "Tavily", "Results": (runs.RESULT,)},
        ),
        ("refine_knowledge", {"Usable passages": (runs.RESULT,)}, {"Excerpts": describe_strips(runs.incorrect())}),
        (
            "generate",
            {"Model": "Llama", "Prompt": describe_prompt(runs.incorrect())},
            {"Answer": "It did [1].", "Tokens counted by the model server": "700 prompt tokens · 43 answer tokens"},
        ),
        (
            "check_answer",
            {"Answer": "It did [1]."},
            {"Sentences": tuple(map(describe_sentence, runs.incorrect().sentences))},
        ),
    ],
)
def test_a_node_shows_what_it_was_given_and_what_it_gave(node, given, came):
    shown = describe_node(node, runs.incorrect())
    assert given.items() <= names(shown.inputs).items()
    assert came.items() <= names(shown.outputs).items()


def test_the_writer_is_given_the_strips_that_were_kept():
    strips = names(describe_node("generate", runs.correct()).inputs)["Excerpts used"]
    assert [strip.text for strip in strips[0].strips] == ["Kept."]


def test_what_is_not_there_is_not_named():
    shown = describe_node("web_search", runs.waiting())
    assert names(shown.outputs) == {"Not sent yet": "winner 2024"}
    assert names(shown.inputs) == {"Query as written": "winner 2024", "Web": "ask first"}


def test_condensing_is_given_what_was_said_before():
    turns = (Turn("user", "Before?"),)
    assert names(describe_node("condense_question", runs.correct(), turns).inputs)["Conversation so far"] == turns
