"""Text of others: what it must not contain on a page, and what it may."""

import pytest

from crag.text.sanitization import (
    SUPPORT_MARKS,
    WORD_JOINER,
    mark_unsupported_sentences,
    neutralize_markdown,
    strip_invisible,
)
from crag.types import Support


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a] (b)", "a] (b)"),
        ("a](b)", "a]¦(b)"),
        ("a]: b", "a]¦: b"),
        ("<img", "<¦img"),
        ("1 < 2", "1 < 2"),
        (":red", ":¦red"),
        ("|:-:|", "|:-:|"),
        ("WWW.a", "WWW¦.a"),
        ("a@b", "a@¦b"),
        ("&#60;", "&¦#60;"),
        ("[^1]", "[¦^1]"),
        ("![a]", "!¦[a]"),
    ],
)
def test_what_markdown_would_turn_into_something_else_is_broken(written, shown):
    assert neutralize_markdown(written) == shown.replace("¦", WORD_JOINER)


@pytest.mark.parametrize(
    "text", ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f468\u200d\U0001f469", "cafe\u0301"]
)
def test_joiners_and_marks_that_scripts_need_are_kept(text):
    assert strip_invisible(text) == text


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\ue000", "\x1b", "\ud800", "\u0378"])
def test_what_cannot_be_seen_is_removed(hidden):
    assert strip_invisible(f"a{hidden}b") == "ab"


@pytest.mark.parametrize("strength", list(SUPPORT_MARKS))
def test_a_sentence_without_support_is_marked_and_another_is_not(strength):
    sentences = [Support("A  kettle boils.", strength), Support("It is red.", strength)]
    assert set(SUPPORT_MARKS) == {"unsupported", "weak"}
    assert mark_unsupported_sentences("A kettle boils. It whistles.", sentences) == (
        f"A kettle boils.{SUPPORT_MARKS[strength]} It whistles."
    )
