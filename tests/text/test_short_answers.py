"""The name or term by which a sentence answers a question."""

import pytest

from crag.text.short_answers import ask_without_kind, find_short_answer


@pytest.mark.parametrize(
    ("question", "sentence", "answer"),
    [
        ("Which pool was opened by Mayor Hall?", "Mayor Hall opened the Riverside Pool in 1998.", "the Riverside Pool"),
        ("Who runs the pottery course?", "The pottery course is run by Jana Weiss with great care.", "Jana Weiss"),
        (
            "Which part failed in the March incident?",
            "In the March incident the coolant pump failed.",
            "the coolant pump",
        ),
        (
            "What is the hall where the choir meets?",
            "The choir, which meets on Tuesdays in the Guild Hall, has forty members.",
            "the Guild Hall",
        ),
        ("Which architect designed the wing?", "The wing was designed by the architect Selma Ruud.", "Selma Ruud"),
        ("Which company built the jetty?", "The jetty was built by Friends of the Bay in 1987.", "Friends of the Bay"),
        (
            "Who runs the pottery course?",
            "The pottery course is run by Jana Weiss, and the choir by Ben Carr.",
            "Jana Weiss",
        ),
        ("도예 강좌를 운영하는 사람은 누구인가요?", "도예 강좌는 윤서진이 운영한다.", "윤서진"),
        ("3월 사고에서 고장 난 부품은 무엇인가요?", "3월 사고에서 냉각 펌프가 고장 났다.", "냉각 펌프"),
        ("백업 서버가 있는 사무소는 무엇인가요?", "백업 서버는 오리나무 사무소에 있다.", "오리나무 사무소"),
        (
            "요가 강좌를 운영하는 사람은 누구인가요?",
            "수영 강좌는 정하늘이 운영하고 요가 강좌는 문지수가 운영한다.",
            "문지수",
        ),
        ("谁负责陶艺课？", "陶艺课由林晓梅负责。", "林晓梅"),
        ("霍市长启用的游泳池是哪个？", "霍市长于1998年启用了江湾游泳池。", "江湾游泳池"),
        ("三月事故中发生故障的部件是哪个？", "在三月事故中，冷却泵发生了故障。", "冷却泵"),
    ],
)
def test_what_a_sentence_adds_to_the_question_is_the_answer(question, sentence, answer):
    found = find_short_answer(question, sentence)
    assert found is not None
    assert found.text == answer


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who runs the chess course?", "The chess course is run by Una Pole and Vic Reed."),
        ("Who runs the tennis course?", "The tennis course is not run by Tom Ives."),
        ("Who runs the sailing course?", "The sailing course is run by the nephew of Walt Dunn."),
        ("Who is the director of the clinic?", "The secretary of the director of the clinic is Amy Poole."),
        ("병원 원장은 누구인가요?", "병원 원장의 비서는 유가온이다."),
        ("诊所主任是谁？", "诊所主任的秘书是尤佳。"),
        ("Who runs the sculpture course?", "The pottery course is run by Jana Weiss."),
        ("Who is the director of the museum?", "Ines Falk gave a talk in the museum."),
        ("체스 강좌를 운영하는 사람은 누구인가요?", "체스 강좌는 오세린이 운영하지 않는다."),
        ("도예 강좌를 운영하는 사람은 누구인가요?", "도예 강좌는 윤서진과 박도윤이 운영한다."),
        ("谁负责象棋课？", "象棋课不是由吴森负责。"),
        ("谁负责陶艺课？", "陶艺课由林晓梅和陈志远负责。"),
    ],
)
def test_a_sentence_that_denies_or_names_several_gives_none(question, sentence):
    assert find_short_answer(question, sentence) is None


def test_an_answer_is_uncertain_where_the_sentence_says_more():
    sentence = "Mayor Finch, who opened the Canal Baths, swims at the Harbour Pool."
    found = find_short_answer("Which pool was opened by Mayor Finch?", sentence)
    assert found is not None
    assert not found.is_certain


def test_the_kind_need_not_be_stated_by_a_sentence_if_the_answer_names_it():
    asked = "Which pool was opened by Mayor Hall?"
    assert ask_without_kind(asked, "the Riverside Pool") == "What was opened by Mayor Hall?"
    assert ask_without_kind(asked, "the Canal Baths") == ""
