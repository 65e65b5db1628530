"""Going on with an answer that broke off."""

from collections.abc import Iterator

import pytest

from crag.models.writer import join_continuation, trim_broken_word
from crag.protocols import ReplyPiece
from crag.types import Usage

LONG = "The trace is compiled when it is hot [1]. It is given up after two failures [2]. The rest is interpreted"


def pieces(text: str, size: int = 7) -> Iterator[ReplyPiece]:
    for start in range(0, len(text), size):
        yield ReplyPiece(text[start : start + size])
    yield ReplyPiece("", Usage(answer_tokens=3))


def text_of(begun: str, said: str) -> str:
    made = list(join_continuation(begun, pieces(said)))
    assert made[-1].usage == Usage(answer_tokens=3)
    return begun + "".join(piece.text for piece in made)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The trace is compi", "The trace is"),
        ("The trace is compiled.", "The trace is compiled."),
        ("The trace is compiled [1]", "The trace is compiled [1]"),
        ("compiled", "compiled"),
        ("트레이스는 컴파일되", "트레이스는"),
        ("트레이스는 컴파일됩니다.", "트레이스는 컴파일됩니다."),
        ("هذا النص مقطو", "هذا النص"),
        ("It is compiled. [", "It is compiled."),
        ("It is compiled [1], [2, ", "It is compiled [1],"),
        ("它被编译", "它被编译"),
    ],
)
def test_a_word_that_may_be_half_is_written_again(text: str, kept: str) -> None:
    assert trim_broken_word(text) == kept


@pytest.mark.parametrize(
    ("begun", "said", "whole"),
    [
        ("The trace is", "compiled [1].", "The trace is compiled [1]."),
        ("The trace is", " compiled [1].", "The trace is compiled [1]."),
        ("The trace is hot", ", so it is compiled.", "The trace is hot, so it is compiled."),
        ("It is hot [1].", "\n\n- It is compiled.", "It is hot [1].\n\n- It is compiled."),
        ("它被编译", "成机器码。", "它被编译成机器码。"),
        ("트레이스는", "컴파일됩니다.", "트레이스는 컴파일됩니다."),
        ("It is compiled [1],", "[2].", "It is compiled [1], [2]."),
        ("The trace is hot", "trace is hot and compiled.", "The trace is hot and compiled."),
        ("The trace is hot", "The trace is hot and compiled.", "The trace is hot and compiled."),
        (LONG, f"{LONG} until then.", f"{LONG} until then."),
        (LONG, "", LONG),
        (LONG, "  \n", LONG),
    ],
)
def test_what_follows_is_joined_without_a_seam(begun: str, said: str, whole: str) -> None:
    assert text_of(begun, said) == whole


def test_once_it_is_clear_that_nothing_is_repeated_every_piece_comes_as_it_is_made() -> None:
    made = list(join_continuation("Begun.", pieces("word " * 100)))
    assert len(made) > 50


def test_thoughts_pass_while_the_beginning_is_held() -> None:
    said = [ReplyPiece("", thought="hm"), ReplyPiece("more"), ReplyPiece("", Usage())]
    assert [piece.thought for piece in join_continuation("Begun.", said)] == ["hm", ""]
