"""Follow-up questions: on neighbouring passages, answerable, and not asked before."""

import pytest

from crag.library.suggestions import find_topics
from tests.doubles.library import open_library

GUIDE = """# Espresso machine
The espresso machine in the kitchen is descaled every six weeks with citric acid.
# Grinder care
The burr grinder is cleaned on Fridays with a dry brush.
# Beans and roasters
Beans are ordered from Lisbon on the first Monday of each month.
# References
Smith, The Joy of Coffee, 1998.
"""
OTHER = "The boiler of the house is checked every autumn by a plumber from Lyon.\n"


@pytest.fixture
def guided(tmp_path):
    library = open_library(tmp_path / "home")
    library.pipeline.add_bytes("coffee.md", GUIDE.encode())
    library.pipeline.add_bytes("boiler.md", OTHER.encode())
    yield library
    library._database.close()


def used(library, question):
    return [library.search(question, 1)[0].id]


def test_follow_ups_ask_about_the_headings_beside_what_was_used(guided):
    machine = used(guided, "How often is the espresso machine descaled?")
    offered = guided.suggest_follow_ups(machine, "Every six weeks.", ["How often is the espresso machine descaled?"])
    assert offered == ["What is Grinder care?", "What do the documents say about “Beans and roasters”?"]


def test_what_was_said_or_asked_is_not_asked_again(guided):
    machine = used(guided, "How often is the espresso machine descaled?")
    said = "Every six weeks; the care of the grinder is a dry brush."
    assert guided.suggest_follow_ups(machine, said, ["What about beans and roasters?"]) == []


def test_only_what_finds_its_own_passage_is_offered(guided):
    machine = used(guided, "How often is the espresso machine descaled?")
    boiler = guided.search("boiler of the house", 1)[0].source_id
    assert guided.suggest_follow_ups(machine, "Every six weeks.", source_ids=[boiler]) == []


def test_nothing_used_leads_nowhere(guided):
    assert guided.suggest_follow_ups([], "", []) == []
    assert guided.suggest_follow_ups([10_000], "", []) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("TextFooler (Jin et al. 2019) uses the same process. This process is slow.", ["TextFooler"]),
        ("- Prefix injection: the model begins with a promise.", ["Prefix injection"]),
        ("It is a method. The main question was another one.", []),
        ("블루스는 미국에서 생겼다. 그는 블루스는 슬프다고 했다. 이것은 음악이다.", ["블루스"]),
        ("糙米是稻穀脫去稻殼後的米。他是農夫。", ["糙米"]),
    ],
)
def test_topics_are_what_a_text_says_something_about(text, names):
    assert [topic.name for topic in find_topics(text)] == names


def test_chinese_is_asked_as_it_is_written():
    assert [topic.question for topic in find_topics("糙米是稻穀脫去稻殼後的米，這很好。")] == ["糙米是什麼？"]
    assert [topic.question for topic in find_topics("糙米是稻谷脱去稻壳后的米，这很好。")] == ["糙米是什么？"]
