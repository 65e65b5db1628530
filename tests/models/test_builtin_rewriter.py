"""The built-in rewriter: follow-ups in their conversation, and web queries."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.models.builtin_rewriter import BuiltinRewriter
from crag.options import RewriteStyle, RunOptions
from crag.protocols import MAX_QUERY_LENGTH, CondensedQuestion
from crag.text.language import extract_terms, is_in_language_of
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Passage, Turn

ENGLISH = "Who designed the Halden lighthouse?"
KOREAN = "한강 도서관은 누가 설계했나요?"
CHINESE = "青山图书馆是谁设计的？"
HISTORY = (
    Turn("user", "How does the ReAct agent use self-reflection?"),
    Turn("assistant", "It reflects on failures [1]."),
)
PRICE = (Turn("user", "What does the Vantor pump cost?"), Turn("assistant", "900 euros [1]."))
DOCUMENTS = {
    "catalogue": (
        "The Vantor pump is sold for 900 euros. The warranty of the Vantor pump is two years.",
        "The Ostrel pump.",
    ),
    "handbook": (
        "Overtime costs one and a half times the hourly wage.",
        "Parental leave costs nothing for six months.",
    ),
    "규정": ("재택근무를 하는 직원에게 통신비를 지원한다.", "전기 요금은 지원하지 않는다."),
    "아파트": ("반려동물은 두 마리까지 기를 수 있다.",),
    "手册": ("水泵保修期为三年。", "磨豆机不在保修期内。"),
    "指南": ("望月桥是古镇最古老的桥。", "未使用的年假最多可以结转五天。"),
    "휴가": ("사용하지 않은 연차 휴가는 다음 해로 이월할 수 있다.", "휴가를 쓰려면 승인을 받는다."),
    "Lease agreement": (
        "No dogs may be kept. One cat is allowed.",
        "The lease runs for 24 months.",
    ),
    "여비": (
        "국내 출장 숙박비는 9만 원이다. 해외 출장 숙박비는 200달러이다.",
        "A300의 필터 가격은 3만 원이다. A500의 필터 가격은 6만 원이다.",
    ),
    "宠物": ("每户最多可养两只宠物，须办理登记。登记费用为50元。",),
    "워크숍": ("참가 신청은 4월 3일까지 받고, 참가 신청을 취소하려면 담당자에게 알린다.",),
}
PASSAGES = [
    Passage(number, document, document, document, text, text)
    for number, (document, text) in enumerate(
        ((document, text) for document, texts in DOCUMENTS.items() for text in texts), start=1
    )
]


def find_passages(text: str) -> list[Passage]:
    wanted = set(extract_terms(text))
    shared = {passage: len(wanted.intersection(extract_terms(passage.text))) for passage in PASSAGES}
    return sorted((passage for passage in PASSAGES if shared[passage]), key=lambda passage: -shared[passage])


def condense_with_reason(question: str, history: tuple[Turn, ...]) -> CondensedQuestion:
    rewriter = BuiltinRewriter(CountedTermStatistics(passage.text for passage in PASSAGES))
    return rewriter.condense(question, history, find_passages, Cancellation())


def condense(question: str, history: tuple[Turn, ...] = HISTORY) -> str:
    return condense_with_reason(question, history).text


@pytest.mark.parametrize(
    "question",
    [
        "What are the five pillars of the National Cybersecurity Strategy?",
        "Who sponsored this research on TraceMonkey?",
        "Which of these drugs from Bayer are sold?",
        "Which of the two Calora ovens is heavier?",
        "Do both electric Calora ovens need a fuse?",
    ],
)
def test_a_noun_that_is_specified_refers_to_no_earlier_question(question):
    assert condense(question) == question


@pytest.mark.parametrize(
    "question",
    [
        "Which is higher?",
        "Who is older?",
        "What are the two parts of it?",
        "Which of the two will Halden buy?",
        "Who wrote this book?",
        "And the five pillars?",
    ],
)
def test_a_noun_that_is_not_specified_does(question):
    assert condense(question) != question


def rewrite(question: str, style: RewriteStyle) -> str:
    return BuiltinRewriter(CountedTermStatistics()).rewrite(question, RunOptions(rewrite=style), Cancellation())


@pytest.mark.parametrize(
    "question", ["Why?", "When was it published?", "And its tools?", "What about memory?", "그것은 언제?"]
)
def test_a_follow_up_borrows_key_words_of_the_last_question(question):
    condensed = condense(question)
    assert condensed.startswith(question)
    assert "ReAct" in condensed
    assert "failures" not in condensed


@pytest.mark.parametrize(
    "question",
    [
        "Who built the Halden lighthouse?",
        "What is TraceMonkey?",
        "what is a mutex?",
        "Who was Lincoln?",
        "What does CRAG mean?",
        "What is blacklisting and how long does it take?",
        "When did Lincoln die, and where was he buried?",
        "블랙리스트란 무엇인가?",
    ],
)
def test_a_question_that_names_its_topic_stays_as_it_is(question):
    assert condense(question) == question


def test_nothing_is_borrowed_where_nothing_was_asked():
    assert condense("Why?", ()) == "Why?"


@pytest.mark.parametrize(
    "question",
    [
        "What is the size?",
        "What is different?",
        "What is included?",
        "Who is eligible?",
        "And what is it?",
        "What are the causes and how are they treated?",
    ],
)
def test_one_key_word_that_names_no_topic_borrows_the_topic(question):
    assert "ReAct" in condense(question)


def test_a_follow_up_borrows_from_the_topic_before_it_and_not_from_an_older_one_or_from_small_talk():
    before = (*HISTORY, Turn("user", "What is TraceMonkey?"), Turn("assistant", "A compiler."), Turn("user", "Thanks!"))
    assert condense("Who wrote it?", before) == "Who wrote it? (TraceMonkey)"


def test_the_verb_of_a_name_is_not_borrowed_by_a_question_with_its_own():
    before = (Turn("user", "How many people does Moorby employ?"), Turn("assistant", "40."))
    assert condense("When was it founded?", before) == "When was it founded? (Moorby)"
    founded = (Turn("user", "When was it founded?", "When was it founded? (Moorby)"), Turn("assistant", "In 1975."))
    assert condense("Who is its director?", (*before, *founded)) == "Who is its director? (Moorby)"
    assert condense("By whom?", (*before, *founded)) == "By whom? (Moorby founded)"


def test_a_chain_of_follow_ups_keeps_its_subject():
    assert "ReAct" in condense("And then?", (*HISTORY, Turn("user", "Why?"), Turn("assistant", "Because.")))


def test_the_language_is_kept():
    condensed = condense("왜?", (Turn("user", "한강 도서관은 누가 설계했나?"),))
    assert condensed.startswith("왜?")
    assert "도서관" in condensed


@pytest.mark.parametrize(
    ("question", "history"),
    [
        ("overtime", PRICE),
        ("How is overtime paid?", PRICE),
        ("Is there parental leave?", PRICE),
        ("And what about overtime?", PRICE),
        ("What does it say about overtime?", PRICE),
        ("If a pump leaks, how long may it run?", PRICE),
        ("반려동물은?", (Turn("user", "재택근무를 하면 무엇을 지원하나요?"),)),
        ("望月桥呢？", (Turn("user", "水泵的保修期有多长？"),)),
        ("谢谢。那望月桥几岁了？", (Turn("user", "水泵的保修期有多长？"),)),
        ("Was ist ein Knoten?", PRICE),
        ("How long is the lease?", (Turn("user", "May I keep a dog or a cat?"),)),  # the title names the lease
    ],
)
def test_a_new_topic_is_not_mixed_with_the_old_one(question, history):
    assert condense(question, history) == question


@pytest.mark.parametrize(
    ("question", "history", "condensed"),
    [
        ("How long is the warranty?", PRICE, "How long is the warranty? (Vantor pump)"),
        ("And the Ostrel?", PRICE, "And the Ostrel? (Vantor pump cost)"),
        ("And in 2023?", (Turn("user", "What was the profit in 2024?"),), "And in 2023? (profit)"),
        ("in euros?", PRICE, "in euros? (Vantor pump cost)"),
        ("No, the other one.", PRICE, "No, the other one. (Vantor pump cost)"),
        ("Tell me more.", PRICE, "Tell me more. (Vantor pump cost)"),
        (
            "전기 요금은?",
            (Turn("user", "재택근무를 하면 통신비를 지원하나요?"),),
            "전기 요금은? (재택근무 통신비 지원)",
        ),
        (
            "그럼 며칠까지 이월할 수 있나요?",
            (Turn("user", "연차 휴가는 며칠인가요?"),),
            "그럼 며칠까지 이월할 수 있나요? (연차 휴가)",
        ),
        (
            "그건 언제까지예요?",
            (Turn("user", "그럼 며칠까지 이월할 수 있나요?", "그럼 며칠까지 이월할 수 있나요? (연차 휴가)"),),
            "그건 언제까지예요? (연차 휴가 이월)",
        ),
        ("취소는요?", (Turn("user", "참가 신청은 언제까지예요?"),), "취소는요? (참가 신청)"),
        ("어디서 해요?", (Turn("user", "워크숍은 언제 하나요?"),), "어디서 해요? (워크숍)"),
        ("可以结转几天？", (Turn("user", "年假有几天？"),), "可以结转几天？ (年假)"),
        ("磨豆机呢？", (Turn("user", "水泵的保修期有多长？"),), "磨豆机呢？ (保修期)"),
        ("해외는요?", (Turn("user", "국내 출장 숙박비는 얼마인가요?"),), "해외는요? (출장 숙박비)"),
        ("식비는?", (Turn("user", "해외는요?", "해외는요? (출장 숙박비)"),), "식비는? (출장 숙박비)"),
        ("가격은?", (Turn("user", "A300 필터는 얼마나 자주 교체하나요?"),), "가격은? (A300 필터)"),
        ("아니요, A500이요.", (Turn("user", "가격은?", "가격은? (A300 필터)"),), "아니요, A500이요. (필터 가격)"),
        (
            "정말요? 며칠까지 이월해요?",
            (Turn("user", "연차 휴가는 며칠인가요?"),),
            "정말요? 며칠까지 이월해요? (연차 휴가)",
        ),
        ("要登记吗？", (Turn("user", "每户可以养几只宠物？"),), "要登记吗？ (每户 宠物)"),
        ("那费用呢？", (Turn("user", "要登记吗？", "要登记吗？ (宠物)"),), "那费用呢？ (宠物 登记)"),
        ("後來呢？", (Turn("user", "望月桥是谁建的？"),), "後來呢？ (望月桥 建)"),
        ("Really? How long is the warranty?", PRICE, "Really? How long is the warranty? (Vantor pump)"),
        ("What would be second best?", PRICE, "What would be second best? (Vantor pump cost)"),
        (
            "And in 2023?",
            (Turn("user", "And the loss?", "And the loss? (2024 factory)"),),
            "And in 2023? (factory loss)",
        ),
        ("Was ist er?", (Turn("user", "Wer ist Martin Thoma?"),), "Was ist er? (Martin Thoma)"),
        ("And then?", (Turn("user", "Why?", "Why? (Vantor pump)"),), "And then? (Vantor pump)"),
    ],
)
def test_a_question_without_a_subject_goes_with_the_topic_before_it(question, history, condensed):
    assert condense(question, history) == condensed


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How is overtime paid?", "It names its own subject, so nothing was added."),
        ("Why?", "It names no subject, so “Vantor pump cost” was added from the previous question."),
        ("Who designed it?", "It refers back, so “Vantor pump cost” was added from the previous question."),
        ("overtime", "No passage mentions both “overtime” and “Vantor pump cost”, so nothing was added."),
    ],
)
def test_the_reason_is_said_in_words(question, reason):
    assert condense_with_reason(question, PRICE).reason == reason


def test_a_topic_with_a_section_of_its_own_stands_alone():
    minutes = [
        Passage(1, "s1", "회의록", "회의록", "축제 무대는 체육관에 세운다.", "", heading="안건 1. 축제 준비"),
        Passage(2, "s1", "회의록", "회의록", "모두 300만 원으로 정했다.", "", heading="안건 2. 홍보 예산"),
    ]
    rewriter = BuiltinRewriter(CountedTermStatistics(f"{one.subject} {one.text}" for one in minutes))

    def find(text: str) -> list[Passage]:
        return minutes

    history = (Turn("user", "축제 무대는 어디에 세우나요?"),)
    asked = "그럼 홍보 예산은?"
    assert rewriter.condense(asked, history, find, Cancellation()).text == asked


def test_the_documents_are_named_as_the_reason():
    reason = condense_with_reason("How long is the warranty?", PRICE).reason
    assert reason.startswith("A passage mentions “warranty” together with “Vantor pump”, so “Vantor pump” was added")


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Can you please tell me who won the 2024 NBA finals?", "who won the 2024 NBA finals?"),
        ("Who won the 2024 NBA finals?", "Who won the 2024 NBA finals?"),
        ("请问谁设计了青山图书馆？", "谁设计了青山图书馆？"),
        ("please", "please"),
    ],
)
def test_the_question_style_drops_the_filler(question, query):
    assert rewrite(question, "question") == query


def test_the_keyword_style_keeps_three_and_names_whole():
    assert (
        rewrite("Who did the Chicago Bears draft first in the 2024 NFL draft?", "keywords") == "Chicago Bears 2024 NFL"
    )
    assert rewrite("Who won the 2024 NBA finals?", "keywords") == "2024 NBA finals"


def test_no_rewriting_means_the_same_words():
    assert rewrite("please tell me, why?", "none") == "please tell me, why?"


@pytest.mark.parametrize("style", ["none", "question", "keywords"])
@pytest.mark.parametrize("question", ["word " * 500, "字" * 2_000, "A" * 5_000, "?" * 500, "{0.__class__} $x"])
def test_no_query_is_longer_than_the_web_takes(question, style):
    assert 0 < len(rewrite(question, style)) <= MAX_QUERY_LENGTH
    assert condense("Why? " + question).startswith("Why? " + question)


@pytest.mark.parametrize("question", [ENGLISH, KOREAN, CHINESE])
@pytest.mark.parametrize("style", ["question", "keywords"])
def test_a_query_keeps_the_language_and_at_most_three_words(question, style):
    query = rewrite(question, style)
    assert is_in_language_of(query, question)
    assert style == "question" or 1 < len(query.split()) <= 3


@pytest.mark.parametrize(
    ("before", "follow_up", "borrowed"),
    [
        (CHINESE, "它有多少藏书？", "青山图书馆"),
        (CHINESE, "为什么？", "青山图书馆"),
        (CHINESE, "豆腐怎么做？", ""),
        (CHINESE, "吉他有几根弦？", ""),
        (KOREAN, "그 건물은 몇 층인가요?", "도서관"),
        (KOREAN, "그건 언제 지어졌나요?", "한강"),
        (KOREAN, "김치는 어떻게 만드나요?", ""),
        (KOREAN, "2015년에 무슨 일이 있었나요?", ""),
        (KOREAN, "그때 무슨 일이 있었나요?", "도서관"),
        ("참가비는 얼마인가요?", "2015년에 뭐가 있었나요?", ""),
        ("서울에서 가장 높은 산은 무엇인가요?", "왜?", "서울"),
    ],
)
def test_chinese_and_korean_follow_ups_borrow_words_and_questions_do_not(before, follow_up, borrowed):
    condensed = condense(follow_up, (Turn("user", before),))
    assert condensed.startswith(follow_up)
    assert (borrowed in condensed) if borrowed else condensed == follow_up
