"""Pinned questions as a regression test: when they are due, what broke, and that they run only when idle."""

import logging
from contextlib import closing
from dataclasses import replace

import pytest

from crag.app.application import open_application
from crag.errors import BadRequest, LimitReached, ModelFault
from crag.evaluation.regression import RegressionMonitor, describe_changes
from crag.evaluation.types import Environment, Variant
from crag.options import RunOptions
from crag.settings import Settings
from crag.types import Thresholds
from tests.applications import opened_with

HALL = "# The north hall\n\nThe boiler of the north hall was replaced in 2019 by a heat pump. It runs at night.\n"
QUESTION = "When was the boiler of the north hall replaced?"
THEN = Environment(
    model="Llama 3.1 8B",
    fingerprint="ollama:llama3.1@a1a1a1a1a1a1a1a1",
    grader="builtin",
    embedder="Nomic (local)",
    space="n1",
    library="d1",
    documents=3,
    version="0.1.0",
    thresholds="0.3 to 0.6",
)


@pytest.fixture
def application(tmp_path):
    garden = "# The garden\n\nThe garden has nine apple trees and a pond.\n"
    with opened_with(tmp_path / "home", {"hall.md": HALL, "garden.md": garden}) as opened:
        run = opened.runs.start(None, QUESTION, opened.preferences.options())
        assert list(run.follow())[-1][1].state == "done"
        opened.datasets.pins.pin_answer(run.id, text="2019")
        yield opened


def ask(application):
    return application.evaluations.wait(application.regression.run().id)


def test_pinned_questions_are_due_again_only_after_a_change(application):
    regression = application.regression
    before = regression.state()
    assert (before.pinned, before.last, before.due, before.automatic) == (1, None, True, False)
    first = ask(application)
    assert (first.kind, first.state, first.total) == ("regression", "done", 1)
    after = regression.state()
    assert (after.last.id, after.due, after.changes, after.fault) == (first.id, False, (), "")
    assert regression.report() is None

    application.preferences.save("k", 6)
    application.library.remove([one.id for one in application.library.sources() if one.title == "The north hall"])
    changed = regression.state()
    assert changed.due
    assert changed.changes == ("the settings: 6 passages", "1 document fewer")
    ask(application)
    report = regression.report()
    assert (report.broken, report.fixed) == (1, 0)
    assert report.describe().startswith(
        "Right minus wrong: 100.0% → 0.0% (no clear difference). 1 of 1 got worse since "
    )

    application.library.pipeline.add_bytes("hall.md", HALL.encode())
    ask(application)
    assert (
        regression.report()
        .describe()
        .startswith("Right minus wrong: 0.0% → 100.0% (no clear difference). 0 of 1 got worse since ")
    )
    assert regression.report().describe().endswith(" 1 got better.")

    application.datasets.pins.unpin_answer(application.runs.recent(1)[0])
    nothing = regression.state()
    assert (nothing.pinned, nothing.due) == (0, False)
    with pytest.raises(BadRequest):
        regression.run()


def test_automatic_runs_wait_for_a_quiet_minute_and_happen_once(application):
    regression = application.regression
    assert [regression.run_if_due(now) for now in (0.0, 100.0)] == [None, None]
    regression.set_automatic(True)
    assert regression.state().automatic
    assert [regression.run_if_due(now) for now in (200.0, 230.0)] == [None, None]
    application.library.pipeline.add_bytes("news.md", b"# News\n\nThe pond was cleaned in May.\n")
    assert [regression.run_if_due(now) for now in (260.0, 300.0)] == [None, None]
    begun = regression.run_if_due(330.0)
    assert begun.kind == "regression"
    assert regression.run_if_due(400.0) is None
    application.evaluations.wait(begun.id)
    assert [regression.run_if_due(now) for now in (500.0, 700.0)] == [None, None]

    application.library.pipeline.add_bytes("more.md", b"# More\n\nThe trees were cut in June.\n")
    regression.set_automatic(False)
    assert [regression.run_if_due(now) for now in (800.0, 900.0)] == [None, None]


def test_only_a_limit_of_the_user_holds_an_automatic_run_back(application, caplog):
    caplog.set_level(logging.INFO)
    regression, reached = over(application), LimitReached("You asked 9 questions.", "Try again in 5 min.", 300)
    refusals = [reached, BadRequest("This dataset has no questions.")]

    def refuse(*_):
        if refusals:
            raise refusals.pop(0)

    application.evaluations.check_limit = refuse
    assert [regression.run_if_due(now) for now in (0.0, 100.0)] == [None, None]
    assert "Try again in 5 min." in caplog.text
    with pytest.raises(BadRequest):
        regression.run_if_due(130.0)
    application.evaluations.wait(regression.run_if_due(160.0).id)


def test_where_questions_go_is_looked_up_for_the_user_who_asks(application):
    regression = over(application)
    asked: list[str | None] = []
    regression._external_hosts = lambda _, user: asked.append(user) or []
    for user in ("ann", "ben"):
        regression.for_user(user).set_automatic(True)
        regression.for_user(user).state()
    assert asked == ["ann", "ben"]


def over(application, *, leaving=(), busy=None, look_up=None):
    regression = RegressionMonitor(
        application.evaluations,
        application.datasets,
        look_up or application.environments.look_up,
        lambda *_: list(leaving),
        application.preferences,
        lambda: bool(busy),
    )
    regression.set_automatic(True)
    return regression


def test_automatic_runs_need_an_idle_home_and_a_local_model(application):
    leaving = over(application, leaving=["gpt-4o", "Tavily"])
    assert [leaving.run_if_due(now) for now in (0.0, 100.0, 200.0)] == [None] * 3
    assert leaving.state().held_back == "Not run automatically: questions would go to gpt-4o, Tavily."

    def look_up(*_):
        raise ModelFault("unreachable", "Ollama does not answer.", "Start it.")

    modelless = over(application, look_up=look_up)
    assert [modelless.run_if_due(now) for now in (0.0, 100.0)] == [None, None]
    assert modelless.state().fault == "Ollama does not answer. Start it."

    busy = ["a question"]
    regression = over(application, busy=busy)
    assert [regression.run_if_due(now) for now in (0.0, 100.0)] == [None, None]
    busy.clear()
    assert regression.run_if_due(110.0) is None
    busy.append("another")
    assert regression.run_if_due(140.0) is None
    busy.clear()
    assert [regression.run_if_due(now) for now in (150.0, 200.0)] == [None, None]
    assert application.evaluations.wait(regression.run_if_due(210.0).id).state == "done"


def test_the_web_and_models_elsewhere_are_what_leaves(tmp_path):
    settings = Settings(home=tmp_path / "home", chat_model="builtin", embedder="builtin", tavily_api_key="key")
    with closing(open_application(settings)) as opened:
        assert opened.environments.external_hosts(RunOptions(model="builtin", web="ask"), None) == ["Tavily"]
        assert opened.environments.external_hosts(RunOptions(model="builtin", web="off"), None) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()),
        ({"model": "Built-in engine", "fingerprint": "x"}, ("the model: Llama 3.1 8B → Built-in engine",)),
        (
            {"fingerprint": "ollama:llama3:8b@b2"},
            ("the model Llama 3.1 8B: ollama:llama3.1 with digest a1a1a1a1a1a1 → ollama:llama3:8b with digest b2",),
        ),
        ({"grader": "listwise:ollama:llama3.1:8b@a1"}, ("the grader: Built-in → All at once, llama3.1:8b",)),
        ({"thresholds": "0.2 to 0.7"}, ("the thresholds: 0.3 to 0.6 → 0.2 to 0.7",)),
        ({"space": "n2"}, ("the embedder Nomic (local) has new weights",)),
        ({"embedder": "Built-in embeddings", "space": "b"}, ("the embedder: Nomic (local) → Built-in embeddings",)),
        ({"library": "d2", "documents": 6}, ("3 documents more",)),
        ({"library": "d2"}, ("documents were replaced or split differently",)),
        ({"version": "0.2.0"}, ("the application: 0.1.0 → 0.2.0",)),
    ],
)
def test_changes_are_told_in_words(changes, said):
    before = Variant("as settled", RunOptions(), THEN)
    assert describe_changes(before, RunOptions(), replace(THEN, **changes)) == said


def test_settings_are_told_and_what_was_not_known_is_not_made_up():
    unknown = Variant("as settled", RunOptions())
    options = replace(RunOptions(), policy="any", thresholds=Thresholds(0.2, 0.4), preset="mine")
    assert describe_changes(unknown, options, THEN) == ("the settings: strict grading, thresholds 0.2 and 0.4",)
    assert describe_changes(unknown, replace(RunOptions(), preset="mine"), THEN) == ()
