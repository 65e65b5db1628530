"""The page Evaluate: start, what is announced beforehand, figures with their n, answers and labels."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from crag.errors import NotFound
from crag.evaluation.threshold_proposal import THRESHOLD_GRID
from crag.evaluation.types import EvaluationPlan, Variant
from crag.options import RunOptions
from tests.pages.conftest import click, labels, said, until
from tests.pages.evaluate.evaluations import finished, opened

ROWS = (
    {"question": "What is the espresso machine descaled with?", "reference": "citric acid"},
    {"question": "How long does descaling take?", "reference": "two hours"},
    {"question": "Who won the 2024 NBA finals?", "answerable": False},
)
HOSTILE = "[click](https://evil.example) ![](https://evil.example/a.png) :material/home: # big"


@pytest.fixture
def kitchen(services):
    """A dataset of three questions on the notes."""
    data = "\n".join(map(json.dumps, ROWS)).encode()
    return services.datasets.add("kitchen", data)


@pytest.fixture
def evaluated(services, notes, kitchen):
    """An evaluation of it that is done."""
    return finished(services, kitchen)


def tables(app):
    """Every cell of the small tables."""
    return [str(cell) for table in app.table for column in table.value.columns for cell in table.value[column]]


def test_a_dataset_is_run_and_its_figures_show_n(chat, services, notes, kitchen):
    opened(chat)
    chat.selectbox(key="evaluate-dataset").set_value(kitchen.id).run()
    assert said(chat, "3 questions")
    assert said(chat, "Nothing leaves this machine")
    click(chat, "Run")
    until(chat, lambda: "Run again" in labels(chat))
    assert [title.value for title in chat.title] == ["kitchen"]
    assert all("n = " in metric.delta for metric in chat.metric)
    assert {"Right minus wrong", "Right answers", "Time"} <= {metric.label for metric in chat.metric}
    (evaluation,) = services.evaluations.list()
    assert (evaluation.state, evaluation.done, evaluation.size) == ("done", 3, 3)


def test_some_of_the_questions_are_the_same_ones_each_time(chat, services, notes, kitchen):
    opened(chat)
    chat.selectbox(key="evaluate-dataset").set_value(kitchen.id).run()
    chat.segmented_control(key="evaluate-which").set_value("Random").run()
    chat.number_input(key=f"evaluate-count-{kitchen.id}").set_value(2).run()
    for _ in range(2):
        click(chat, "Run")
        until(chat, lambda: "Run again" in labels(chat))
        click(chat, "New evaluation")
    first, second = services.evaluations.list()
    assert first.size == 2
    assert first.digest == second.digest
    assert first.name == "kitchen (random 2, seed 0, of 3)"


def test_the_seed_says_which_of_its_posts_are_missing_and_offers_them(chat, services, notes, tmp_path, monkeypatch):
    posts = [str(tmp_path / f"{name}.md") for name in ("agents", "prompts", "attacks")]
    monkeypatch.setattr(services, "example_urls", posts, raising=False)
    opened(chat)
    assert said(chat, "three posts on lilianweng.github.io, which are not in your library")
    assert "Add the three posts" in labels(chat)
    for number, post in enumerate(posts):
        Path(post).write_text(f"# Post {number}\n\nIt is about subject number {number}.", encoding="utf-8")
    for post in posts[:2]:
        services.library.pipeline.add_path(Path(post))
    chat.run()
    assert said(chat, "1 of them is not in your library")
    services.library.pipeline.add_path(Path(posts[2]))
    chat.run()
    assert not said(chat, "not in your library")
    assert "Add the three posts" not in labels(chat)


def test_external_hosts_are_named_before_anything_is_sent(chat, services, notes):
    services.preferences.save_mcp_search("https://mcp.example/mcp#find")
    chat.session_state["evaluate_changes"] = {"web": "auto", "grader_model": "openai:gpt-4o-mini"}
    opened(chat)
    assert said(chat, "to **MCP server (mcp.example)**")
    assert said(chat, "to **openai**")
    assert "Allow and run" in labels(chat)
    assert "Run" not in labels(chat)
    assert not services.preferences.allowed_models()


def test_an_embedder_elsewhere_is_named_beforehand(chat, services, notes, monkeypatch):
    answering = services.library.spaces.active_embedder
    space = replace(services.library.space(), provider="openai", model="text-embedding-3-small")
    elsewhere = replace(answering.active_space(), space=space)
    monkeypatch.setattr(answering, "active_space", lambda: elsewhere)
    opened(chat)
    assert said(chat, "questions go to **openai**")
    assert not said(chat, "Nothing leaves this machine")


def test_a_selected_answer_can_be_labelled(chat, services, evaluated):
    opened(chat, evaluated)
    assert said(chat, "Click a row")
    answer = services.evaluations.results(evaluated.id)[1]
    choose_row(chat, 1)
    assert said(chat, "How long does descaling take?")
    assert said(chat, "two hours")
    word = next(one for one in chat.segmented_control if one.key.startswith("word-"))
    word.set_value(False).run()
    labelled = services.evaluations.results(evaluated.id)[1]
    assert (answer.label, labelled.label) == (None, False)
    assert "Comparing texts" in tables(chat)
    word = next(one for one in chat.segmented_control if one.key.startswith("word-"))
    word.set_value(None).run()
    assert services.evaluations.results(evaluated.id)[1].label is None


def test_the_figure_follows_ratings_and_says_how_many_there_are(chat, services, evaluated):
    opened(chat, evaluated)
    unrated = headline(chat)
    assert "rated" not in unrated[1]
    for row, rating, value in ((0, True, ""), (1, True, "100.0%"), (1, False, "33.3%")):
        choose_row(chat, row)
        next(one for one in chat.segmented_control if one.key.startswith("word-")).set_value(rating).run()
        assert not chat.exception
        share, facts = headline(chat)
        assert share == value or not value
        assert facts.endswith(f"{row + 1} rated by a person")
    for row in (0, 1):
        choose_row(chat, row)
        next(one for one in chat.segmented_control if one.key.startswith("word-")).set_value(None).run()
    assert headline(chat) == unrated


def headline(app):
    """Right minus wrong answers, with interval and counts."""
    return next((metric.value, metric.delta) for metric in app.metric if metric.label == "Right minus wrong")


def test_a_threshold_is_chosen_on_the_risk_coverage_curve_and_used(chat, services, evaluated):
    best = sorted(one.scored.best for one in services.evaluations.results(evaluated.id)[:2])
    opened(chat, evaluated)
    assert "Decline below" in {slider.label for slider in chat.select_slider}
    assert {"67%", "33%", headline(chat)[0]} <= {*tables(chat)}
    assert "Use this threshold" not in labels(chat)
    wanted = next(step for step in THRESHOLD_GRID if step > best[0])
    chat.select_slider(key=f"risk-{evaluated.id}-0").set_value(wanted)
    chat.run()
    assert said(chat, "1 of 3 questions are answered")
    assert said(chat, "this is optimistic")
    click(chat, "Use this threshold")
    judging = services.grading_setup(RunOptions())
    assert judging.calibrated
    assert best[0] < judging.thresholds.lower <= best[1]
    assert said(chat, "In use.")


def choose_row(app, row):
    """As a click on a row of the answers does."""
    key = next(table.key for table in app.dataframe if table.key and table.key.startswith("answers-"))
    app.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": [[row, "Question"]]}}
    app.run()
    assert not app.exception


def test_a_selected_answer_says_in_plain_words_and_once_where_it_comes_from(chat, services, evaluated):
    opened(chat, evaluated)
    for row, source in ((0, "from your documents"), (2, "not found in your documents")):
        choose_row(chat, row)
        shown = [item.value for item in chat.markdown if "-badge[" in item.value]
        assert sum(text.count(source) for text in shown) == 1
    choose_row(chat, 1)
    shown = " ".join(item.value for item in [*chat.markdown, *chat.caption])
    for words in ("Find passages → Grade → Write", "Agreement with the expected answer 0.0%", "Word overlap"):
        assert words in shown
    for words in ("retrieve_documents", "Token F1", "Reference"):
        assert words not in shown


def test_foreign_text_stays_text(chat, services, notes):
    row = {"question": HOSTILE, "reference": HOSTILE, "must_mention": [HOSTILE]}
    dataset = services.datasets.add("<b>x</b> [a](https://evil.example)", json.dumps(row).encode())
    opened(chat, finished(services, dataset))
    choose_row(chat, 0)
    shown = [item.value for item in [*chat.markdown, *chat.caption, *chat.title]]
    assert any("evil" in text for text in shown)
    assert not [text for text in shown if "](https" in text or "![](" in text]


def test_it_is_renamed_deleted_after_a_question_and_then_not_there(chat, services, evaluated):
    opened(chat, evaluated)
    chat.session_state["dialog"] = ("rename an evaluation", evaluated.id)
    chat.run()
    next(field for field in chat.text_input if field.label == "Name").set_value("Before the new model")
    click(chat, "Rename")
    assert services.evaluations.get(evaluated.id).name == "Before the new model"
    chat.session_state["dialog"] = ("delete evaluations", [evaluated.id])
    chat.run()
    assert services.evaluations.get(evaluated.id)
    click(chat, "Delete")
    with pytest.raises(NotFound):
        services.evaluations.get(evaluated.id)
    opened(chat, evaluated)
    assert [title.value for title in chat.title] == ["This evaluation no longer exists"]
    click(chat, "All evaluations")
    assert [title.value for title in chat.title] == ["Evaluate"]


def test_what_was_stopped_says_so_and_goes_on(chat, services, notes, kitchen):
    begun = services.evaluations.begin(
        EvaluationPlan(kitchen, [Variant("", RunOptions(model="builtin"))], repetitions=5)
    )
    services.evaluations.stop(begun.id)
    services.evaluations.wait(begun.id)
    opened(chat, begun)
    assert said(chat, "Stopped by you")
    click(chat, "Resume")
    until(chat, lambda: "Run again" in labels(chat) and "Resume" not in labels(chat))
    assert services.evaluations.get(begun.id).done == 15


def test_two_chosen_ones_are_compared(chat, services, notes, kitchen):
    first, second = finished(services, kitchen), finished(services, kitchen)
    opened(chat)
    key = next(table.key for table in chat.dataframe if table.key and table.key.startswith("evaluations-"))
    chat.session_state[key] = {"selection": {"rows": [0, 1], "columns": [], "cells": []}}
    chat.run()
    click(chat, "Compare these 2")
    assert [title.value for title in chat.title] == ["Comparison"]
    assert chat.query_params["compare"] == f"{first.id}.0,{second.id}.0"


def test_a_dataset_is_looked_into_and_loses_a_row(chat, services, kitchen):
    opened(chat)
    click(chat, next(label for label in labels(chat) if label.startswith("kitchen")))
    assert said(chat, "3 questions · 2 with an expected answer · 1 without an answer")
    services.datasets.remove_example(kitchen.id, kitchen.examples[0].key)
    chat.run()
    assert said(chat, "2 questions · 1 with an expected answer · 1 without an answer")


def test_pinned_questions_are_counted_and_run(chat, services, notes):
    opened(chat)
    assert said(chat, "None yet")
    run = services.runs.start(None, "What is the espresso machine descaled with?", RunOptions(model="builtin"))
    list(run.follow())
    services.datasets.pins.pin_answer(run.id)
    chat.run()
    assert said(chat, "1 question")
    click(chat, "Run now")
    until(chat, lambda: "Run again" in labels(chat))
    (evaluation,) = services.evaluations.list()
    assert evaluation.kind == "regression"
    services.preferences.save("k", 1)
    click(chat, "New evaluation")
    assert said(chat, "1 right")
    assert said(chat, "Changed since then:\n\n- the settings: 1 passage")
