"""Texts that repeat one thing thousands of times are read as quickly as others."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from crag.evaluation.datasets import choose_identifying_phrase
from crag.graph.statements import contradicts
from crag.tables.question_kinds import is_plain_calculation
from crag.text.opening_hours import asks_opening, tells_other_opening
from crag.text.routes import drop_place
from tests.doubles.engine import passage

LENGTH = 12_000


def repeat(text: str) -> str:
    return (text * LENGTH)[:LENGTH]


@pytest.mark.parametrize(
    "read",
    [
        lambda: contradicts(repeat("more than 5 "), repeat("less than 5 ")),
        lambda: drop_place(repeat(" "), "letter"),
        lambda: drop_place(repeat("("), "letter"),
        lambda: tells_other_opening(repeat("when is "), "It was opened on 5 May."),
        lambda: tells_other_opening(repeat("when did "), "It was opened on 5 May."),
        lambda: asks_opening(repeat("가")),
        lambda: is_plain_calculation(repeat("가")),
        lambda: choose_identifying_phrase(passage(1, repeat("| a | 1 |\n")), "Nothing of it."),
    ],
)
def test_a_repetitive_text_is_read_at_once(read: Callable[[], object]) -> None:
    began = time.thread_time()
    read()
    assert time.thread_time() - began < 1  # 1.5 to 30 when each place was compared with every other
