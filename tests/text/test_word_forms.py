"""Forms of irregular verbs, and synonyms."""

import pytest

from crag.text.language import extract_terms
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.text.word_forms import find_other_forms, index_other_forms


@pytest.mark.parametrize(
    ("term", "forms"),
    [
        ("lead", {"led"}),
        ("written", {"writ", "wrot"}),
        ("inhabitant", {"population"}),
        ("buy", {"bought", "purchas"}),
        ("found", set()),
        ("sail", set()),
    ],
)
def test_irregular_verbs_and_common_words_have_other_forms(term, forms):
    assert find_other_forms(term) == forms


def test_a_question_is_covered_by_another_form_of_its_verb():
    asked = analyze_question("Who leads Orbel?", CountedTermStatistics())
    assert asked.covered_share(["orbel", "led"]) == 1
    assert asked.covered_share(["orbel", "leader"]) < 1


def test_a_name_has_no_other_forms():
    assert not analyze_question("Where does Clara Rose live?", CountedTermStatistics()).forms


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("월세 얼마예요?", "차임"),
        ("집주인", "임대인"),
        ("세입자", "임차인"),
        ("부작용", "이상반응"),
    ],
)
def test_everyday_korean_words_are_covered_by_their_synonyms(question, text):
    asked = analyze_question(question, CountedTermStatistics())
    assert asked.covered_share(extract_terms(text)) == 1
    assert asked.covered_share(extract_terms("우산")) == 0


def test_a_synonym_stands_for_the_whole_word_only():
    assert index_other_forms(extract_terms("임대차 기간")) == {}


def test_a_form_that_is_asked_for_itself_stands_for_no_other_term() -> None:
    assert index_other_forms(["lead", "led", "sail"]) == {}
    assert index_other_forms(["lead", "sail"]) == {"led": "lead"}
