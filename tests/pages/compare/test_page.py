"""Comparing two answers side by side."""

from __future__ import annotations

import pytest

from crag.options import RunOptions
from pages.parts.services import shared_application
from tests.pages.conftest import UNANSWERED, last_run, said, wait_for_consent
from tests.waiting import PATIENCE

QUESTION = "What is the espresso machine descaled with?"


def test_two_settings_stand_side_by_side(asked, services):
    first = last_run(services)
    other = services.runs.regenerate(first, RunOptions(policy="off", refine=False))
    for _ in other.follow(seconds=PATIENCE):
        pass
    asked.query_params["a"], asked.query_params["b"] = first, other.id
    asked.switch_page("pages/compare/page.py").run()
    assert not asked.exception
    assert any("grading off, excerpts off" in header.value for header in asked.header)
    assert said(asked, "| **Strictness** | Balanced | Off |")
    assert said(asked, "| **Keep excerpts** | on | off |")
    assert said(asked, "| Brewing notes :small[:blue[differs]] | :green-badge[:material/check_circle: relevant")
    assert said(asked, "| Keep excerpts |")
    assert said(asked, "| Web searches | none | none |")
    asked.query_params["b"] = "nothing"
    asked.run()
    assert said(asked, "One of the two answers no longer exists.")


def test_without_answers_it_says_how_to_choose_them(chat):
    chat.switch_page("pages/compare/page.py").run()
    assert said(chat, "Choose *Compare* below an answer")
    assert not said(chat, "no longer exists")


@pytest.mark.parametrize("twice", [True, False])
def test_comparing_with_itself_or_a_deleted_answer_says_so(chat, tavily, twice):
    wait_for_consent(chat)
    services = shared_application()
    other = services.conversations.create()
    done = services.runs.start(other.id, QUESTION, RunOptions(model="builtin"))
    list(done.follow(seconds=PATIENCE))
    run_id = last_run_of(services, UNANSWERED)
    chat.query_params["a"], chat.query_params["b"] = run_id, run_id if twice else done.id
    chat.switch_page("pages/compare/page.py").run()
    assert not chat.exception
    if not twice:
        asked = next(one for one in services.conversations.list() if one.title.startswith(UNANSWERED[:20]))
        services.delete_conversation(asked.id)
        chat.run()
        assert not chat.exception
    assert said(chat, "no longer exists")


def last_run_of(services, question):
    asked = next(one for one in services.conversations.list() if one.title.startswith(question[:20]))
    return services.conversations.messages(asked.id)[-1].run_id
