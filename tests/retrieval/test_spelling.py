"""Corrections of a question by the words of the library."""

from __future__ import annotations

from contextlib import closing

import pytest

from crag.models.token_counts import count_english_tokens
from tests.doubles.library import open_library

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


@pytest.mark.parametrize(
    "misspelled", ["cmopensation", "compnsation", "compennsation", "compensaxtion", "compensasion"]
)
def test_a_slip_is_found_in_any_part_of_a_word(library, misspelled):
    library.pipeline.add_bytes("leave.txt", b"The compensation is paid during parental leave and for a rental car.")
    assert library.find_corrections(f"how long is {misspelled} paid") == {misspelled: "compensation"}


@pytest.mark.parametrize(
    ("misspelled", "right"),
    [
        ("parntal", "parental"),
        ("parenatl", "parental"),
        ("parrental", "parental"),
        ("vacatoin", "vacation"),
        ("organisatonal", "organisational"),
        ("reimbursment", "reimbursement"),
        ("parents", ""),  # the same term, though another word
        ("rentl", ""),  # too short for a missing letter
        ("Parntal", ""),  # may be a name
        ("partial", ""),
        ("organisations", ""),
    ],
)
def test_a_slip_that_changes_the_term_of_a_word_is_found(library, misspelled, right):
    library.pipeline.add_bytes("leave.txt", b"For parental leave and vacation see the organisational rules.")
    library.pipeline.add_bytes("cost.txt", b"The rental of a tent allows for reimbursement.")
    assert library.find_corrections(f"how long is {misspelled} leave") == ({misspelled: right} if right else {})


@pytest.mark.parametrize(
    ("question", "corrections"),
    [
        ("Is the contract critical for the commitee?", {"commitee": "comittee"}),
        ("how long is parntal leave", {"parntal": "parental"}),
        ("how is overtme paid", {"overtme": "overtime"}),
        ("who is hofman", {}),
        ("what does wellenstien sell", {}),
    ],
)
def test_neither_common_words_nor_names_are_corrected(tmp_path, question, corrections):
    with closing(open_library(tmp_path, count_english_tokens=count_english_tokens)) as library:
        text = b"Keep in contact with the clinical comittee. Parental leave is for all. Overtime is paid twice."
        library.pipeline.add_bytes("club.txt", text + b" Hofmann wrote this. Wellenstein sells tea.")
        assert library.find_corrections(question) == corrections


def test_an_empty_library_corrects_nothing_but_question_words(library):
    assert library.find_corrections("Waht is the anual fee?") == {"Waht": "What"}


@pytest.mark.parametrize(
    ("question", "corrections"),
    [
        ("电费什么时候缴纳？", {"电费什么时候缴纳": "電費什麼時候繳納"}),
        ("2024年电费多少？", {"年电费多少": "年電費多少"}),
        ("設備維修由誰負責？", {"設備維修由誰負責": "设备维修由谁负责"}),
        ("头发", {"头发": "頭髮"}),
        ("電費什麼時候繳納？", {}),
        ("水泵", {}),
    ],
)
def test_a_chinese_question_is_read_in_the_characters_of_the_documents(library, question, corrections):
    library.pipeline.add_bytes("a.txt", "電費繳納期限為十日，發票在服務臺領取。頭髮。设备维修由乙方负责。".encode())
    assert library.find_corrections(question) == corrections
