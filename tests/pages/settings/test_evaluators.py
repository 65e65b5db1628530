"""The evaluator in the settings: one click, progress, cancel, resume, a damaged file, removal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from crag.models.evaluator_weights import KNOWN_EVALUATORS
from crag.text.sanitization import WORD_JOINER
from tests.doubles.evaluator import offer_evaluators, write_evaluator
from tests.doubles.served_file import ServedFile
from tests.doubles.web import serving
from tests.pages.conftest import click, labels, open_settings, said, until


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ServedFile]]:
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving() as server:
        monkeypatch.setenv("CRAG_EVALUATOR_URL", server.url(""))
        yield offer_evaluators(server, monkeypatch)


def shown(page: AppTest) -> str:
    """The words over the progress bars."""
    return " ".join(bar.proto.text for bar in page.get("progress")).replace("\\", "").replace(WORD_JOINER, "")


def test_an_evaluator_is_downloaded_used_repaired_and_removed(chat: AppTest, models: dict[str, ServedFile]) -> None:
    models["minilm"].holds_at = 50_000
    page = open_settings(chat, "grading")
    assert said(page, "English · 0.5 MB · Apache-2.0")
    click(page, "Download · 0.5 MB")
    until(page, lambda: "of 0.5 MB" in shown(page))
    click(page, "Cancel")
    until(page, lambda: "Resume" in labels(page))
    models["minilm"].holds_at = 1e9
    click(page, "Resume")
    until(page, lambda: said(page, ":green-badge[in use]"))
    model = KNOWN_EVALUATORS["minilm"].folder / "model.onnx"
    model.write_bytes(b"\x08 damaged")
    page.run()
    assert said(page, "model.onnx of the evaluator minilm is damaged")
    click(page, "Download again")
    until(page, lambda: said(page, ":green-badge[in use]"))
    click(page, "Remove")
    assert not said(page, "in use")
    assert labels(page).count("Download · 0.5 MB") == 2
    assert not model.exists()


def test_the_folder_of_the_environment_is_shown(chat: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAG_EVALUATOR", str(write_evaluator(tmp_path / "mine")))
    page = open_settings(chat, "grading")
    assert said(page, "Set by CRAG_EVALUATOR. Change it there.")
    assert said(page, ":green-badge[in use]")
