"""`calibrate`: its JSON, its words, what it saves and what it refuses."""

from __future__ import annotations

import json
import shutil

import pytest

from crag.cli.main import main


@pytest.fixture
def run(filled, tmp_path, monkeypatch, capsys):
    """Runs the command on a home of forty towns: its exit code and what it wrote."""
    shutil.copytree(filled, tmp_path / "home")
    monkeypatch.setenv("CRAG_CHAT_MODEL", "builtin")
    monkeypatch.setenv("CRAG_EMBEDDER", "builtin")

    def command(*arguments):
        code = main(["calibrate", "--home", str(tmp_path / "home"), *arguments])
        return code, capsys.readouterr().out

    return command


def test_what_is_proposed_is_kept_only_when_asked(run):
    code, out = run("--probes", "25")
    assert code == 0
    for words in (
        "25 made from passages",
        "0.9–1.0",
        "relevant from",
        "not relevant below",
        "n=",
        "not answerable",
        "--apply",
    ):
        assert words in out
    assert not json.loads(run("--forget", "--json")[1])["forgotten"]
    code, out = run("--probes", "25", "--apply", "--json")
    document = json.loads(out)
    assert (code, document["applied"]) == (0, True)
    assert 0 <= document["proposed"]["lower"] <= document["proposed"]["upper"] <= 1
    assert len(document["scores"]) == 50
    assert document["figures"]["proposed"]["answerable"]["n"] == 25
    assert json.loads(run("--forget", "--json")[1])["forgotten"]


def test_too_few_questions_propose_nothing(run, tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "When was the bridge of Alder opened?", "answerable": true}\n', encoding="utf-8")
    code, out = run("--questions", str(file), "--apply", "--json")
    document = json.loads(out)
    assert (code, document["proposed"], document["applied"]) == (1, None, False)
    assert "at least 20" in document["remarks"][0]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--collection", "None such"), 1),
        (("--probes", "3"), 2),
        (("--apply", "--forget"), 2),
        (("--grader", "score"), 1),
        (("--questions", "/none/such.jsonl"), 1),
    ],
)
def test_what_cannot_be_is_refused(run, arguments, code):
    refused, out = run("--json", *arguments)
    assert refused == code
    assert json.loads(out)["error"]["message"]
