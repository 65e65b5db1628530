"""The commands for conversations, on a real home."""

from __future__ import annotations

import json

import pytest

from crag.cli.main import main
from tests.applications import ask, opened_with


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    with opened_with(tmp_path / "home") as application:
        conversation = application.conversations.for_user("somebody").create().id
        ask(application, "What of whales?", conversation, model="builtin")
    return tmp_path / "home", conversation


@pytest.fixture
def crag(home, capsys):
    def run(*arguments):
        code = main(["conversations", *arguments, "--home", str(home[0]), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_list_export_import_delete_restore(home, crag, tmp_path, capsys):
    conversation, file = home[1], tmp_path / "it.json"
    _, listed = crag("list")
    assert [(one["id"], one["title"]) for one in listed["conversations"]] == [(conversation, "What of whales?")]
    assert "somebody" not in json.dumps(listed)
    code, exported = crag("export", conversation, "--format", "json", "--output", str(file))
    assert (code, exported["bytes"]) == (0, file.stat().st_size)
    code, refused = crag("export", conversation, "--output", str(file))
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    code, imported = crag("import", str(file))
    assert (code, imported["imported"]["title"]) == (0, "What of whales?")
    assert "<!doctype html>" in crag("export", conversation, "--format", "html")[1]["content"]
    assert main(["conversations", "export", conversation, "--home", str(home[0])]) == 0
    assert capsys.readouterr().out.startswith("# What of whales?\n")
    assert crag("delete", conversation)[0] == 0
    assert [one["id"] for one in crag()[1]["conversations"]] == [imported["imported"]["id"]]
    assert crag("restore", conversation)[0] == 0
    assert len(crag("list", "--search", "whales")[1]["conversations"]) == 2


def test_what_cannot_be_done_is_said(home, crag, tmp_path, monkeypatch):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert crag("import", str(broken))[1]["error"]["code"] == "bad_request"
    assert crag("import", str(tmp_path / "nowhere.json"))[0] == 1
    monkeypatch.setattr("crag.cli.arguments._MAX_INPUT_BYTES", 1 << 20)
    assert "more than 1 MB" in crag("import", "/dev/zero")[1]["error"]["message"]
    for action in ("export", "delete", "restore"):
        code, said = crag(action, "nothing")
        assert (code, said["error"]["code"]) == (1, "not_found")
    assert crag("export", home[1], "--format", "pdf")[0] == 2
