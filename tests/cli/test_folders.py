"""The commands for watched folders, on a real home."""

from __future__ import annotations

import json

import pytest

from crag.cli.main import main


@pytest.fixture
def crag(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")

    def run(*arguments):
        code = main(["folders", *arguments, "--home", str(tmp_path / "home"), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def folder_id(crag, tmp_path):
    (tmp_path / "papers").mkdir()
    rules = ("--include", "*.pdf", "--include", "*.md", "--exclude", "old/*", "--no-subfolders", "--automatic")
    code, document = crag("add", str(tmp_path / "papers"), "--collection", "Papers", *rules)
    assert code == 0
    return document["added"]


def test_a_folder_is_added_with_its_rules(crag, folder_id, tmp_path):
    (listed,) = crag("list")[1]["folders"]
    assert (listed["id"], listed["path"], listed["state"]) == (folder_id, str(tmp_path / "papers"), "Looking")
    assert (listed["collection"], listed["include"], listed["exclude"]) == ("Papers", ["*.pdf", "*.md"], ["old/*"])
    assert (listed["subfolders"], listed["is_automatic"]) == (False, True)


def test_a_folder_is_applied_paused_resumed_and_removed(crag, folder_id):
    assert crag("apply", folder_id) == (0, {"applying": folder_id})
    assert crag()[1]["folders"][0]["is_applying"]
    assert crag("pause", folder_id) == (0, {"paused": folder_id})
    assert crag()[1]["folders"][0]["is_paused"]
    assert crag("resume", folder_id) == (0, {"resumed": folder_id})
    assert not crag()[1]["folders"][0]["is_paused"]
    assert crag("remove", folder_id, "--with-documents") == (0, {"removed": folder_id})
    assert crag() == (0, {"folders": []})


@pytest.mark.parametrize("action", ["apply", "pause", "resume", "remove"])
def test_a_folder_that_is_not_watched_is_refused(crag, action):
    code, document = crag(action, "unknown")
    assert (code, document["error"]["message"]) == (1, "This folder is no longer watched.")


def test_a_path_that_is_no_folder_is_refused(crag, tmp_path):
    code, document = crag("add", str(tmp_path / "nowhere"))
    assert (code, document["error"]["code"]) == (1, "bad_request")
