"""Suggested questions: what a person would ask, answerable, and not asked before."""

from __future__ import annotations

import pytest

from crag.library.questions.surroundings import Surroundings
from crag.library.suggestions import find_questions
from tests.doubles.library import open_library

GUIDE = """# Espresso machine
The espresso machine is descaled every six weeks with citric acid.
# Grinder
The burr grinder is cleaned every Friday with a dry brush.
# Beans
A bag of Lisbon beans costs 12 euros, and the shop sends it to the office by post.
# References
Smith, The Joy of Coffee, was published in 1998.
"""
OTHER = "The boiler room is checked every autumn by a plumber from Lyon.\n"


@pytest.fixture
def guided(tmp_path):
    library = open_library(tmp_path / "home")
    library.pipeline.add_bytes("coffee.md", GUIDE.encode())
    library.pipeline.add_bytes("boiler.md", OTHER.encode())
    yield library
    library._database.close()


def used(library, question):
    return [library.search(question, 1)[0].id]


def test_starter_questions_come_from_as_many_documents_as_possible(guided):
    assert guided.suggest_questions(2) == [
        "How often is the boiler room checked?",
        "How often is the espresso machine descaled?",
    ]


def test_starter_questions_follow_the_library(guided):
    before = guided.suggest_questions(1)
    guided.remove([source.id for source in guided.sources() if source.title == "boiler.md"])
    assert guided.suggest_questions(1) != before


def test_follow_ups_ask_about_the_passages_beside_what_was_used(guided):
    machine = used(guided, "How often is the espresso machine descaled?")
    offered = guided.suggest_follow_ups(machine, "Every six weeks.", ["How often is the espresso machine descaled?"])
    assert offered == ["How often is the burr grinder cleaned?", "How much does a bag of Lisbon beans cost?"]


def test_what_was_said_or_asked_is_not_asked_again(guided):
    machine = used(guided, "How often is the espresso machine descaled?")
    said = "Every six weeks; the burr grinder is cleaned with a dry brush."
    asked = ["Espresso machine?", "What about a bag of Lisbon beans?"]
    assert guided.suggest_follow_ups(machine, said, asked) == []


def test_only_what_finds_its_own_passage_is_offered(guided):
    machine = used(guided, "How often is the espresso machine descaled?")
    boiler = guided.search("boiler room", 1)[0].source_id
    assert guided.suggest_follow_ups(machine, "Every six weeks.", source_ids=[boiler]) == []


def test_nothing_used_leads_nowhere(guided):
    assert guided.suggest_follow_ups([], "", []) == []
    assert guided.suggest_follow_ups([10_000], "", []) == []


ENGLISH = (
    " It is one of the rules that are in force for all of the people who work in the house, and this is by design."
)


def ask(text, heading="", title="", around=""):
    return [one.question for one in find_questions(text, heading, Surroundings(f"{text}\n{around}", title))]


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The Aarhus site is open from 06:30 to 20:00.", "When is the Aarhus site open?"),
        ("Your probation period lasts three months.", "How long does my probation period last?"),
        (
            "All full-time employees have 25 days of paid leave a year.",
            "How many days of paid leave do full-time employees have?",
        ),
        ("The monthly rent is 1,140 pounds.", "How much is the monthly rent?"),
        ("The rental deposit is two months’ rent.", "How much is the rental deposit?"),
        ("The trial period is three months.", "How long is the trial period?"),
        ("Every office has a budget of 9,000 kroner a year.", "How much is the budget?"),
        ("To reset a forgotten password, follow these steps:", "How do I reset a forgotten password?"),
        ("Work accidents must be reported within twenty-four hours.", "When must work accidents be reported?"),
        ("The fire doors are checked every six weeks.", "How often are the fire doors checked?"),
        ("The burr grinder is cleaned on Fridays.", "When is the burr grinder cleaned?"),
        ("Compiled traces are slow, because each one is checked twice.", "Why are compiled traces slow?"),
        ("A door code must have at least six digits.", "How many digits must a door code have?"),
    ],
)
def test_a_fact_is_asked_for_as_a_person_would(sentence, question):
    assert ask(sentence + ENGLISH) == [question]


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("HuggingGPT is a framework to plan tasks. We use HuggingGPT here.", ["What is HuggingGPT?"]),
        ("A Turing machine is a model of a computer. Each Turing machine has a tape.", ["What is a Turing machine?"]),
        ("Ada Lovelace was an English mathematician. The notes of Ada Lovelace are famous.", ["Who was Ada Lovelace?"]),
        ("Microsoft was founded on April 4, 1975. They say that Microsoft is big.", ["When was Microsoft founded?"]),
        ("Company is a legal entity in most of the countries.", []),
        ("The fire drills are held in the presence of a mate.", []),
        ("The company was founded in 1998.", []),
        ("This method is a way to save the money of the firm.", []),
        ("It was founded in 1998 by the owner of the shop.", []),
    ],
)
def test_only_what_is_named_clearly_is_asked_about(text, questions):
    title = "Microsoft" if "Microsoft" in text else ""
    assert ask(text + ENGLISH, title=title) == questions


@pytest.mark.parametrize(
    ("heading", "questions"),
    [
        ("Guide › 2.1 Types of Memory", ["What types of memory are there?"]),
        ("Tips for Example Selection", ["What are the tips for example selection?"]),
        ("How to Reset Your Password", ["How do I reset my password?"]),
        ("Token Manipulation", ["How does token manipulation work?"]),
        ("How is memory reset?", ["How is memory reset?"]),
        ("How does it end?", []),
        *(
            (heading, [])
            for heading in ("Company", "Introduction", "Test Slide", "Slide 3", "Table of contents", "1.2")
        ),
    ],
)
def test_only_a_heading_that_asks_for_something_becomes_a_question(heading, questions):
    text = (
        "There is short memory and long memory of either of two types. When you reset it, the password is gone, and "
        "that is a token of how the manipulation went. We had tips for the selection of an example."
    )
    assert ask(text, heading) == questions


def test_a_heading_that_says_when_is_not_asked_about():
    text = "Do not smoke before measuring. Before measuring, rest for five minutes and sit with your back supported."
    assert ask(text, "Before measuring") == []


def test_a_heading_without_text_about_it_is_not_asked_about():
    assert ask("The page is in the works. It will be there for you by the end of the week.", "Types of memory") == []


@pytest.mark.parametrize("heading", ["References", "Paper › Bibliography", "Book › Colophon", "참고 문헌"])
def test_boilerplate_is_not_asked_about(heading):
    assert ask("The Aarhus site is open from 06:30 to 20:00." + ENGLISH, heading) == []


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ('"핵심근무시간"이란 모든 임직원이 근무하여야 하는 시간을 말한다.', ["핵심근무시간이란 무엇인가요?"]),
        ("독립문(獨立門)은 1897년에 완공되었다.", ["독립문은 언제 완공되었나요?"]),
        ("연차휴가(年次休暇)는 임직원에게 15일을 부여한다.", ["연차휴가는 며칠인가요?"]),
        ("주차료(駐車料)는 10분에 300원입니다.", ["주차료는 얼마인가요?"]),
        ("회원(會員)은 2시간까지 무료이고 그 뒤로는 10분에 300원입니다.", []),
        ("이것은 회사에서 매우 중요한 제도이다.", []),
        ("云溪古镇（云溪）位于省城西南方向约120公里处。", ["云溪古镇位于哪里？"]),
        ("镇内不可使用无人机，因为古镇靠近机场。", ["为什么镇内不可使用无人机？"]),
        ("其中最古老的是建于1402年的望月桥。", ["望月桥是什么时候建的？"]),
        ("這個方法是一種很好的制度。", []),
    ],
)
def test_korean_and_chinese_are_asked_in_their_language(text, questions):
    assert ask(text) == questions


def test_chinese_is_asked_in_its_script():
    assert ask("電晶體（半導體）是一種固體的開關元件。") == ["電晶體是什麼？"]
    assert ask("晶体管（半导体）是一种固体的开关元件。") == ["晶体管是什么？"]


@pytest.mark.parametrize(
    "text",
    [
        "Die Kompaktheit ist eine Eigenschaft von Räumen. Der Raum ist 12 Meter lang und kostet 5 Euro.",
        "La maison est un refuge pour la famille. Le loyer est de 900 euros par mois.",
        "これは日本語の文章です。東京は日本の首都です。",
    ],
)
def test_other_languages_are_not_asked_about(text):
    assert ask(text, "Types of memory") == []


def test_code_tables_and_list_items_are_no_sentences():
    assert ask("PH-20 | is open from 08:00 to 09:00.\nQ: When is Tom Smith open from 8 to 9.\n" + ENGLISH) == []
