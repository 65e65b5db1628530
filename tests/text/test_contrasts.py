"""Contrasts between a question and a sentence."""

from __future__ import annotations

import pytest

from crag.text.contrasts import is_contrary


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What share of members is over 18?", "40 of the members are under 18."),
        ("What is the lower limit?", "The upper limit is 40."),
        ("Which boats may enter the harbour?", "Boats with a sail may not enter the harbour."),
        ("How much does the Corbel 3 cost?", "The Corbel 5 costs £98."),
        ("작년에는 몇 명이 들었나요?", "올해는 168명이 들었다."),
        ("Which two of the three large boats sank?", "Two large boats sank."),
        ("前年接诊多少人次？", "去年接诊1.2万人次。"),
        ("18세 이상은 얼마인가요?", "18세 미만은 3천 원이다."),
        ("누가 상을 받았나요?", "김바다는 상을 받지 못했다."),
        ("How many people does Moorby employ?", "Moorby employed 40 people as of June 2014."),
        ("Who is the harbour master?", "In 2009 Ada Finch became harbour master."),
        ("成人票多少钱？", "儿童票10元。"),
        ("谁得了奖？", "林文远没有得奖。"),
        ("现在的船长是谁？", "原船长林文远女士已于2026年11月调离。"),
        ("현재 선장은 누구인가요?", "전임 선장은 김바다였다."),
        ("How much did the roof of house A cost?", "The roof of house B cost 4,000 pounds."),
        ("What are the very common effects?", "Common: nausea, dry mouth."),
        ("How long is notice during probation?", "Notice after probation is three months."),
    ],
)
def test_a_sentence_that_says_the_opposite(question, sentence):
    assert is_contrary(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is the upper limit?", "The lower limit is 2, the upper limit is 40."),
        ("Which boats may not enter the harbour?", "Boats with a sail may not enter the harbour."),
        ("Which of the three large boats sank?", "Two boats of the three large boats sank."),
        ("Which two of the boats sank?", "Two boats sank, the Tern and the Gull."),
        ("When did the ferry sink?", "The ferry sank in 1911, but nobody was not saved."),
        ("파일은 어디에서 가져오나요?", "파일 가져오기 메뉴에서 가져온다."),
        ("How many people did Moorby employ?", "Moorby employed 40 people as of June 2014."),
        ("How many people does Moorby employ in 2014?", "Moorby employed 40 people as of June 2014."),
        ("Who is the harbour master?", "Ada Finch has been harbour master since 2009."),
        ("성인은 얼마인가요?", "성인은 5천 원, 어린이는 3천 원이다."),
        ("Does the warranty cover the battery?", "The warranty does not cover the battery."),
        ("보증이 배터리에도 적용되나요?", "보증은 배터리에 적용되지 않는다."),
        ("保修包括电池吗？", "保修不包括电池。"),
        ("How high is boat B?", "Boat B is high. A boat floats."),
        ("What are the very common effects?", "Very common: dizziness. Common: nausea."),
        ("Does the boat have a cabin?", "In the boat I have a cabin."),
        ("Which islands have less than 90 people?", "Odby has fewer than 90 people, more than in May."),
        ("Is at least one oar on board?", "There is one oar on board."),
    ],
)
def test_a_sentence_that_does_not(question, sentence):
    assert not is_contrary(question, sentence)


@pytest.mark.parametrize(
    ("context", "contrary"), [("Repairs House B", True), ("Repairs House A", False), ("House A House B", False)]
)
def test_a_sentence_is_about_what_its_heading_names(context, contrary):
    assert is_contrary("How much did the roof of house A cost?", "The roof cost 4,000 pounds.", context) == contrary
