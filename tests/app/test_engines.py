"""The choice of grader and grading model, for each mixture of available models and settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

from crag import options
from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.errors import BadRequest
from crag.grading import registry
from crag.grading.registry import choose_grader
from crag.inspection.run_labels import describe_grader
from crag.options import GraderKind, RunOptions
from crag.settings import Settings
from tests.doubles.engine import passage
from tests.doubles.evaluator import write_evaluator
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import LLAMA, NOMIC, Model

BIG, SMALL = "ollama:llama3.1:8b", "ollama:llama3.2:1b"
Opened = Callable[..., Application]


@pytest.mark.parametrize(
    ("kind", "models", "chosen"),
    [
        ("auto", ["builtin"], ("builtin", "builtin")),
        ("auto", [BIG], ("cascade", BIG)),
        ("auto", ["", SMALL, "builtin"], ("cascade", SMALL)),
        ("auto", ["", "builtin", BIG], ("builtin", "builtin")),
        ("builtin", [SMALL, "", BIG], ("builtin", "builtin")),
        ("listwise", ["", "builtin", BIG], ("listwise", BIG)),
        ("cascade", [SMALL, "", "builtin"], ("cascade", SMALL)),
    ],
)
def test_the_first_model_that_can_grade_so_does(kind: GraderKind, models: list[str], chosen: tuple[str, str]) -> None:
    assert choose_grader(kind, *models) == chosen
    beside_evaluator = choose_grader(kind, *models, has_evaluator=True)
    assert beside_evaluator == (("evaluator", "builtin") if (kind, chosen[0]) == ("auto", "builtin") else chosen)


def test_each_grader_kind_has_a_label_and_a_factory() -> None:
    assert set(get_args(GraderKind)) == set(options.GRADERS) == {"auto", *registry.GRADER_FACTORIES}


def test_a_grader_that_asks_no_model_needs_none(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its kind: only its description says whether it asks one."""
    monkeypatch.setitem(options.GRADERS, "listwise", options.GraderDescription("Words", "no model", asks_model=False))
    monkeypatch.setitem(registry.GRADER_FACTORIES, "listwise", registry.GRADER_FACTORIES["builtin"])
    assert choose_grader("listwise", BIG) == ("listwise", "builtin")
    grader = application.engines.grader(BIG, kind="listwise")
    assert dict(grader.grade("Who built the lighthouse?", [passage(1)], Cancellation()))
    assert describe_grader("listwise:words@1") == "Words"


def test_a_grader_that_needs_a_model_says_so() -> None:
    with pytest.raises(BadRequest, match="needs a language model"):
        choose_grader("score", "", "", "builtin")


@pytest.fixture
def ollama() -> Iterator[ScriptedOllama]:
    with ScriptedOllama(models=[LLAMA, NOMIC, Model("llama3.2:1b", digest="c" * 64)]) as server:
        yield server


@pytest.fixture
def application(ollama: ScriptedOllama, tmp_path: Any) -> Iterator[Application]:
    evaluator = str(write_evaluator(tmp_path / "evaluator"))
    opened = Application(
        Settings(home=tmp_path / "home", ollama_host=ollama.url, embedder="builtin", evaluator=evaluator)
    )
    yield opened
    opened.close()


@pytest.mark.parametrize("kind", get_args(GraderKind))
@pytest.mark.parametrize("answering", ["builtin", BIG])
def test_every_grader_works_beside_every_writer(
    application: Application, ollama: ScriptedOllama, answering: str, kind: GraderKind
) -> None:
    engine = application.engines.open(answering, RunOptions(grader=kind, grader_model=SMALL))
    held = [passage(1, "Clara Moor built the lighthouse. " * 9), passage(2, "Bread rises because of yeast. " * 9)]
    grades = dict(engine.grader.grade("Who built the lighthouse?", held, Cancellation()))
    assert (grades[0].score or 0) > (grades[1].score or 0)
    strips = dict(engine.refiner.refine("Who built the lighthouse?", held, Cancellation()))
    assert all(any(strip.kept for strip in kept) for kept in strips.values())
    assert {chat.body["model"] for chat in ollama.chats} <= {"llama3.2:1b"}
    assert min(len(ollama.chats), 2) == {"builtin": 0, "evaluator": 0, "auto": 0, "cascade": 0}.get(kind, 2)


def test_a_grader_is_named_by_its_kind_and_the_exact_model(application: Application) -> None:
    names = {kind: application.engines.grader(BIG, kind=kind).name for kind in get_args(GraderKind)}
    assert names["score"] == f"score:{BIG}@{'a' * 64}"
    assert names["auto"] == names["cascade"]
    assert len(set(names.values())) == len(names) - 1


def test_verdicts_of_two_kinds_are_remembered_apart(application: Application, ollama: ScriptedOllama) -> None:
    for kind in ("score", "listwise", "explained", "score", "listwise", "explained"):
        engine = application.engines.open(BIG, RunOptions(grader=kind))
        list(engine.grader.grade("Who built the lighthouse?", [passage(1)], Cancellation()))
    assert len(ollama.chats) == 3


def test_the_command_grades_with_the_grader_it_is_given(
    ollama: ScriptedOllama, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from crag.cli.main import main

    monkeypatch.setenv("OLLAMA_HOST", ollama.url)
    monkeypatch.chdir(tmp_path)
    rows = [
        {"question": "Who built the lighthouse?", "passage": text}
        for text in ("Clara Moor built the old lighthouse of Halden.", "No.")
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    for kind in ("listwise", "builtin"):
        code = main(["grade", "pairs.jsonl", "--grader", kind, "--model", BIG, "--home", str(tmp_path / "h"), "--json"])
        grades = json.loads(capsys.readouterr().out)["grades"]
        assert (code, [one["verdict"] for one in grades]) == (0, ["relevant", "irrelevant"]), kind
    code = main(
        ["grade", "pairs.jsonl", "--grader", "score", "--model", "builtin", "--home", str(tmp_path / "h"), "--json"]
    )
    assert (code, json.loads(capsys.readouterr().out)["error"]["code"]) == (1, "bad_request")
