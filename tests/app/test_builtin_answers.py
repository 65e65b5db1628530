"""Answers of the built-in engine at default settings, from three articles on neighbouring subjects.

The articles have the shape of the three posts that published CRAG systems index: long, on related subjects, with
lists, tables and repeated words in all of them. Two of the five questions are about something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crag.app.application import Application, open_application
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.settings import Settings
from tests.app.library_articles import ARTICLES


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    folder: Path = tmp_path_factory.mktemp("articles")
    with closing(open_application(Settings(home=folder, chat_model="builtin", embedder="builtin"))) as opened:
        for name, text in ARTICLES.items():
            opened.library.pipeline.add_bytes(name, text.encode())
        yield opened


def ask(application: Application, question: str) -> Trace:
    run = application.runs.start(None, question, RunOptions())
    return Trace().apply_all(event for _, event in run.follow())


@pytest.mark.parametrize(
    ("question", "article", "said"),
    [
        (
            "How does the Tandem harvester use self-inspection?",
            "Harvesters that Work Alone",
            ("Tandem", "joins cutting and sensing"),
        ),
        (
            "What are the types of errors that can arise with short-sample weighing?",
            "Weighing by Example",
            ("Majority error", "Last-bag error", "Round-number error"),
        ),
        (
            "What are five types of seed sabotage?",
            "Sabotage of Seed Sorters",
            ("Seed swapping", "Slope following", "Chute tricks", "Human probing", "Machine probing"),
        ),
    ],
)
def test_a_question_about_an_article_is_answered_from_it(
    application: Application, question: str, article: str, said: tuple[str, ...]
) -> None:
    trace = ask(application, question)
    assert {cited.title for cited in trace.citations} == {article}
    assert trace.outcome == "documents"
    assert [part for part in said if part not in trace.text] == []


@pytest.mark.parametrize(
    "question", ["Who did the Norwick Rovers sign first in the 2031 winter draft?", "Who won the 2031 Harbour Cup?"]
)
def test_a_question_about_something_else_is_declined(application: Application, question: str) -> None:
    trace = ask(application, question)
    assert (trace.action, trace.outcome, trace.wants_web) == ("incorrect", "not_answered", True)


@pytest.mark.parametrize(
    "question",
    [
        "When did Okafor found a harvester company?",
        "What does a Tandem harvester cost?",
        "What errors did Ueda find in long-sample weighing of cattle in 2019?",
        "Who invented the Row tree?",
        "How many people were hurt by seed sabotage?",
    ],
)
def test_no_nearby_sentence_is_given_out_as_the_answer(application: Application, question: str) -> None:
    trace = ask(application, question)
    assert trace.action != "correct"
    assert trace.outcome in ("documents_partly", "not_answered")
