"""Comparing variants: tables, charts, and the settings of a grid."""

from __future__ import annotations

import json

import pytest

from crag.evaluation.grid import GridAxes, make_variants
from crag.evaluation.types import Variant
from crag.options import RunOptions
from tests.pages.conftest import click, labels, said
from tests.pages.evaluate.evaluations import BASE, PAGE, finished

ROWS = (
    {"question": "What is the espresso machine descaled with?", "reference": "citric acid"},
    {"question": "When is the grinder cleaned?", "reference": "on Fridays"},
    {"question": "Who won the 2024 NBA finals?", "answerable": False},
)


@pytest.fixture
def kitchen(services, notes):
    """Three questions on the notes; the last cannot be answered."""
    return services.datasets.add("kitchen", "\n".join(map(json.dumps, ROWS)).encode())


@pytest.fixture
def graded(services, kitchen):
    return finished(services, kitchen, name="Graded")


@pytest.fixture
def ungraded(services, kitchen):
    """Without grading also what cannot be answered is answered."""
    return finished(services, kitchen, Variant("", RunOptions(model="builtin", policy="off")), name="Ungraded")


@pytest.fixture
def grid(services, kitchen):
    return finished(
        services, kitchen, *make_variants(BASE, GridAxes({"policy": ("paper", "off"), "k": (1, 4)})), kind="grid"
    )


def drawn(chat, **address):
    chat.switch_page(PAGE)
    for name, value in address.items():
        chat.query_params[name] = value
    chat.run()
    assert not chat.exception
    return chat


def compared(chat, *sides):
    return drawn(chat, compare=",".join(sides))


def headers(app):
    return [header.value for header in app.header]


def address(app):
    found = app.query_params["compare"]
    return found if isinstance(found, str) else found[0]


def pictures(app):
    """What the pictures show, in words."""
    return [chart.proto.alt for chart in app.get("vega_lite_chart")]


def test_up_to_three_evaluations_are_compared(chat, graded, ungraded, grid):
    one, other, third = f"{graded.id}.0", f"{ungraded.id}.0", f"{grid.id}.1"
    compared(chat, "gone.0", f"{graded.id}.7", one)
    assert said(chat, "Choose another evaluation to compare with this one.")
    chat.selectbox(key="added-side").set_value(other).run()
    assert {"What differs from A to B", "Worse: 1 of 3 questions", "Better: 0 of 3 questions"} <= {*headers(chat)}
    table = next(item.value for item in chat.markdown if "| difference | 95% | n |" in item.value)
    assert "| Declined | 100.0% | 0.0% |" in table
    assert any("Declined −100.0 points" in alt for alt in pictures(chat))
    assert said(chat, "Based on 3 questions in both")
    assert said(chat, "| Strictness | Balanced | Off |")
    assert said(chat, "No clear difference: ")
    assert said(chat, "Who won the 2024 NBA finals?")
    assert {"Trace of A", "Trace of B", "Compare both"} <= {*labels(chat)}
    click(chat, "Make baseline")
    assert address(chat) == f"{other},{one}"
    assert "Better: 1 of 3 questions" in headers(chat)
    chat.selectbox(key="added-side").set_value(third).run()
    assert {"All metrics", "What differs from A to B"} <= {*headers(chat)}
    assert any("against time: A: " in alt for alt in pictures(chat))
    next(control for control in chat.segmented_control if control.label == "Compared").set_value(third).run()
    assert "What differs from A to C" in headers(chat)
    click(chat, "Remove")
    assert address(chat) == f"{one},{third}"


def test_a_grid_is_ranked_and_drawn_and_its_best_saved(chat, services, grid):
    chat.session_state[f"plots-of-{grid.id}"] = True
    drawn(chat, evaluation=grid.id)
    assert said(chat, "Built-in engine · excerpts on · grader Automatic")
    assert said(chat, "Not clearly better than any of the 3 others.")
    table = next(frame.value for frame in chat.dataframe if "Rank" in frame.value)
    assert len(table) == 4
    assert list(table["Right minus wrong"]) == sorted(table["Right minus wrong"], reverse=True)
    assert set(table["n"]) == {3}
    assert any("Right minus wrong by settings: " in alt for alt in pictures(chat))
    assert any("not answerable, decided not found in your documents: 1 of 1" in alt for alt in pictures(chat))
    assert any("Right minus wrong against time: 1: " in alt for alt in pictures(chat))
    assert said(chat, "A preset saves how questions are answered")
    click(chat, "Save")
    assert any("A preset needs a name" in toast.value for toast in chat.toast)
    chat.text_input(key="best_preset").set_value("Kitchen")
    click(chat, "Save")
    assert services.preferences.presets()["Kitchen"]["policy"] in ("paper", "off")
    chat.selectbox(key=f"grid-metric-{grid.id}").set_value("seconds").run()
    assert any("Time by settings: " in alt for alt in pictures(chat))


def test_grid_values_are_counted_and_too_many_refused(chat, services, kitchen):
    chat.session_state["evaluate-grid"] = True
    drawn(chat)
    chat.selectbox(key="evaluate-dataset").set_value(kitchen.id).run()
    pills = {control.key: control for control in chat.button_group}
    pills["grid-policy"].set_value(["paper", "any"]).run()
    pills = {control.key: control for control in chat.button_group}
    pills["grid-k"].set_value([2, 4, 8]).run()
    assert said(chat, "3 questions × 6 settings: **18 answers**")
    pills = {control.key: control for control in chat.button_group}
    pills["grid-passage_size"].set_value([100, 150, 250, 400, 600, 1000]).run()
    pills = {control.key: control for control in chat.button_group}
    pills["grid-refine"].set_value([True, False]).run()
    assert said(chat, "at most 64 are tried at once")
    chat.toggle(key="grid-systems").set_value(True).run()
    assert said(chat, "3 questions × 8 settings: **24 answers**")
