"""The list of runs in Inspect: filters, selection and empty states."""

from __future__ import annotations

import pytest
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from crag.app.application import Application
from crag.options import RunOptions
from crag.storage.tables import runs as table
from tests.pages.conftest import ROOT, add, click, labels, said
from tests.waiting import PATIENCE

PAGE = "pages/inspect/page.py"
OFF = RunOptions(model="builtin", web="off")
FOUND, LOST = "What is the espresso machine descaled with?", "Who won the 2024 NBA finals?"


@pytest.fixture
def runs(services: Application, notes: str) -> dict[str, str]:
    """One that the documents answer and one that they do not, by question."""
    made = {}
    for question in (FOUND, LOST):
        run = services.runs.start(services.conversations.create().id, question, OFF)
        list(run.follow(seconds=PATIENCE))
        made[question] = run.id
    return made


def open_inspect(app: AppTest, **address: str) -> AppTest:
    app.run()
    for name, value in address.items():
        app.query_params[name] = value
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def listed(app: AppTest) -> list[str]:
    return [button.key for button in app.sidebar.button if (button.key or "").startswith("run-")]


def keys(runs: dict[str, str], *questions: str) -> list[str]:
    return [f"run-{runs[question]}" for question in questions]


def pills(app: AppTest, key: str):
    return next(group for group in app.get("button_group") if group.key == key)


def test_without_runs_it_says_what_will_be_here(chat: AppTest):
    app = open_inspect(chat)
    assert said(app, "No runs yet")
    assert "Ask a question" in labels(app)
    assert not app.sidebar.text_input  # nothing to narrow


def test_runs_are_listed_with_their_outcome_and_filtered_by_it(chat: AppTest, runs: dict[str, str]):
    app = open_inspect(chat)
    assert listed(app) == keys(runs, LOST, FOUND)
    assert said(app, "2 runs")
    filters = {label.rpartition("] ")[2] for label in pills(app, "inspect_outcomes").options}
    outcomes = {caption.value.partition(" · ")[0] for caption in app.sidebar.caption if " · " in caption.value}
    assert filters == outcomes == {"quoted from your documents", "not found in your documents"}
    assert said(app, "Choose a run in the list")
    pills(app, "inspect_outcomes").set_value(["quoted"]).run()
    assert listed(app) == keys(runs, FOUND)
    app.sidebar.text_input(key="inspect_search").set_value("finals").run()
    assert listed(app) == []
    assert said(app, "No runs match")
    click(app, "Clear filters")
    assert listed(app) == keys(runs, LOST, FOUND)
    assert app.sidebar.text_input(key="inspect_search").value == ""


def test_further_filters_are_counted_and_survive_another_page(chat: AppTest, runs: dict[str, str]):
    app = open_inspect(chat)
    pills(app, "inspect_verdicts").set_value(["relevant"]).run()
    app.selectbox(key="inspect_when").set_value("Today").run()
    assert any("2 active" in fold.label for fold in app.expander)
    assert listed(app) == keys(runs, FOUND)
    app.switch_page("pages/documents/page.py").run()
    app.switch_page(PAGE).run()
    assert listed(app) == keys(runs, FOUND)
    assert app.selectbox(key="inspect_when").value == "Today"


def test_the_run_that_is_open_is_in_the_address_and_found_again(chat: AppTest, runs: dict[str, str]):
    app = open_inspect(chat)
    app.button(key=f"run-{runs[FOUND]}").click().run()
    assert app.query_params["run"] == runs[FOUND]
    assert app.button(key=f"run-{runs[FOUND]}").label.count("**") == 2
    assert said(app, "from your documents")
    app.switch_page("pages/documents/page.py").run()
    app.switch_page(PAGE).run()
    assert app.query_params["run"] == runs[FOUND]
    click(app, "Overview")
    assert "run" not in app.query_params
    assert said(app, "Choose a run in the list")


def test_the_overview_leads_to_what_deserves_a_look(chat: AppTest, services: Application, runs: dict[str, str]):
    services.conversations.give_feedback(runs[LOST], helpful=False, reason="It is *not* in there")
    app = open_inspect(chat)
    assert said(app, "It is *not* in there")
    app.button(key="outcome-not_answered").click().run()
    assert listed(app) == keys(runs, LOST)
    app.button(key=f"unhelpful-{runs[LOST]}").click().run()
    assert app.query_params["run"] == runs[LOST]


def test_twenty_are_listed_and_more_on_request(chat: AppTest, services: Application):
    for number in range(23):
        list(services.runs.start(None, f"Question {number}?", OFF).follow(seconds=PATIENCE))
    app = open_inspect(chat)
    assert len(listed(app)) == 20
    click(app, "Show more")
    assert len(listed(app)) == 23


def test_on_a_phone_the_list_is_in_the_page(monkeypatch: pytest.MonkeyPatch, runs: dict[str, str]):
    monkeypatch.setattr("pages.parts.session.is_phone", lambda: True)
    app = open_inspect(AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE))
    assert listed(app) == []
    app.main.button(key=f"run-{runs[FOUND]}").click().run()
    assert "All runs" in labels(app)
    click(app, "All runs")
    assert app.main.button(key=f"run-{runs[FOUND]}")


def test_text_of_strangers_is_not_drawn_as_markdown(chat: AppTest, services: Application):
    add(services, "a.md", "# A\n\nText.")
    list(services.runs.start(None, "![x](https://a.b/c) **:streamlit:**?", OFF).follow(seconds=PATIENCE))
    app = open_inspect(chat)
    (label,) = [button.label for button in app.sidebar.button if (button.key or "").startswith("run-")]
    assert "![" not in label
    assert "**" not in label


def test_a_run_that_is_under_way_is_listed_as_such(chat: AppTest, services: Application, runs: dict[str, str]):
    with services.database.write() as connection:
        connection.execute(update(table).where(table.c.id == runs[LOST]).values(state="running"))
    app = open_inspect(chat)
    assert listed(app) == keys(runs, LOST, FOUND)
    assert said(app, "running")
    assert said(app, "from your documents")
