"""Text of others: what it must not contain on a page, and what it may."""

from __future__ import annotations

import logging

import pytest

from crag.errors import BadRequest
from crag.text.sanitization import (
    MAX_QUESTION_LENGTH,
    SUPPORT_MARKS,
    WORD_JOINER,
    PlainLogFormatter,
    clean_display_name,
    clean_text,
    has_web_scheme,
    mark_unsupported_sentences,
    neutralize_markdown,
    normalize_question,
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


@pytest.mark.parametrize("between", [" ", " " * 1_000_000])
def test_a_mark_goes_before_the_end_of_a_row(between):
    row = f"| Price{between}5 |"
    marked = mark_unsupported_sentences(f"{row}\n| b |", [Support(row, "weak")])
    assert marked == f"| Price{between}5{SUPPORT_MARKS['weak']} |\n| b |"


def test_lines_and_columns_are_kept_and_stacks_of_marks_are_cut():
    assert strip_invisible("caf\u00e9\n\tau lait") == "caf\u00e9\n\tau lait"
    assert strip_invisible("a" + "\u0301" * 9 + "b") == "a" + "\u0301" * 4 + "b"


@pytest.mark.parametrize(("location", "is_one"), [("HTTPS://a", True), ("file:///a", False), ("a http://b", False)])
def test_only_http_is_a_web_address(location, is_one):
    assert has_web_scheme(location) == is_one


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../a\u202eb.pdf", "ab.pdf"),
        ("c:\\a\x1b[1m.pdf", "a[1m.pdf"),
        ("x" * 300, "x" * 200),
        ("a/ \u200b", "untitled"),
    ],
)
def test_a_name_of_others_is_short_visible_and_no_path(name, shown):
    assert clean_display_name(name) == shown


def test_control_characters_and_marks_of_order_are_cleaned():
    assert clean_text("a\x1b\ufeffb\r\nc") == "ab\nc"


@pytest.mark.parametrize("question", ["", " \u200b\n", "x" * (MAX_QUESTION_LENGTH + 1)])
def test_a_question_that_is_empty_or_too_long_is_refused(question):
    assert normalize_question(f" {'x' * MAX_QUESTION_LENGTH}\n") == "x" * MAX_QUESTION_LENGTH
    with pytest.raises(BadRequest):
        normalize_question(question)


def raised() -> ValueError:
    try:
        raise ValueError("/home/ann/key")
    except ValueError as error:
        return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (raised(), f"It failed\nValueError in test_sanitization.py, line {raised.__code__.co_firstlineno + 2}"),
        (ValueError("/home/ann/key"), "It failed\nValueError"),  # set on a future, never raised
        (None, "It failed"),  # logged where nothing is being handled
    ],
)
def test_an_exception_is_logged_by_its_kind_and_place_if_it_has_one(error, said):
    known = (type(error), error, error.__traceback__) if error else (None, None, None)
    record = logging.LogRecord("crag", logging.ERROR, "", 1, "It failed", (), known)
    assert PlainLogFormatter("%(message)s").format(record) == said
