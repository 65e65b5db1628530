"""A whole question through the application on the real server: retrieved, graded, answered and counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.app.application import open_application
from crag.options import RunOptions
from crag.runs.trace import Trace
from tests.live.conftest import TUNING

pytestmark = pytest.mark.live

NOTES = "The espresso machine in the kitchen is descaled every six weeks with citric acid. Its tank is rinsed twice."
QUESTION = "How often is the espresso machine descaled?"
SECONDS = 600


def ask(application, chat_name: str, **options) -> Trace:
    given = RunOptions(model=f"ollama:{chat_name}", answering=TUNING, grading=TUNING, rewriting=TUNING, **options)
    run = application.runs.start(None, QUESTION, given)
    return Trace().apply_all(event for _, event in run.follow(seconds=SECONDS))


def assert_whole(trace: Trace) -> None:
    assert (trace.state, trace.error) == ("done", "")
    assert trace.text
    assert trace.verdicts
    if trace.prompt:  # it was asked to write: something was judged of use
        assert trace.prompt.window == TUNING.window
        assert trace.usage.prompt_tokens
        assert trace.usage.prompt_tokens <= trace.prompt.tokens * 1.2


@pytest.mark.parametrize("grader", ["cascade", "score", "explained", "listwise"])
def test_a_question(application, chat_name, grader):
    application.library.pipeline.add_bytes("kitchen.md", NOTES.encode())
    assert_whole(ask(application, chat_name, grader=grader))


def test_a_question_in_the_space_of_the_embedder(settings, chat_name, embedder_name):
    application = open_application(replace(settings, embedder=f"ollama:{embedder_name}"))
    assert application.library.pipeline.add_bytes("kitchen.md", NOTES.encode()).status == "added"
    trace = ask(application, chat_name)
    application.close()
    assert_whole(trace)
    assert trace.notes == [note for note in trace.notes if "searched by words" not in note]


def test_a_follow_up_is_condensed(application, chat_name):
    application.library.pipeline.add_bytes("kitchen.md", NOTES.encode())
    conversation = application.conversations.create().id
    options = RunOptions(model=f"ollama:{chat_name}", answering=TUNING, grading=TUNING, rewriting=TUNING)
    for question in (QUESTION, "And with what?"):
        run = application.runs.start(conversation, question, options)
        trace = Trace().apply_all(event for _, event in run.follow(seconds=SECONDS))
    assert trace.state == "done"
    assert trace.condensed
