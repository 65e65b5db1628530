"""Evaluations in their states: failed, waiting to start, and on a phone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from crag.evaluation.grid import GridAxes, make_variants
from crag.evaluation.types import Variant
from crag.options import RunOptions
from pages.parts.labels import non_breaking
from tests.pages.conftest import labels, said
from tests.pages.evaluate.evaluations import BASE, finished, opened


@pytest.fixture
def kitchen(services, notes):
    return services.datasets.add(
        "kitchen", b'{"question": "How long does descaling take?", "reference": "forty minutes"}'
    )


@pytest.fixture
def failed(services, kitchen):
    """Nobody answers where Ollama should be."""
    return finished(services, kitchen, Variant("", RunOptions(model="ollama:llama3.1:8b")), name="Failed")


def test_a_failed_evaluation_shows_the_command_that_helps(chat, failed):
    assert failed.state == "failed"
    opened(chat, failed)
    (told,) = [item.value for item in chat.markdown if "does not answer" in item.value]
    assert " `ollama serve`" in told
    assert "Finished answers are kept" not in told


def test_what_has_no_answers_is_not_offered_to_compare_with(chat, services, kitchen, failed):
    first = finished(services, kitchen, name="First")
    finished(services, kitchen, name="Second")
    opened(chat, first)
    menu = next(menu for menu in chat.get("menu_button") if menu.label == "Compare with")
    (offered,) = menu.proto.options
    assert offered.startswith("Second")
    chat.query_params["compare"] = f"{first.id}.0"
    chat.run()
    assert [name.split(" · ")[0] for name in chat.selectbox(key="added-side").options] == ["Second"]


def test_on_a_phone_a_row_shows_figures_with_n_or_the_state(chat, services, kitchen, failed, phone):
    finished(services, kitchen)
    opened(chat)
    (table,) = [one.value for one in chat.dataframe if one.key and one.key.startswith("evaluations-")]
    done, not_done = table["Right"]
    assert done.endswith("n = 1")
    assert not_done == "failed"


def test_on_a_phone_a_row_of_a_grid_tells_its_figure_in_one_cell(chat, services, kitchen, phone):
    grid = finished(services, kitchen, *make_variants(BASE, GridAxes({"k": (1, 4)})), kind="grid")
    opened(chat, grid)
    assert said(chat, "Choose two or more to compare them")
    (table,) = [one.value for one in chat.dataframe if one.key == f"grid-{grid.id}"]
    assert list(table) == ["Settings", "Right minus wrong"]
    assert all(cell.endswith("n = 1") for cell in table["Right minus wrong"])


@pytest.fixture
def phone(monkeypatch):
    for module in ("evaluation_list", "grid"):
        monkeypatch.setattr(f"pages.evaluate.{module}.is_phone", lambda: True)


def test_the_page_is_drawn_anew_once_what_waited_begins(services, kitchen, monkeypatch):
    running = replace(finished(services, kitchen), state="running")
    monkeypatch.setattr(services.evaluations, "get", lambda *_: running)

    def page():
        from dataclasses import replace

        import streamlit as st

        from pages.evaluate import result_head
        from pages.parts.services import application

        st.session_state["drawings"] = st.session_state.get("drawings", 0) + 1
        seen = application().evaluations.get("")
        result_head.draw_progress(replace(seen, state="queued") if st.session_state["drawings"] == 1 else seen, 0)

    app = AppTest.from_function(page).run()
    assert not app.exception
    assert app.session_state["drawings"] == 2


def test_an_interval_stays_on_its_line():
    assert non_breaking("62.2%–100.0% of it") == "62.2%\u2060–\u2060100.0%\u00a0of\u00a0it"


def test_a_run_of_an_evaluation_leads_back_to_it_and_to_no_chat(chat, services, kitchen):
    evaluation = finished(services, kitchen, name="Nightly")
    (result,) = services.evaluations.results(evaluation.id)
    chat.switch_page("pages/inspect/page.py")
    chat.query_params["run"] = result.run_id
    chat.run()
    assert "Open in chat" not in labels(chat)
    chat.button(key=f"evaluation-of-{result.run_id}").click().run()
    assert [title.value for title in chat.title] == ["Nightly"]
