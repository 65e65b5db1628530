"""Small talk through the real graph: a reply, and nothing searched, graded or cited."""

import pytest

from crag.graph.talk_node import REPLIES
from crag.inspection.steps import describe_steps
from crag.options import RunOptions
from crag.types import Turn
from tests.doubles.engine import ListWeb, passage
from tests.graph.conftest import Bench


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("Hello!", "Hello! Ask me a question about your documents."),
        ("고마워요!", "천만에요."),
        ("谢谢", "不客气。"),
        ("謝謝", "不客氣。"),
        ("Who are you?", "I am CRAG Chat"),
    ],
)
def test_a_reply_is_in_the_language_of_the_message_and_nothing_is_searched(message, reply):
    bench = Bench({1: 1.0}, RunOptions(web="auto"), ListWeb([passage(-1, origin="web")]))
    trace = bench.ask(message, history=(Turn("user", "Who founded it?"), Turn("assistant", "Ada Brown.")))
    assert trace.text.startswith(reply)
    assert (trace.outcome, trace.action, trace.citations, trace.verdicts) == ("talk", None, (), {})
    assert not trace.query_sent
    assert bench.retriever.queries == []
    assert not trace.condensed
    (step,) = describe_steps(trace)
    assert step.lines[0].endswith("so neither your documents nor the web were searched.")


@pytest.mark.parametrize(
    ("message", "engine"),
    [("Who are you?", "the built-in engine"), ("누구세요?", "내장 엔진"), ("你是谁？", "内置引擎")],
)
def test_the_built_in_engine_is_named_in_the_language_of_the_message(message, engine):
    text = Bench({1: 1.0}, engine_name="builtin").ask(message).text
    assert engine in text
    assert "Built-in" not in text


@pytest.mark.parametrize(("number", "shown", "rest"), [(11, 11, []), (12, 10, ["- and 2 more"])])
def test_the_documents_are_listed_and_long_lists_are_cut(number, shown, rest):
    titles = [f"Report {at}" for at in range(number)]
    held = [passage(at, title=title) for at, title in enumerate(titles, start=1)]
    trace = Bench({}, passages=held).ask("Which documents do you have?")
    assert trace.text.splitlines()[2:] == [*(f"- {title}" for title in titles[:shown]), *rest]
    assert trace.text.splitlines()[0] == f"I can search {number} documents:"
    assert Bench({}, passages=held[:1]).ask("어떤 문서가 있어?").text.startswith("찾아볼 수 있는 문서는 1개입니다:")
    assert Bench({}, passages=[]).ask("Which documents do you have?").text.startswith("There are no documents")


def test_the_web_is_promised_only_where_it_can_be_searched():
    assert "search the web" not in Bench({}).ask("What can you do?").text
    assert "search the web" in Bench({}, web=ListWeb([])).ask("What can you do?").text


def test_a_greeting_around_a_question_is_not_searched_for():
    bench = Bench({1: 1.0})
    bench.ask("Hi! What holds? Thanks!")
    assert bench.retriever.queries == ["What holds?"]


def test_every_language_has_every_reply():
    assert len({tuple(replies) for replies in REPLIES.values()}) == 1


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("time off", "Time off\nFull-time staff have 25 days a year."),
        ("long run week 6", "week | long run km\n5 | 16\n6 | 18"),
    ],
)
def test_a_message_like_small_talk_is_searched_if_a_passage_holds_its_words(message, text):
    assert Bench({1: 1.0}, passages=[passage(1, text=text)]).ask(message).outcome != "talk"
    assert Bench({1: 1.0}, passages=[passage(1, text="The boiler is new.")]).ask(message).outcome == "talk"
    assert Bench({1: 1.0}, passages=[passage(1, text="Hello! Thanks a lot!")]).ask("thanks a lot").outcome == "talk"
