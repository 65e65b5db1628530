"""Misspelled words: which corrections are certain."""

from __future__ import annotations

import pytest

from crag.text.spelling import correct_question_word, correct_words, find_words, is_certain


@pytest.mark.parametrize(
    ("word", "right"), [("mcuh", "much"), ("Waht", "What"), ("wich", "which"), ("hwo", ""), ("wheat", ""), ("dose", "")]
)
def test_a_question_word_is_recognized_unless_another_word_may_be_meant(word, right):
    assert correct_question_word(word) == right


@pytest.mark.parametrize(
    ("word", "right", "certain"),
    [
        ("mcuh", "much", True),
        ("intorduced", "introduced", True),
        ("comittee", "committee", True),
        ("anual", "annual", True),
        ("contract", "contact", False),
        ("goat", "boat", False),
        ("form", "from", False),
        ("电费", "電費", True),
        ("设备", "电费", False),
    ],
)
def test_swapped_and_doubled_letters_and_the_other_script_are_certain(word, right, certain):
    assert is_certain(word, right) is certain


def test_parts_of_identifiers_and_addresses_are_left_alone():
    question = "Does anual-7 or anual@x.org or anual.txt state the anual fee?"
    assert find_words(question) == ["Does", "state", "the", "anual", "fee"]
    assert correct_words(question, {"anual": "annual"}).endswith("state the annual fee?")
