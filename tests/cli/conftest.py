"""Run commands on an empty home; homes that other suites prepare."""

import json

import pytest

from crag.cli.main import main
from tests.evaluation.conftest import filled  # noqa: F401 — a fixture
from tests.inspection.conftest import home, world  # noqa: F401 — fixtures

NOTES = """# Trace-based compilation

TraceMonkey gives up on a loop after repeated failures. After two failed recordings the fragment is blacklisted,
which means that the virtual machine never starts recording at that point again.

# Side exits

A failing guard makes the trace take a side exit back to the interpreter. If that exit becomes hot, a branch trace is
recorded from it.
"""
QUESTION = "When is a fragment blacklisted?"
ELSEWHERE = "Who won the 2024 NBA finals?"
CELTICS = {
    "title": "2024 NBA Finals",
    "url": "https://example.org/finals",
    "content": "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks.",
}


@pytest.fixture
def crag(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")

    def run(*arguments, json_output=True):
        given = [*arguments, "--home", str(tmp_path / "home"), *(["--json"] if json_output else [])]
        code = main(given)
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if json_output else printed.out + printed.err

    return run


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.md"
    file.write_text(NOTES, encoding="utf-8")
    return str(file)
