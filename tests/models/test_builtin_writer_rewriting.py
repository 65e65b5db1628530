from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.models.builtin_writer import BuiltinRewriter
from crag.options import RewriteStyle, RunOptions
from crag.protocols import MAX_QUERY_LENGTH
from crag.types import Turn

HISTORY = (
    Turn("user", "How does the ReAct agent use self-reflection?"),
    Turn("assistant", "It reflects on failures [1]."),
)


def condense(question: str, history: tuple[Turn, ...] = HISTORY) -> str:
    return BuiltinRewriter().condense(question, history, Cancellation())


def rewrite(question: str, style: RewriteStyle) -> str:
    return BuiltinRewriter().rewrite(question, RunOptions(rewrite=style), Cancellation())


@pytest.mark.parametrize(
    "question", ["Why?", "When was it published?", "And its tools?", "What about memory?", "그것은 언제?"]
)
def test_a_follow_up_borrows_the_key_words_of_the_question_before(question: str) -> None:
    condensed = condense(question)
    assert condensed.startswith(question)
    assert "ReAct" in condensed
    assert "failures" not in condensed


def test_a_question_that_stands_alone_stays_as_it_is() -> None:
    assert condense("Who built the Halden lighthouse?") == "Who built the Halden lighthouse?"
    assert condense("Why?", ()) == "Why?"


def test_a_chain_of_follow_ups_reaches_back_to_what_they_are_about() -> None:
    assert "ReAct" in condense("And then?", (*HISTORY, Turn("user", "Why?"), Turn("assistant", "Because.")))


def test_the_language_is_kept() -> None:
    condensed = condense("왜?", (Turn("user", "한강 도서관은 누가 설계했나?"),))
    assert condensed.startswith("왜?")
    assert "도서관" in condensed


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Can you please tell me who won the 2024 NBA finals?", "who won the 2024 NBA finals?"),
        ("Who won the 2024 NBA finals?", "Who won the 2024 NBA finals?"),
        ("请问谁设计了青山图书馆？", "谁设计了青山图书馆？"),
        ("please", "please"),
    ],
)
def test_the_question_style_drops_the_filler(question: str, query: str) -> None:
    assert rewrite(question, "question") == query


def test_the_keyword_style_keeps_three_and_names_whole() -> None:
    assert (
        rewrite("Who did the Chicago Bears draft first in the 2024 NFL draft?", "keywords") == "Chicago Bears 2024 NFL"
    )
    assert rewrite("Who won the 2024 NBA finals?", "keywords") == "2024 NBA finals"


def test_no_rewriting_means_the_same_words() -> None:
    assert rewrite("please tell me, why?", "none") == "please tell me, why?"


@pytest.mark.parametrize("style", ["none", "question", "keywords"])
@pytest.mark.parametrize("question", ["word " * 500, "字" * 2_000, "A" * 5_000, "?" * 500, "{0.__class__} $x"])
def test_no_query_is_longer_than_the_web_takes(question: str, style: RewriteStyle) -> None:
    assert 0 < len(rewrite(question, style)) <= MAX_QUERY_LENGTH
    assert condense("Why? " + question).startswith("Why? " + question)
