"""Answers that are no facts: tables, lists and the way back to a fact."""

import csv
import io

import pytest
from streamlit.testing.v1 import AppTest

from crag.app.application import Application
from crag.events import MatchesListed, TableQueried
from crag.runs.trace import Trace
from crag.types import Match, TableResult
from pages.chat.route_result import export_result
from tests.pages.conftest import add, ask, labels, said

ROBOTS = "Robot,Units sold\nMule,385\nAnt,510\nBee,90\n"


@pytest.fixture
def robots(services: Application) -> str:
    return add(services, "robots.csv", ROBOTS)


def test_a_result_is_shown_as_a_table_with_its_query(chat: AppTest, robots: str):
    ask(chat.run(), "Top 3 robots by units sold")
    assert not chat.exception
    assert said(chat, "calculated from your documents")
    assert chat.dataframe[0].value.to_dict("list") == {"Robot": ["Ant", "Mule", "Bee"], "Units sold": [510, 385, 90]}
    assert chat.code[0].value.startswith("SELECT")
    assert "Export as CSV" in [button.label for button in chat.get("download_button")]


def test_a_list_says_how_much_was_read_and_may_be_asked_as_a_fact(chat: AppTest, services: Application, notes: str):
    ask(chat.run(), "Where is the grinder mentioned?")
    assert said(chat, "1 place in 1 document.")
    assert said(chat, "of 1 passage read")
    assert said(chat, "A fact is answered from the few passages that fit best.")
    chat.button(next(button.key for button in chat.button if button.label == "Ask as a fact")).click().run()
    assert not chat.exception
    (conversation,) = services.conversations.find("", 5).conversations
    answers = [message for message in services.conversations.messages(conversation.id) if message.role == "assistant"]
    assert services.runs.trace(answers[-1].run_id).options.route == "fact"
    assert answers[-1].versions == 2
    assert "Ask as a fact" not in labels(chat)


def test_a_summary_says_that_no_model_wrote_it(chat: AppTest, notes: str):
    ask(chat.run(), "Summarize the brewing notes")
    assert said(chat, "so the summary quotes the sentences")
    assert said(chat, "Brewing notes")


def test_names_of_a_document_are_shown_as_text(chat: AppTest, services: Application):
    add(services, "a [link](https:__x.example) **b**.csv", "Robot,Units. sold [a]\nMule,385\nAnt,510\nBee,90\n")
    ask(chat.run(), "Top 3 robots by units sold")
    assert not chat.exception
    (caption,) = [caption.value for caption in chat.caption if caption.value.startswith("Read-only")]
    assert "\\[link\\]" in caption
    assert "\\*\\*b" in caption


def read(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))


def test_every_match_is_a_row_with_its_place_and_no_formula():
    listed = MatchesListed("hens", (Match(7, "=1+1 is a formula.", "Lease", 3), Match(7, "Hens are fed.", "Lease", 3)))
    trace = Trace().apply_all([listed])
    assert read(export_result(trace)) == [
        ["Document", "Page", "Sheet", "Text"],
        ["Lease", "3", "", "'=1+1 is a formula."],
        ["Lease", "3", "", "Hens are fed."],
    ]


def test_the_result_of_a_query_is_exported_with_its_columns():
    result = TableResult("Robots", "SELECT 1", ("Robot", "Sold"), (("Ant", 510), ("+Bee", None)), 2, 2)
    trace = Trace().apply_all([TableQueried(result)])
    assert read(export_result(trace)) == [["Robot", "Sold"], ["Ant", "510"], ["'+Bee", ""]]
