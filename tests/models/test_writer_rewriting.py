"""Rewritten questions: in the question's language, at most three keywords, and the question itself when in doubt."""

from __future__ import annotations

from typing import Any

import pytest

from crag.cancellation import Cancellation
from crag.models.builtin_writer import BuiltinRewriter
from crag.models.chat_models import open_chat_model
from crag.models.writer import ModelRewriter, parse_keywords
from crag.options import RunOptions
from crag.settings import Settings
from crag.text.language import is_in_language_of
from crag.types import Turn
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say

ENGLISH = "Who designed the Halden lighthouse?"
KOREAN = "한강 도서관은 누가 설계했나요?"
CHINESE = "青山图书馆是谁设计的？"
QUESTIONS = (ENGLISH, KOREAN, CHINESE)


def rewrite(settings: Settings, question: str, style: Any) -> str:
    model = open_chat_model("ollama:llama3.1:8b", settings)
    return ModelRewriter(model).rewrite(question, RunOptions(rewrite=style), Cancellation())


@pytest.mark.parametrize(
    ("question", "style", "sign"),
    [
        (ENGLISH, "keywords", "at most three keywords"),
        (KOREAN, "keywords", "많아야 세 개"),
        (CHINESE, "keywords", "最多三个关键词"),
        (ENGLISH, "question", "Rewrite"),
        (KOREAN, "question", "다시 씁니다"),
        (CHINESE, "question", "改写"),
    ],
)
def test_the_model_is_asked_in_the_questions_language(
    ollama: ScriptedOllama, settings: Settings, question: str, style: str, sign: str
) -> None:
    rewrite(settings, question, style)
    assert sign.lower() in ollama.chats[0].prompt.lower()
    assert ollama.chats[0].prompt.endswith(question)


@pytest.mark.parametrize(
    ("question", "reply", "query"),
    [
        (ENGLISH, "Halden lighthouse, designer, architect, 1874, Norway", "Halden lighthouse, designer, architect"),
        (ENGLISH, "Keywords: Halden lighthouse; architect", "Halden lighthouse, architect"),
        (ENGLISH, "1. Halden lighthouse\n2. architect", "Halden lighthouse, architect"),
        (ENGLISH, "I would search for the person who designed that lighthouse", "designed Halden lighthouse"),
        (ENGLISH, "할덴 등대, 설계자", "designed Halden lighthouse"),
        (KOREAN, "핵심어: 한강 도서관, 설계, 건축가, 1962년", "한강 도서관, 설계, 건축가"),
        (KOREAN, "Han River library, architect", "한강 도서관 설계"),
        (CHINESE, "青山图书馆、设计师、建筑、年份", "青山图书馆, 设计师, 建筑"),
        (CHINESE, "Qingshan library, designer", "青山图书馆 设计"),
        ("GPT-4o의 MMLU 점수는 얼마인가요?", "GPT-4o, MMLU", "GPT-4o, MMLU"),
    ],
)
def test_at_most_three_keywords_of_the_questions_language_are_searched_for(
    ollama: ScriptedOllama, settings: Settings, question: str, reply: str, query: str
) -> None:
    ollama.script = lambda asked: Say(reply)
    assert rewrite(settings, question, "keywords") == query


@pytest.mark.parametrize(
    ("question", "reply", "kept"),
    [
        (ENGLISH, "Who was the architect of the Halden lighthouse?", True),
        (ENGLISH, "할덴 등대의 설계자는 누구인가요?", False),
        (ENGLISH, "Кто построил маяк?", False),
        (KOREAN, "한강 도서관을 설계한 건축가는 누구인가요?", True),
        (KOREAN, "다시 쓴 질문: 한강 도서관의 설계자는?", True),
        (KOREAN, "Who designed the library?", False),
        (KOREAN, "汉江图书馆是谁设计的？", False),
        (CHINESE, "青山图书馆的设计师是谁？", True),
        (CHINESE, "Who designed the Qingshan library?", False),
    ],
)
def test_a_reply_in_another_language_is_not_searched_for(
    ollama: ScriptedOllama, settings: Settings, question: str, reply: str, kept: bool
) -> None:
    ollama.script = lambda asked: Say(reply)
    assert rewrite(settings, question, "question") == (reply.rpartition(": ")[2] if kept else question)


@pytest.mark.parametrize(
    ("before", "follow_up", "reply", "kept"),
    [
        (ENGLISH, "When was it built?", "When was the Halden lighthouse built?", True),
        (KOREAN, "언제 지어졌나요?", "한강 도서관은 언제 지어졌나요?", True),
        (KOREAN, "언제 지어졌나요?", "When was the library built?", False),
        (CHINESE, "它是哪年建成的？", "青山图书馆是哪年建成的？", True),
        (ENGLISH, "그건 언제 지어졌나요?", "Halden 등대는 언제 지어졌나요?", True),
        (ENGLISH, "그건 언제 지어졌나요?", "When was the Halden lighthouse built?", False),
    ],
)
def test_a_follow_up_stays_in_its_language(
    ollama: ScriptedOllama, settings: Settings, before: str, follow_up: str, reply: str, kept: bool
) -> None:
    ollama.script = lambda asked: Say(reply)
    model = open_chat_model("ollama:llama3.1:8b", settings)
    condensed = ModelRewriter(model).condense(follow_up, [Turn("user", before)], Cancellation())
    assert condensed == (reply if kept else follow_up)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("style", ["question", "keywords"])
def test_the_builtin_rewriter_keeps_the_language_and_three_words(question: str, style: Any) -> None:
    query = BuiltinRewriter().rewrite(question, RunOptions(rewrite=style), Cancellation())
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
        ("서울에서 가장 높은 산은 무엇인가요?", "왜?", "서울"),
    ],
)
def test_the_builtin_rewriter_borrows_words_where_a_follow_up_points_back(
    before: str, follow_up: str, borrowed: str
) -> None:
    condensed = BuiltinRewriter().condense(follow_up, [Turn("user", before)], Cancellation())
    assert condensed.startswith(follow_up)
    assert (borrowed in condensed) if borrowed else condensed == follow_up


@pytest.mark.parametrize(
    ("reply", "keywords"), [("", []), (" ,, ", []), ("a, a, b", ["a", "b"]), ("- x\n- y", ["x", "y"])]
)
def test_keywords_are_read_as_they_come(reply: str, keywords: list[str]) -> None:
    assert parse_keywords(reply) == keywords
