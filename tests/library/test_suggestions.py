"""Suggested questions: what a person would ask, answerable, and not asked before."""

import pytest

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
