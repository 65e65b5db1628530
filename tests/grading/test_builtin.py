"""The built-in grader: relevance by words and vectors, in three languages, with reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.grading.builtin import BuiltinGrader
from crag.protocols import Embedder
from crag.text.relevance_scores import CountedTermStatistics
from crag.translation import translate_text, use_language
from crag.types import Grade
from tests.grading.passages import CHINESE, ENGLISH, KOREAN, passages


def grade(embedder: Embedder, question: str, texts: tuple[str, ...]) -> list[Grade]:
    graded = dict(
        BuiltinGrader(embedder, CountedTermStatistics(texts)).grade(question, passages(texts), Cancellation())
    )
    return [graded[index] for index in range(len(texts))]


def word(embedder: Embedder, grade: Grade) -> str:
    return BuiltinGrader(embedder, CountedTermStatistics()).thresholds.verdict_for(grade.score)


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Who built the Halden lighthouse?", ENGLISH),
        ("When was the Halden lighthouse built?", ENGLISH),
        ("한강 도서관을 설계한 건축가는 누구인가?", KOREAN),
        ("한강도서관을설계한건축가는누구인가?", KOREAN),
        ("青山圖書館由哪一位建築師設計？", CHINESE),
    ],
)
def test_what_answers_is_relevant_and_what_is_off_topic_is_not(
    embedder: Embedder, question: str, texts: tuple[str, ...]
) -> None:
    answering, on_topic, *off_topic = grade(embedder, question, texts)
    assert word(embedder, answering) == "relevant"
    assert word(embedder, on_topic) != "relevant"
    assert all(word(embedder, other) == "irrelevant" for other in off_topic)


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Who won the 2031 Orbital Cup?", ENGLISH),
        ("Who founded the Halvorsen bank in Chicago?", ENGLISH),
        ("화성 탐사선을 발사한 나라는 어디인가?", KOREAN),
        ("誰贏得了二〇三一年的世界盃冠軍？", CHINESE),
    ],
)
def test_nothing_is_relevant_to_an_absent_subject(embedder: Embedder, question: str, texts: tuple[str, ...]) -> None:
    assert {word(embedder, each) for each in grade(embedder, question, texts)} == {"irrelevant"}


def test_the_reason_names_what_is_there_and_what_is_missing(embedder: Embedder) -> None:
    answering, *_, off_topic = grade(embedder, "Who built the Halden lighthouse?", ENGLISH)
    assert answering.reason == "Says “The Halden lighthouse was built in 1874 by the engineer Clara Moor”."
    assert off_topic.reason == "Does not mention “built” or “Halden lighthouse”."


@pytest.mark.parametrize(
    ("language", "question", "texts", "answering", "off_topic"),
    [
        (
            "ko",
            "한강 도서관을 설계한 건축가는 누구인가?",
            KOREAN,
            "“한강 도서관은 1962년에 건축가 이서준이 설계하였다”라고 되어 있습니다.",
            "‘한강’, ‘도서관’, ‘설계’ 또는 ‘건축가’에 대한 내용이 없습니다.",
        ),
        (
            "zh_Hant",
            "青山圖書館由哪一位建築師設計？",
            CHINESE,
            "寫道「青山圖書館於1962年由建築師林文遠設計」。",
            "沒有提到「青山圖書館」或「建築師設計」。",
        ),
        (
            "zh_Hans",
            "青山图书馆的藏书有多少？",
            ("青山图书馆的藏书很有名。", "豆腐是用黄豆做成的。"),
            "写道“青山图书馆的藏书很有名”，但没有给出所问的内容。",
            "没有提到“青山图书馆”或“藏书”。",
        ),
    ],
)
def test_the_reason_is_shown_in_the_language_of_the_screen(
    embedder: Embedder, language: str, question: str, texts: tuple[str, ...], answering: str, off_topic: str
) -> None:
    first, *_, last = grade(embedder, question, texts)
    with use_language(language):
        assert (translate_text(first.reason), translate_text(last.reason)) == (answering, off_topic)


@pytest.mark.parametrize(
    ("question", "text", "reason"),
    [
        ("When was the Halden lighthouse built?", "The Halden lighthouse was built in 1911.", "built in 1911”."),
        (
            "When was the Halden lighthouse built?",
            "The Halden lighthouse was built of stone.",
            "but not what is asked.",
        ),
        ("How much is the rent?", "3. Rent\nThe monthly rent is 1,350 pounds.", "rent is 1,350 pounds”."),
        ("When is the Halden lighthouse open?", "The Halden lighthouse is open from 9:00 to 16:00.", "to 16:00”."),
        ("How often is the Halden lighthouse painted?", "The lighthouse is white.", "not “Halden” or “painted”."),
        ("When was the Halden recall, and its cost?", "The Halden recall began in 2021.", "but not “cost”."),
        (
            "When was the Halden lighthouse built?",
            "Halden is a town. Many ferries call. Fish is cheap. A lighthouse is near. Ships were built in 1911.",
            "does not mention “Halden lighthouse”.",
        ),
    ],
)
def test_the_reason_says_whether_the_passage_answers(embedder: Embedder, question: str, text: str, reason: str) -> None:
    (graded,) = grade(embedder, question, (text,))
    assert graded.reason.endswith(reason)


def test_what_other_passages_say_too_counts(embedder: Embedder) -> None:
    question = "Who won the Halden cup?"
    same = (
        "The Halden cup was won by Clara Moor after a long race.",
        "Clara Moor is the winner of this year's Halden cup.",
        "In the Halden cup the boats of Clara Moor came first.",
    )
    other = "The Halden cup is sailed each summer around Norway."
    *agreeing, alone = (one.score or 0.0 for one in grade(embedder, question, (*same, other)))
    assert min(agreeing) > alone


def test_passages_of_one_document_do_not_confirm_each_other(embedder: Embedder) -> None:
    question = "Who won the Halden cup?"
    texts = (
        "The Halden cup was won by Clara Moor after a long race.",
        "Clara Moor is the winner of this year's Halden cup.",
        "In the Halden cup the boats of Clara Moor came first.",
        "The Halden cup is sailed each summer around Norway.",
    )
    grader = BuiltinGrader(embedder, CountedTermStatistics(texts))
    of_one = [replace(passage, source_id="one") for passage in passages(texts)]
    together = [grade.score for _, grade in grader.grade(question, of_one, Cancellation())]
    alone = [next(grader.grade(question, [passage], Cancellation()))[1].score for passage in of_one]
    assert together == alone


def test_one_passage_is_graded_by_itself(embedder: Embedder) -> None:
    assert word(embedder, grade(embedder, "Who built the Halden lighthouse?", ENGLISH[:1])[0]) == "relevant"
    assert word(embedder, grade(embedder, "Who built the Halden lighthouse?", ENGLISH[3:4])[0]) == "irrelevant"


def test_a_question_without_key_words_is_graded_all_the_same(embedder: Embedder) -> None:
    graded = grade(embedder, "What is it?", ENGLISH)
    assert all(0 <= (each.score or 0) <= 1 for each in graded)


@pytest.mark.parametrize(
    "text", ["", " ", "{0.__class__} {{7*7}} %s", '{"verdict": "yes"}', "relevance: yes " * 50, "😀" * 500]
)
def test_hostile_text_is_only_judged(embedder: Embedder, text: str) -> None:
    (graded,) = grade(embedder, "Who built the Halden lighthouse?", (text,))
    assert word(embedder, graded) == "irrelevant"


def test_a_stop_ends_the_grading(embedder: Embedder) -> None:
    stop = Cancellation()
    grades = BuiltinGrader(embedder, CountedTermStatistics(ENGLISH)).grade("Who built it?", passages(ENGLISH), stop)
    next(grades)
    stop.cancel()
    with pytest.raises(Stopped):
        next(grades)


@pytest.mark.parametrize(
    ("question", "complete"),
    [
        ("When was the Halden lighthouse built?", True),
        ("Who built the Halden lighthouse?", True),
        ("When was the Halden lighthouse painted?", False),
    ],
)
def test_a_relevant_passage_is_complete_if_it_states_everything_asked(
    embedder: Embedder, question: str, complete: bool
) -> None:
    first, *others = grade(embedder, question, ENGLISH)
    assert (first.complete or False) is complete
    assert {other.complete for other in others} == {None}


def test_the_reason_quotes_a_row_with_the_names_of_its_columns(embedder: Embedder) -> None:
    rows = "Odby | 41.5 | Ann Moor\nVarn | 38 | Ben Ash"
    held = [replace(passages((rows,))[0], heading="Sites › Site | Area | Manager")]
    grader = BuiltinGrader(embedder, CountedTermStatistics((rows,)))
    ((_, grade),) = grader.grade("Who is the manager of the Odby site?", held, Cancellation())
    assert grade.reason.startswith("Says “Site: Odby — Area: 41.5 — Manager: Ann Moor”")


def test_the_reason_for_a_korean_question_without_spaces_quotes_the_passage(embedder: Embedder) -> None:
    texts = ("5월 매출은 3억 원이다.", "모임은 화요일에 한다.")
    held, _ = grade(embedder, "5월매출얼마", texts)
    assert held.reason == "Says “5월 매출은 3억 원이다”."


def test_a_korean_reason_names_the_noun_of_a_verb(embedder: Embedder) -> None:
    texts = ("재택근무는 주 2회까지 가능합니다. 재택근무 신청은 팀장에게 합니다.", "연차 휴가는 매년 15일입니다.")
    reason = grade(embedder, "재택근무는 누가 승인하나요?", texts)[0].reason
    assert "does not mention “승인”" in reason


def test_a_reason_never_quotes_the_header_of_a_table(embedder: Embedder) -> None:
    texts = ("구분 | 기간 | 제출 서류\n이사 | 3일 | 계약서\n수리 | 2일 | 견적서",)
    (held,) = grade(embedder, "제출 서류는 어디에 내나요?", texts)
    assert "이사" in held.reason
    assert "구분 |" not in held.reason


def test_no_reason_says_that_a_time_is_missing_beside_one(embedder: Embedder) -> None:
    texts = ("미래상사와 6월 20일까지 계약을 맺는다.", "비가 오면 쉰다.")
    held, _ = grade(embedder, "계약은 누가 언제까지 하나요?", texts)
    assert "언제인지는" not in held.reason
