"""The trace that the events of a run add up to."""

from typing import get_args

import pytest

from crag.events import NODES, AnswerWritten, RunEnded, ThoughtWritten, TokensWritten
from crag.runs.trace import Trace
from crag.types import NodeName, Usage


def test_thoughts_stay_apart_from_the_answer_and_take_their_time():
    trace = Trace().apply_all(
        [ThoughtWritten("First ", 1.5), ThoughtWritten("this.", 7.5), TokensWritten("Lyon "), TokensWritten("it is.")]
    )
    assert (trace.thought, trace.text) == ("First this.", "Lyon it is.")
    assert trace.thought_until - trace.thought_from == 6.0


@pytest.mark.parametrize(
    ("state", "finish", "unfinished"),
    [
        ("done", "stop", False),
        ("done", "length", True),
        ("done", "incomplete", True),
        ("done", "repetition", True),
        ("stopped", None, True),
        ("failed", None, True),
        ("interrupted", None, True),
    ],
)
def test_what_can_be_gone_on_with(state, finish, unfinished):
    whole = AnswerWritten("Lyon.", (), "documents", Usage(finish_reason=finish))
    told = [TokensWritten("Lyon."), *([whole] if state == "done" else []), RunEnded(state, 2.0)]
    assert Trace().apply_all(told).unfinished is unfinished


def test_a_refusal_is_whole_and_nothing_cannot_be_gone_on_with():
    refused = AnswerWritten("Nothing answers.", (), "not_answered", Usage(finish_reason="length"))
    assert not Trace().apply_all([refused, RunEnded("done", 1.0)]).unfinished
    assert not Trace().apply_all([RunEnded("failed", 1.0)]).unfinished


def test_every_node_is_in_the_table_of_nodes():
    assert tuple(NODES) == get_args(NodeName)
