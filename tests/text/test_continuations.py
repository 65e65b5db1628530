"""Follow-ups that go on with a list or a summary."""

import pytest

from crag.text.continuations import continue_list, continue_summary, read_fragment


@pytest.mark.parametrize(
    ("question", "fragment"),
    [
        ("And in the North?", "in the North"),
        ("what about 2023?", "2023"),
        ("by product?", "by product"),
        ("그럼 북부는?", "북부"),
        ("那北区呢？", "北区"),
        ("그럼 북부는요?", "북부"),
        ("입장료가 뭐예요?", ""),
        ("우산을 가져와야 하나요?", ""),
        ("표 열 장 사면 얼마예요?", ""),
        ("모임 장소 알려줘", ""),
        ("Who wrote it?", ""),
        ("How many days are there?", ""),
        ("The North had a long winter. It sold nothing.", ""),
        ("and in the north of the country where the river meets the sea and the hills begin?", ""),
        (f"그럼 북부에서는{' ' * 2000}? x", ""),  # in time that does not grow with every space
    ],
)
def test_an_incomplete_question_names_a_part(question, fragment):
    assert read_fragment(question) == fragment


@pytest.mark.parametrize(
    ("previous", "question", "request_"),
    [
        ("List all deadlines", "and the e-mail addresses?", "List all e-mail addresses"),
        ("마감일 모두 나열해 줘", "그럼 이메일 주소는?", "이메일 주소 모두 나열해 줘"),
        ("마감일 모두 나열해 줘", "신청서는 어디에 내나요?", ""),
        ("列出所有截止日期", "那邮箱地址呢？", "列出所有邮箱地址"),
        ("When is the deadline?", "and the e-mail addresses?", ""),
        ("List all deadlines", "Who wrote the handbook?", ""),
    ],
)
def test_a_list_is_followed_by_another(previous, question, request_):
    assert continue_list(previous, question) == request_


@pytest.mark.parametrize(
    ("previous", "question", "request_"),
    [
        ("Summarize the handbook", "shorter, please", "Summarize the handbook, in three sentences"),
        ("Summarize the handbook", "in two sentences", "Summarize the handbook, in two sentences"),
        ("Summarize the handbook", "as a table", "Summarize the handbook, as a table"),
        ("Summarize the handbook", "Who wrote it?", ""),
        ("Who wrote the handbook?", "shorter, please", ""),
    ],
)
def test_a_summary_is_asked_for_in_another_form(previous, question, request_):
    assert continue_summary(previous, question) == request_
