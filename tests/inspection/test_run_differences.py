"""How two runs differ."""

import pytest

from crag.inspection.run_differences import compare_texts, nodes_only_in
from tests.inspection import runs


@pytest.mark.parametrize(
    ("one", "other", "own"),
    [
        ("Rinsed twice with water.", "Rinsed once with water.", (["twice "], ["once "])),
        ("The same text.", "The same text.", ([], [])),
        ("One.\n\nTwo more words.", "One.\n\nTwo more good words.", ([], ["good "])),
    ],
)
def test_words_that_only_one_text_has_are_told_apart(one, other, own):
    pieces = compare_texts(one, other)
    assert pieces is not None
    assert tuple("".join(piece.text for piece in side) for side in pieces) == (one, other)
    assert tuple([piece.text for piece in side if piece.own] for side in pieces) == own


def test_texts_that_share_nothing_are_not_marked():
    assert compare_texts("Lyon is in France.", "No passage answers") is None
    assert compare_texts("word " * 5000, "word") is None


def test_what_only_one_run_took():
    assert nodes_only_in(runs.incorrect(), runs.correct()) == ["transform_query", "web_search"]
    assert nodes_only_in(runs.correct(), runs.incorrect()) == []
