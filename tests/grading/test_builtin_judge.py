"""Whether passages suffice, judged by words: mostly it cannot be told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.grading.builtin_judge import BuiltinJudge
from crag.protocols import Embedder
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Assessment, Grade
from tests.doubles.engine import passage

BRIDGE = "The Halden bridge opened in 1931."


def judge(embedder: Embedder, question: str, *texts: str, complete: bool | None = None) -> Assessment:
    graded = [(passage(n, text), Grade(0.9, "", complete=complete)) for n, text in enumerate(texts, start=1)]
    return BuiltinJudge(embedder, CountedTermStatistics(texts)).judge(question, graded, Cancellation())


@pytest.mark.parametrize(
    ("title", "text", "holder"),
    [
        ("Notes", "The Halden bridge opened in 1931.", "One sentence"),
        ("The Halden bridge", "It opened in 1931.", "One sentence, together with what stands above it,"),
        ("Notes", "The Halden bridge is old. It opened in 1931.", "One sentence, together with what stands above it,"),
        (
            "Notes",
            "Bridge | Opened | Length\nHalden bridge | 1931 | 120\nLund bridge | 1950 | 80",
            "One sentence, together with what stands above it,",
        ),
    ],
)
def test_the_reason_says_whether_the_sentence_stands_alone(embedder, title, text, holder) -> None:
    held = [(replace(passage(1, text), title=title), Grade(0.9, "", complete=True))]
    asked = BuiltinJudge(embedder, CountedTermStatistics([text]))
    assessment = asked.judge("When did the Halden bridge open?", held, Cancellation())
    assert assessment.reason == f"{holder} holds everything that the question names."


@pytest.mark.parametrize(
    ("question", "other", "sufficiency"),
    [
        ("When did the Halden bridge open?", "The Halden bridge opened in 1933.", "conflicting"),
        ("When did the Halden bridge open?", "In 1931 the Halden bridge opened.", "sufficient"),
        ("When did the Halden bridge open?", "The Halden bridge opened on 3 May 1931.", "sufficient"),
        ("When did the Halden bridge open?", "The Lund bridge opened in 1933.", "sufficient"),
        ("When did the Halden bridge open?", "The Halden bridge was painted in 1933.", "sufficient"),
        ("When did the Halden bridge open?", "The Halden bridge opened in 1931 and again in 1950.", "sufficient"),
        ("Why did the Halden bridge open?", "The Halden bridge opened in 1933.", None),
    ],
)
def test_documents_disagree_only_if_both_state_one_value_of_what_is_asked(
    embedder, question, other, sufficiency
) -> None:
    assessment = judge(embedder, question, BRIDGE, other, complete=True)
    assert assessment.sufficiency == sufficiency
    stated = [statement.sentence for statement in assessment.statements]
    assert stated == ([BRIDGE, other] if sufficiency == "conflicting" else [])


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("How long is the Halden bridge?", "The Halden bridge is 1.2 km long.", "The Halden bridge is 1,200 m long."),
        ("How high is the tower of Halden?", "The Halden tower is 30 m high.", "The Halden tower is 98 feet high."),
        ("How much did the Halden bridge cost?", "The bridge cost $1.5 million.", "The bridge cost $1,500,000."),
        ("How many days of leave do we get?", "We get 25 days of leave.", "We get 25.0 days of leave."),
        ("How many people live in Halden?", "In Halden 31,300 people live.", "In Halden about 31,000 people live."),
        ("When does the office open?", "The office opens at 9:00.", "The office opens at 9 am."),
        ("When did the Halden bridge open?", "The Halden bridge opened on 5 May.", "The Halden bridge opened in 2020."),
        (
            "When did the Halden bridge open?",
            "The Halden bridge opened in 2019.",
            "The Halden bridge opened in March 2019.",
        ),
        ("Who built the Halden bridge?", "Clara Moor built the Halden bridge.", "Dr. Moor built the Halden bridge."),
        ("When did the Halden war end?", "The Halden war ended in the 1740s.", "The Halden war ended in 1748."),
        ("When was Foo released?", "Foo 1.0 was released in 2019.", "Foo 2.0 was released in 2021."),
        ("How many people live in Halden?", "In 1990, Halden had 900 people.", "In 2020, Halden had 800 people."),
        ("수습은 몇 개월입니까?", "수습은 3개월입니다.", "수습은 3.0개월이다."),
        ("가격은 얼마입니까?", "가격은 3만 원입니다.", "가격은 30,000원입니다."),
        ("公司什么时候成立？", "公司于1930年代成立。", "公司于1931年成立。"),
        ("大桥什么时候开放？", "大桥于1931年开放。", "大桥于一九三一年五月三日开放。"),
    ],
)
def test_one_value_in_two_notations_and_values_that_cannot_be_compared_are_no_disagreement(
    embedder, question, one, other
) -> None:
    assert judge(embedder, question, one, other, complete=True).statements == ()


def test_a_value_whose_subject_stands_in_the_title_alone_contradicts_nothing(embedder):
    lease = replace(passage(1, "Signed in Brighton on 18 July 2025."), title="Contract")
    minutes = passage(2, "The contract with Harlow Roofing was signed on 24 April 2026.")
    graded = [(one, Grade(0.9, "", complete=True)) for one in (lease, minutes)]
    judge = BuiltinJudge(embedder, CountedTermStatistics([lease.text, minutes.text]))
    assert judge.judge("When was the contract signed?", graded, Cancellation()).sufficiency != "conflicting"


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("How many days do I have for a refund?", "Refund: you have 30 days.", "Refund: you have 14 days."),
        ("How much is the ticket?", "The ticket is $20.", "The ticket is $18."),
        ("When is the party?", "The party is on 10 May.", "The party is on 12 May."),
        ("When is the party?", "The party is on 10 May 2020.", "The party is on 10 June."),
        ("When does the office open?", "The office opens at 9:00.", "The office opens at 8:30 am."),
        ("Who built the Halden bridge?", "Clara Moor built the Halden bridge.", "Jon Lund built the Halden bridge."),
        ("수습은 몇 개월입니까?", "수습은 3개월입니다.", "수습은 6개월이다."),
        ("가격은 얼마입니까?", "가격은 3만 원입니다.", "가격은 20,000원이다."),
        ("회의는 언제 열립니까?", "회의는 5월 10일에 열립니다.", "회의는 5월 12일에 열립니다."),
        ("年假有多少天？", "年假有十二天。", "年假有15天。"),
        ("会议什么时候举行？", "会议于5月10日举行。", "会议于5月12日举行。"),
    ],
)
def test_values_of_one_unit_that_differ_disagree(embedder, question, one, other) -> None:
    assert judge(embedder, question, one, other, complete=True).sufficiency == "conflicting"


def test_passages_of_one_document_do_not_disagree(embedder) -> None:
    graded = [
        (passage(n, text, source_id="s1"), Grade(0.9, "", complete=True))
        for n, text in enumerate((BRIDGE, "The Halden bridge opened in 1933."), start=1)
    ]
    statistics = CountedTermStatistics([BRIDGE])
    assessment = BuiltinJudge(embedder, statistics).judge("When did the Halden bridge open?", graded, Cancellation())
    assert assessment.sufficiency == "sufficient"


@pytest.mark.parametrize(
    ("question", "text", "reason"),
    [
        (
            "What did the Lindqvist bridge cost?",
            "The Halden bridge cost a million.",
            "No passage mentions “Lindqvist”.",
        ),
        ("Who crossed the Halden bridge in 1706?", "The Halden bridge was crossed by Clara Moor.", "“1706”"),
        ("1931년에 핼든 다리를 누가 열었습니까?", "핼든 다리는 클라라가 열었다.", "“1931"),
        ("1931年誰開放了大橋？", "大橋由克拉拉開放。", "No passage mentions “1931"),
    ],
)
def test_a_name_or_year_that_no_passage_mentions_leaves_the_question_open(embedder, question, text, reason) -> None:
    assessment = judge(embedder, question, text, "It is a long text on bridges.")
    assert assessment.sufficiency == "insufficient"
    assert reason in assessment.reason


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who built the Haldan bridge?", "The Halden bridge is red."),
        ("Who leads the WHO in Halden?", "The World Health Organization is in Halden."),
        ("Who sold 10,000 stones for the Halden bridge?", "It took 10000 stones, in Halden."),
        ("Who walked 12 miles in Halden?", "They walked twelve miles, in Halden."),
        ("Why is the bridge red?", "The bridge is painted."),
    ],
)
def test_another_spelling_or_a_short_name_does_not(embedder, question, text) -> None:
    assert judge(embedder, question, text).sufficiency is None
