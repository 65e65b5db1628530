"""The key words of a long question."""

import math

import pytest

from crag.text.questions import (
    analyze_question,
    announces_more,
    extract_asking_sentences,
    is_long_question,
    matches_answer_type,
)
from crag.text.relevance_scores import CountedTermStatistics

TEXT = "The keeper wrote down the weather of every day. Was it worth it? He thought so. " * 30
CHINESE = "守塔人每天把天气写进一本厚厚的书里。" * 80


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When was it built", "When was it built"),
        (f"{TEXT}\n\nWhen was the lighthouse built?", "When was the lighthouse built?"),
        (f"When was the lighthouse built? Here is what I know:\n{TEXT}", "When was the lighthouse built?"),
        (f"{CHINESE}灯塔是什么时候建的？", "灯塔是什么时候建的？"),
        (f"Sum this up.\n{CHINESE}Thank you.", "Sum this up."),
    ],
)
def test_it_stands_at_the_beginning_or_at_the_end(question, asked):
    assert asked in extract_asking_sentences(question)
    assert not is_long_question(extract_asking_sentences(question))


@pytest.mark.parametrize("question", ["x" * 5000, "? " * 3000, f"{'word ' * 900}?", "\n" * 1001 + "a"])
def test_whatever_is_sent_something_short_is_asked(question):
    assert extract_asking_sentences(question).strip()
    assert len(extract_asking_sentences(question)) <= 1001


class EachOfItsOwnRarity:
    """A library in which no two terms are equally rare."""

    def idf(self, terms):
        return {term: 1 / (3 + number) for number, term in enumerate(dict.fromkeys(terms))}


def test_a_share_does_not_depend_on_the_order_in_which_terms_are_added():
    question = analyze_question(
        "alder birch cedar elm fir hazel ivy juniper laurel maple oak pine", EachOfItsOwnRarity()
    )
    terms = list(question.weights)
    whole = math.fsum(question.weights.values())
    for count in range(1, len(terms) + 1):
        assert question.covered_share(terms[:count]) == math.fsum(map(question.weights.get, terms[:count])) / whole


@pytest.mark.parametrize(("text", "is_date"), [("Staff may march on.", False), ("It opens in May.", True)])
def test_verbs_are_no_months(text, is_date):
    asked = analyze_question("When does the hall open?", CountedTermStatistics())
    assert matches_answer_type(asked, text) is is_date


@pytest.mark.parametrize(
    ("sentence", "announces"),
    [
        ("There are three known limits.", True),
        ("It has many advantages.", True),
        ("Sick pay lasts up to ten weeks.", False),
        ("The roof is cleaned every two years.", False),
        ("A seat costs twelve pounds.", False),
    ],
)
def test_a_measure_announces_nothing(sentence, announces):
    assert announces_more(sentence) is announces


@pytest.mark.parametrize(
    ("question", "text", "matches"),
    [
        ("How many parties may use the software?", "The software may not be passed to third parties.", False),
        ("How many parties may use the software?", "The software is for the parties on the 4th floor.", False),
        ("How many parties may use the software?", "The parties may use it in line with section 7.", False),
        ("How many parties may use the software?", "The parties may use it for 30 days at 40 euros.", False),
        ("How many parties may use the software?", "The parties may use the software for 40 EUR.", False),
        ("How many parties may use the software?", "Up to 12 parties may use the software.", True),
        ("How many parties use it?", "One third of the parties use it.", True),
        ("How many boats are there?", "Clara Moor repaired the boats with 12 helpers.", False),
        ("How many boats are there?", "Twelve helpers spent the winter with the boats.", False),
        ("How many feet deep is the harbour?", "The harbour is 40 feet deep.", True),
        ("How many kilometres is it to Varn?", "It is 12 kilometres to Varn.", True),
        ("How many cents is a stamp?", "A stamp costs 80 cents.", True),
        ("How many boats are there?", "There are 14 large sailing boats and 12 helpers.", True),
        ("How many boats are there?", "Boats of the harbour: 14", True),
        ("How many boats are there?", "In the harbour lie 14.", True),
        ("How many parties use it?", "The parties are up to 25x faster with it.", False),
        ("How much is the fine?", "The fine is due within 3 days.", False),
        ("How much is the fine?", "The fine is 90 euros and due within 3 days.", True),
        ("How much notice must be given?", "Notice of 3 weeks must be given.", True),
        ("育嬰假多久？", "育嬰假可申請。", False),
    ],
)
def test_a_figure_of_something_else_is_no_count(question, text, matches):
    assert matches_answer_type(analyze_question(question, CountedTermStatistics()), text) is matches
