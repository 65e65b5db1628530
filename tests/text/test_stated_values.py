"""Whether a sentence states a value of the kind that a question asks for, and not only its words."""

from __future__ import annotations

import pytest

from crag.models.embedders import open_embedder
from crag.protocols import Quotation
from crag.settings import Settings
from crag.text.coverage import BuiltinCoverageCheck
from crag.text.relevance_scores import CountedTermStatistics


@pytest.fixture(scope="session")
def check() -> BuiltinCoverageCheck:
    return BuiltinCoverageCheck(open_embedder("builtin", Settings()), CountedTermStatistics())


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("When must the berth be paid?", "The berth must be paid within 30 days."),
        ("When was the ferry painted?", "The ferry was painted in the 1840s."),
        ("What year was the ferry built?", "The ferry was built in 1980."),
        ("How long is the pier?", "The pier is 300 metres long."),
        ("How many sailing boats does Varnholt have?", "Varnholt has 58 boats for sailing."),
        ("Where was the ferry built?", "The ferry was built in Moor by Clara."),
        ("Who plays the captain in the regatta?", "Clara Moor plays the captain in the regatta."),
        ("What is the meaning of the word halden?", "The word halden means a slope."),
        ("What is the ferry made of?", "The ferry is made of iron and oak."),
    ],
)
def test_a_stated_value_covers_the_question(check: BuiltinCoverageCheck, question: str, sentence: str) -> None:
    assert check.is_covered(question, [Quotation(sentence, "")])


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("When was the ferry built?", "The ferry was built with a half-hour bell."),
        ("What year was the ferry built?", "The ferry was built of iron for $1980 in May."),
        ("How many boats does Varnholt have?", "Varnholt has its first boat and six sheds."),
        ("What is the population of Varnholt?", "The population of Varnholt is the 6th largest."),
        ("How long was Clara captain?", "Clara, captain of 8 boats, won 41–33."),
        ("Where was the ferry built?", "Moor built the ferry with care."),
        ("Who plays the captain in the regatta?", "She is known for playing the captain in the regatta of Odby."),
        ("What is the meaning of the word halden?", "The word halden is written on the boats of Varnholt."),
        ("What is the ferry made of?", "The ferry is the oldest boat of Varnholt."),
    ],
)
def test_the_same_words_without_such_a_value_do_not(check: BuiltinCoverageCheck, question: str, sentence: str) -> None:
    assert not check.is_covered(question, [Quotation(sentence, "")])
