"""Language detection, sentences and terms."""

from __future__ import annotations

import pytest

from crag.text.language import (
    detect_written_language,
    extract_terms,
    extract_words,
    is_heading,
    is_labelled_line,
    join_sentences,
    split_sentences,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith paid $3.5 million. He left.", ["Dr. Smith paid $3.5 million.", "He left."]),
        ("3% in Group C. J. Moor is in room B. Ask.", ["3% in Group C.", "J. Moor is in room B.", "Ask."]),
        ("It works (Yao et al. 2023). E.g. J. K. R. wrote.", ["It works (Yao et al. 2023).", "E.g. J. K. R. wrote."]),
        ("“Why?” She asked. Fig. 3 shows it.", ["“Why?”", "She asked.", "Fig. 3 shows it."]),
        ("你好嗎？我很好。他說：「走吧。」然後走了。", ["你好嗎？", "我很好。", "他說：「走吧。」", "然後走了。"]),
        ("방탄소년단은 2013년에 데뷔했다. 서울에 있다.", ["방탄소년단은 2013년에 데뷔했다.", "서울에 있다."]),
        ("- **11. Rent**: It is due.", ["- **11. Rent**: It is due."]),
        ("- Kitchen: meals. Head: Jo Tan\n- It is. So?", ["- Kitchen: meals. Head: Jo Tan", "- It is.", "So?"]),
        ("# Title\n- one thing\n- another\n1. Third", ["# Title", "- one thing", "- another", "1. Third"]),
        ("| a | b |\n|---|---|\n| 1. x | 2. y |", ["| a | b |", "|---|---|", "| 1. x | 2. y |"]),
        ("A line broken by the page\nin its middle. Next.", ["A line broken by the page in its middle.", "Next."]),
        ("1.1. Notice is due. IV. Parts are sold.", ["1.1. Notice is due.", "IV. Parts are sold."]),
        ("Ⅱ. 결과는 이렇다. 끝났다.\n가. 목적은 없다.", ["Ⅱ. 결과는 이렇다.", "끝났다.", "가. 목적은 없다."]),
        ("", []),
        (" \n\n\t", []),
    ],
)  # fmt: skip
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert split_sentences(text) == expected


def test_nothing_is_lost_or_moved_by_cutting_and_joining():
    text = "# Head\nOne (e.g. this). Two!\n- item a. More of a.\n- item b\n\n中文句子。第二句。\n| x | y |"
    joined = join_sentences(split_sentences(text))
    assert "".join(joined.split()) == "".join(text.split())
    assert "# Head\nOne" in joined
    assert "句子。第二句" in joined


def test_a_long_heading_stays_apart_when_it_is_joined_and_cut_again():
    parts = ["Annual energy balance of the municipal swimming baths at Lindenau 2024", "The baths used heat in 2024."]
    assert split_sentences(join_sentences(parts)) == parts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("biases", "bias"),
        ("Prompting", "prompted"),
        ("studies", "study"),
        ("attacks", "attack"),
        ("데뷔했나", "데뷔"),
        ("서울은", "서울에서"),
    ],
)
def test_forms_of_a_word_share_a_term(one, other):
    assert set(extract_terms(one)) & set(extract_terms(other))


def test_question_words_and_particles_are_no_terms():
    assert extract_terms("What is the use of it?") == []
    assert extract_terms("누구인가?") == []
    assert extract_terms("몇 세인가요?") == []
    assert extract_terms("誰？") == []
    assert extract_terms("台灣在哪一年解除黨禁？") == ["台灣", "年解", "解除", "除黨", "黨禁"]


def test_words_keep_how_they_were_written():
    assert extract_words("Who won the NBA finals?") == [("won", ("won",)), ("NBA", ("nba",)), ("finals", ("final",))]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "😀" * 50_000,
        "e" + "\u0301" * 50_000,
        "( 1." * 20_000,
        "| " * 50_000,
        "一" * 100_000,
        "A. " * 20_000,
    ],
)
def test_absurd_text_is_cut_within_bounds(text):
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
    assert isinstance(extract_terms(text), list)


def test_lines_without_end_are_joined_within_bounds_so_that_the_time_is_too():
    """Such lines fill logs. Each one used to be compared with all before it, which took hours for a megabyte."""
    joined = split_sentences("level: info\n" * 5_000)
    assert " ".join(joined) == " ".join(["level: info"] * 5_000)
    assert 1 < len(joined) < 20


def test_a_german_question_is_about_its_nouns():
    assert [word for word, _ in extract_words("Was ist eine Mannigfaltigkeit und wie wird sie definiert?")] == [
        "Mannigfaltigkeit",
        "definiert",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "병가 60일",
        "창고 면적 410㎡",
        "총무팀 내선 201",
        "지원 한도 100만 원",
        "경조휴가(본인 결혼) 5일",
        "病假 60天",
        "行政部 分机 201",
        "Sick leave 60 days",
        "Desk €120",
        "Desk lamp 45 euros",
        "Reception 02-123-4567",
        "Venue: Hall 3",
    ],
)
def test_a_label_with_its_amount_is_a_statement_and_no_heading(line):
    assert is_labelled_line(line)
    assert not is_heading(line)
    assert split_sentences(f"{line}\n{line}") == [line, line]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Concerns about the", False),
        ("Complexity strengthened self-", False),
        ("The end of", False),
        ("Dear parents,", False),
        ("0 0.1 0.2 0.3 Share", False),
        ("What we are made of", True),
        ("Vitamin A", True),
        ("Budget 2024 2025", True),
        ("Whom to ask for", True),
    ],
)
def test_a_heading_does_not_break_off_and_has_no_row_of_numbers(line, expected):
    assert is_heading(line) is expected


@pytest.mark.parametrize(
    "line",
    [
        "2026년 6월",
        "회의 3월 5일",
        "제3조 휴가",
        "사업보고서 2025",
        "별표 2",
        "第3章",
        "附件1",
        "Chapter 3",
        "Annual report 2024",
        "The first 30 days",
        "Top 10",
        "직원은 병가를 60일",
    ],
)
def test_a_heading_with_a_number_states_nothing(line):
    assert not is_labelled_line(line)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("輪胎氣壓應該是多少？", "zh-Hant"),
        ("充滿電要多久？", "zh-Hant"),
        ("轮胎气压应该是多少？", "zh"),
        ("著名的乾隆皇帝", "zh"),
        ("타이어 공기압은 얼마인가요?", "ko"),
    ],
)
def test_a_question_in_traditional_characters_is_known_as_such(text, written):
    assert detect_written_language(text) == written
