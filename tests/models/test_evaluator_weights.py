"""Known evaluators: downloaded over real HTTP with one call, resumed, repaired, then used without a network."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crag.app.application import Application
from crag.errors import BadRequest, ModelFault
from crag.models.downloads import Download
from crag.models.evaluator_weights import KNOWN_EVALUATORS
from crag.options import RunOptions
from crag.settings import load_settings
from tests.applications import opening
from tests.doubles.evaluator import offer_evaluators
from tests.doubles.web import serving
from tests.waiting import PATIENCE

BEES = b"# Bees\n\nBees dance to tell where the flowers are.\n\n# Wasps\n\nWasps build nests of paper.\n"
Open = Callable[..., Application]


@pytest.fixture
def server():
    with serving() as server:
        yield server


@pytest.fixture
def models(server, monkeypatch):
    return offer_evaluators(server, monkeypatch)


@pytest.fixture
def opened(tmp_path, server, models, monkeypatch):
    """Opens the application on one home, whose user has no evaluator yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = {"chat_model": "auto", "embedder": "auto", "evaluator_url": server.url("")}
    with opening(tmp_path / "home", **usual) as open_:
        yield open_


def download(application: Application, name: str = "minilm") -> Download:
    application.downloads.start(f"evaluator:{name}")
    ended = application.downloads.wait(f"evaluator:{name}", PATIENCE)
    assert ended is not None
    return ended


def grader(application: Application) -> str:
    """Name of what grades on auto, without digests."""
    return application.grading_setup(RunOptions(model="builtin")).grader.partition("@")[0]


def checked(application: Application) -> tuple[str, str]:
    check = next(check for check in application.checks() if check.name == "Evaluator")
    return check.status, check.action.target if check.action else ""


def test_one_download_grades_and_reranks_then_works_offline(opened, server, tmp_path):
    application = opened()
    application.library.pipeline.add_bytes("notes.md", BEES)
    assert (grader(application), checked(application)) == ("builtin:wordllama", ("ok", ""))
    ended = download(application)
    size = KNOWN_EVALUATORS["minilm"].size
    assert (ended.state, ended.fault, ended.done, ended.total) == ("done", "", size, size)
    assert (grader(application), checked(application)) == ("evaluator:minilm", ("ok", ""))
    assert [row.kind for row in application.outbound_log.entries()] == ["download", "download"]
    asked = len(server.seen)
    application.close()
    again = opened(evaluator_url="http://127.0.0.1:9")
    assert grader(again) == "evaluator:minilm"
    found = again.library.retriever.retrieve("Where do bees dance?", RunOptions(k=1))
    assert (found.scored, found.passages[0].score > 0.7) == (1, True)
    assert len(server.seen) == asked
    again.evaluator.remove("minilm")
    assert (grader(again), again.library.retriever.retrieve("bees", RunOptions()).scored) == ("builtin:wordllama", 0)
    assert not (tmp_path / ".cache" / "crag" / "evaluators" / "minilm").exists()


def test_damaged_files_are_said_and_only_they_are_replaced(opened, server):
    application = opened()
    download(application)
    model = KNOWN_EVALUATORS["minilm"].folder / "model.onnx"
    model.write_bytes(model.read_bytes()[:-1000])
    assert checked(application) == ("fail", "evaluator:minilm")
    assert grader(application) == "builtin:wordllama", "nothing that was not asked for stands in the way"
    with pytest.raises(ModelFault, match="Download an evaluator in Settings"):
        application.grading_setup(RunOptions(model="builtin", grader="evaluator"))
    asked = len(server.seen)
    assert download(application).state == "done"
    assert len(server.seen) == asked + 1
    assert (grader(application), checked(application)) == ("evaluator:minilm", ("ok", ""))


def test_a_file_that_is_not_the_published_one_is_deleted(opened, models):
    application = opened()
    models["minilm"].body = models["minilm"].body[:-1] + b"\x00"
    ended = download(application)
    assert ended.state == "failed"
    assert "wrong checksum" in ended.fault
    assert grader(application) == "builtin:wordllama"


def test_the_larger_one_scores_unless_the_settings_name_another(opened):
    application = opened()
    for name in KNOWN_EVALUATORS:
        download(application, name)
    assert grader(application) == "evaluator:bge-m3"
    assert grader(opened(evaluator="minilm")) == "evaluator:minilm"


def test_addresses_and_names_are_checked(opened, tmp_path, monkeypatch):
    with pytest.raises(BadRequest, match="evaluator:minilm or evaluator:bge-m3"):
        opened().downloads.start("evaluator:../minilm")
    with pytest.raises(BadRequest, match="not a known evaluator"):
        opened().evaluator.remove("..")
    monkeypatch.setenv("CRAG_EVALUATOR_URL", "mirror.example.org")
    with pytest.raises(BadRequest, match="CRAG_EVALUATOR_URL"):
        load_settings(tmp_path)
