"""`python -m crag models`, against a scripted Ollama over real HTTP."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crag.cli.main import main
from crag.models.downloads import DownloadRows
from crag.storage.engine import Database
from tests.doubles.evaluator import offer_evaluators
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_registry import Mishap
from tests.doubles.web import serving
from tests.waiting import wait_until

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def crag(
    ollama: ScriptedOllama, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", ollama.url)

    def run(*arguments: str, json_output: bool = True) -> tuple[int, Any]:
        capsys.readouterr()
        code = main([*arguments, "--home", str(tmp_path / "home"), *(["--json"] if json_output else [])])
        printed = capsys.readouterr().out
        return code, json.loads(printed) if json_output else printed

    return run


def test_list(crag: Run) -> None:
    code, listed = crag("models")
    assert (code, listed["version"]) == (0, "0.30.11")
    assert [(model["name"], model["size"], model["loaded"]) for model in listed["models"]] == [
        ("llama3.1:8b", 4_900_000_000, False),
        ("nomic-embed-text:latest", 274_000_000, False),
    ]
    assert listed["recommended"]["bytes"] > 1_000_000_000
    said = crag("models", "list", json_output=False)[1]
    assert "llama3.1:8b  4.9 GB, llama, 8.0B, Q4_K_M, 131,072 tokens, not loaded" in said
    assert "embeds" in said


def test_pull_and_remove(crag: Run, ollama: ScriptedOllama) -> None:
    code, pulled = crag("models", "pull", "llama3.2:3b")
    got = pulled["download"]
    assert (code, got["name"], got["state"], got["done"]) == (0, "ollama:llama3.2:3b", "done", 2_000_000_000)
    assert ollama.has("llama3.2:3b")
    assert crag("ledger")[1]["departures"][0]["host"] == "registry.ollama.ai"
    assert crag("models", "remove", "ollama:llama3.2:3b")[0] == 0
    assert not ollama.has("llama3.2:3b")


def test_a_model_that_nobody_has(crag: Run) -> None:
    code, pulled = crag("models", "pull", "lama")
    assert (code, pulled["download"]["state"]) == (1, "failed")
    assert "no model called lama" in pulled["download"]["fault"]
    for command in ("remove", "load", "unload"):
        code, refused = crag("models", command, "lama")
        assert (code, refused["error"]["code"]) == (1, "model_missing")


def test_load_as_questions_use_it_and_unload(crag: Run, ollama: ScriptedOllama) -> None:
    crag("settings", "set", "grading.window", "16384")
    code, loaded = crag("models", "load", "llama3.1:8b")
    assert (code, loaded["model"]["processor"]) == (0, "GPU")
    assert ollama.memory.loads == [("llama3.1:8b", 16_384)]
    assert crag("models", "unload", "llama3.1:8b")[0] == 0
    assert not ollama.memory.held


def test_an_evaluator_is_pulled_and_removed(crag: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving() as server:
        monkeypatch.setenv("CRAG_EVALUATOR_URL", server.url(""))
        offer_evaluators(server, monkeypatch)
        code, pulled = crag("models", "pull", "evaluator:minilm")
    assert (code, pulled["download"]["name"], pulled["download"]["state"]) == (0, "evaluator:minilm", "done")
    assert "MiniLM grades passages and orders those found" in crag("doctor", json_output=False)[1]
    assert crag("models", "remove", "evaluator:minilm") == (0, {"removed": "evaluator:minilm"})
    assert "none, and none is needed" in crag("doctor", json_output=False)[1]


def test_ctrl_c_stops_a_pull_that_goes_on_the_next_time(crag: Run, ollama: ScriptedOllama, tmp_path: Path) -> None:
    ollama.registry["llama3.2:3b"].mishaps.append(Mishap(0.5, "hang"))

    database, usual = Database(tmp_path / "home"), signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        saved = DownloadRows(database, "another")
        wait_until(lambda: any(download.done >= 1_000_000_000 for download in saved.all()))
        wait_until(lambda: signal.getsignal(signal.SIGINT) is not usual)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    code, stopped = crag("models", "pull", "llama3.2:3b")
    interrupting.join()
    database.close()
    assert (code, stopped["download"]["state"]) == (1, "cancelled")
    assert stopped["download"]["done"] >= 900_000_000
    assert "not finished (1.0 GB of 2.0 GB)" in crag("models", json_output=False)[1]
    ollama.wait_until(lambda: ollama.asked("/api/pull")[0].outcome == "dropped")
    code, pulled = crag("models", "pull", "llama3.2:3b")
    assert (code, pulled["download"]["state"]) == (0, "done")


def test_no_server(crag: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", closed_address())
    code, refused = crag("models")
    assert (code, refused["error"]["code"]) == (1, "unreachable")
    assert "ollama serve" in refused["error"]["message"]
    code, refused = crag("models", "pull", "llama3.2:3b")
    assert (code, refused["download"]["state"]) == (1, "failed")
