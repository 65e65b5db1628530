"""The commands for watched folders, on a real home."""

from __future__ import annotations

import json

import pytest

from crag.app.application import open_application
from crag.cli.main import main
from crag.settings import Settings


@pytest.fixture
def crag(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")

    def run(*arguments):
        code = main(["folders", *arguments, "--home", str(tmp_path / "home"), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_folders_are_listed_and_applied(crag, tmp_path):
    assert crag() == (0, {"folders": []})
    (tmp_path / "papers").mkdir()
    application = open_application(Settings(home=tmp_path / "home", chat_model="builtin", embedder="builtin"))
    folder_id = application.watched_folders.add(str(tmp_path / "papers"), "Papers", include=["*.pdf"])
    application.close()
    (listed,) = crag("list")[1]["folders"]
    assert (listed["id"], listed["state"], listed["include"]) == (folder_id, "Looking", ["*.pdf"])
    assert crag("apply", folder_id) == (0, {"applying": folder_id})
    assert crag()[1]["folders"][0]["is_applying"]
    assert crag("apply", "unknown")[0] == 1
