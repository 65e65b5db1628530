"""Korean questions written without spaces are read as if they had them."""

import pytest

from crag.text.questions import analyze_question, separate_words
from crag.text.relevance_scores import CountedTermStatistics

STATISTICS = CountedTermStatistics(
    (
        "단체 버스는 오전 8시에 정문 앞에서 출발합니다.",
        "사용하지 않은 연차는 다음 해로 이월할 수 있다. 출장비는 7일 이내에 정산한다.",
        "숙박비는 10만 원을 상한으로 지급한다. 병가는 30일까지 쓸 수 있다.",
        "회의실은 3층에 있다. 홍길동 의원이 2024년 도서관 건립을 발의했다.",
    )
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("단체버스는몇시에출발해요", "단체 버스는 몇시에 출발해요"),
        ("출장비는언제까지정산해야하나요?", "출장비는 언제까지 정산해야 하나요?"),
        ("병가는며칠까지쓸수있나요?", "병가는 며칠까지 쓸 수 있나요?"),
        ("연차이월은언제까지예요?", "연차 이월은 언제까지예요?"),
        ("숙박비상한은얼마인가요?", "숙박비 상한은 얼마인가요?"),
        ("연차 신청은며칠전까지 하나요?", "연차 신청은 며칠 전까지 하나요?"),
        ("2024년도서관건립을발의한 사람은?", "2024년 도서관 건립을 발의한 사람은?"),
        ("구내식당은어디에있나요?", "구내식당은 어디에 있나요?"),
    ],
)
def test_a_question_without_spaces_gets_them(typed, meant):
    assert separate_words(typed, STATISTICS) == meant
    assert analyze_question(typed, STATISTICS).weights == analyze_question(meant, STATISTICS).weights


@pytest.mark.parametrize(
    "question",
    [
        "단체 버스는 몇 시에 출발해요?",
        "국민건강보험공단은 어디에 있나요?",
        "얼마까지예요?",
        "홍길동의원이 누구예요?",
        "When does the bus leave?",
        "年假有几天？",
        "",
    ],
)
def test_other_questions_stay_as_they_are(question):
    assert separate_words(question, STATISTICS) == question
