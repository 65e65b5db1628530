"""Grouping questions and naming the groups."""

import pytest

from crag.inspection.coverage_gaps import normalize_question
from crag.inspection.question_topics import group_questions, name_topic, topic_terms
from crag.models.embedders import DeferredEmbedder
from crag.settings import Settings

QUESTIONS = [
    "Who won the 2024 NBA finals?",
    "How is a hydraulic turbine cooled?",
    "Who was the most valuable player of the NBA finals in 2024?",
    "양자 컴퓨터의 오류 정정은 무엇인가?",
    "Which turbine cooling did the hydraulic engineers reject?",
    "양자 컴퓨터는 오류를 어떻게 줄이나요?",
    "誰發明了蒸汽機車?",
    "第一台蒸汽機車在哪一年製造?",
]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    embedder = DeferredEmbedder("builtin", Settings(home=tmp_path_factory.mktemp("vectors")))
    return embedder.embed_documents(QUESTIONS)


def rarity(questions):
    return dict.fromkeys(sorted({term for question in questions for term in topic_terms(question)}), 3.0)


def test_questions_on_one_subject_form_a_group_in_each_language(vectors):
    assert group_questions(QUESTIONS, vectors, rarity(QUESTIONS)) == [[0, 2], [1, 4], [3, 5], [6, 7]]


def test_the_order_in_which_they_were_asked_changes_no_group(vectors):
    turned = [*range(len(QUESTIONS))][::-1]
    groups = group_questions([QUESTIONS[place] for place in turned], vectors[turned], rarity(QUESTIONS))
    assert sorted(sorted(turned[place] for place in places) for places in groups) == [[0, 2], [1, 4], [3, 5], [6, 7]]


def test_a_word_common_in_the_library_groups_nothing(vectors):
    common = rarity(QUESTIONS) | {"nba": 0.01, "final": 0.01, "2024": 0.01}
    alone = group_questions(QUESTIONS[:3:2], vectors[[0, 2]] * 0, common)
    assert alone == [[0], [1]]


@pytest.mark.parametrize(
    ("questions", "name"),
    [
        (QUESTIONS[:3:2], "2024 NBA finals"),
        (["Who directed Oppenheimer?", "When was Oppenheimer filmed?"], "Oppenheimer"),
        (["Which valve does  the pump need?"], "Which valve does the pump need?"),
        (["Which valve does the pump need?", "Is the valve of brass?"], "valve"),
        (["how is a turbine cooled?", "which turbine cooling is best?"], "turbine cooled"),
        ([QUESTIONS[3], QUESTIONS[5]], "양자 컴퓨터 오류"),
        (["Why does the pump get hot?", "How does a valve get wet although closed?", "Does a pump get old?"], "pump"),
        (["???"], "???"),
    ],
)
def test_a_group_is_named_in_its_own_words(questions, name):
    assert name_topic(questions, rarity(questions)) == name


def test_rare_terms_name_the_group():
    asked = ["which valve does the pump need?", "does the pump have a valve?"]
    assert name_topic(asked, rarity(asked) | {"pump": 0.1}) == "valve"


def test_the_same_question_in_other_dress_is_the_same():
    assert normalize_question("Who  won the ＮＢＡ finals?!") == normalize_question("who won the nba finals")
    assert normalize_question("Who won the NBA finals?") != normalize_question("Who lost the NBA finals?")


OFFICE = [
    "연차는 며칠까지 사용이 되나요?",
    "주차장은 무료로 이용이 되나요?",
    "출장비 정산은 언제까지 해야 되나요?",
    "출장비는 누구에게 청구하면 되나요?",
]


def test_korean_verb_endings_neither_group_nor_name_questions(tmp_path):
    embedder = DeferredEmbedder("builtin", Settings(home=tmp_path))
    groups = group_questions(OFFICE, embedder.embed_documents(OFFICE), rarity(OFFICE))
    assert groups == [[0], [1], [2, 3]]
    names = [name_topic([OFFICE[place] for place in places], rarity(OFFICE)) for places in groups]
    assert names == [*OFFICE[:2], "출장비"]


def test_a_korean_question_keeps_the_names_in_other_letters():
    asked = ["NBA 결승은 어디에서 하나요?", "NBA 결승은 언제 하나요?"]
    assert name_topic(asked, rarity(asked)) == "NBA 결승"


def test_a_chinese_name_repeats_no_word_within_another():
    asked = ["年假可以休几天？", "年假能折算成工资吗？"]
    assert name_topic(asked, rarity(asked)) == "年假"
