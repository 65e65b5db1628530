"""The commands for notes, on a real home."""

from __future__ import annotations

import json

import pytest

from crag.cli.main import main
from tests.applications import opened_with


@pytest.fixture
def crag(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    home = tmp_path / "home"
    with opened_with(home) as application:
        application.notes.add("Plan\nfirst this")
        application.notes.add("Other")

    def run(*arguments):
        code = main(["notes", *arguments, "--home", str(home), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_notes_are_listed_and_exported(crag, tmp_path):
    assert [note["title"] for note in crag("list")[1]["notes"]] == ["Other", "Plan"]
    assert [note["text"] for note in crag("--search", "FIRST")[1]["notes"]] == ["first this"]
    for name, form, beginning in (("all.md", "markdown", b"# Notes"), ("all.docx", "word", b"PK")):
        code, exported = crag("export", str(tmp_path / name))
        assert (code, exported["exported"], exported["format"]) == (0, 2, form)
        assert (tmp_path / name).read_bytes().startswith(beginning)
    code, refused = crag("export", str(tmp_path / "all.md"))
    assert (code, refused["error"]["code"]) == (1, "bad_request")
