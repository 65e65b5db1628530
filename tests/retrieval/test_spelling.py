"""Corrections of a question by the words of the library."""

from __future__ import annotations

import pytest

TEXT = """The annual fee of the club is due in March. The committee meets in the boathouse and elects Robert Smyth.
The economy of the village was introduced to tourism. Boats cost nothing."""


@pytest.fixture
def club(library):
    library.pipeline.add_bytes("club.txt", TEXT.encode())
    return library


@pytest.mark.parametrize(
    ("question", "corrections"),
    [
        ("How mcuh is the anual fee?", {"mcuh": "much", "anual": "annual"}),
        ("Waht does the comittee do?", {"Waht": "What", "comittee": "committee"}),
        ("When was tourism intorduced?", {"intorduced": "introduced"}),
        ("Who swims in the boatthuose?", {"boatthuose": "boathouse"}),
        ("What is the annual fee?", {}),
        ("Who is Smith?", {}),
        ("Who is smith?", {}),
        ("Who is Robret?", {}),
        ("What is economic?", {}),
        ("What does a goat cost?", {}),
        ("Is fees2 due?", {}),
        ("anual 회비는 얼마인가요?", {}),
    ],
)
def test_only_misspelled_ordinary_words_are_corrected(club, question, corrections):
    assert club.find_corrections(question) == corrections


def test_an_empty_library_corrects_nothing_but_question_words(library):
    assert library.find_corrections("Waht is the anual fee?") == {"Waht": "What"}
