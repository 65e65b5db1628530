"""Embeddings in the settings: choose, watch, cancel, go back; values of the environment are locked."""

from __future__ import annotations

import threading

import pytest

from crag.text.sanitization import WORD_JOINER
from pages.parts.services import shared_application
from tests.doubles.little_model import embed_words
from tests.pages.conftest import NOTES, add, labels, open_settings, restart_application, said, until
from tests.waiting import PATIENCE

NOMIC = "ollama:nomic-embed-text"
BACK = "Go back to Built-in embeddings"


def words(page):
    """The labels of all buttons, as a person reads them."""
    return [label.replace("\\", "").replace(WORD_JOINER, "") for label in labels(page)]


def click(page, label):
    page.button[words(page).index(label)].click().run()


@pytest.fixture
def settings(chat):
    return lambda: open_settings(chat, "embeddings")


def choose(page, label):
    """Choose an embedder, once the server was asked what it has."""
    until(page, lambda: label in page.selectbox[0].options)
    page.selectbox[0].select(label).run()


def test_an_embedder_is_chosen_answers_and_is_left_again(ollama, services, settings):
    add(services, "brewing.md", NOTES)
    page = settings()
    assert said(page, "Embedder :gray-badge[default]")
    choose(page, "Nomic Embed Text")
    until(page, lambda: BACK in words(page))
    assert services.embedders.answering() == "Nomic Embed Text"
    assert said(page, "Embedder :blue-badge[saved]")
    click(page, BACK)
    until(page, lambda: "Go back to Nomic Embed Text" in words(page))
    assert services.embedders.answering() == "Built-in embeddings"
    click(page, "Remove")
    until(page, lambda: "Remove" not in words(page))
    assert [report.state for report in services.library.spaces.statuses()] == ["answering"]
    page.switch_page("pages/documents/page.py").run()
    assert said(page, "· Built-in embeddings ·")


def test_a_build_is_watched_and_cancelled(ollama, services, settings):
    may_end = threading.Event()

    def embed(texts, size):
        assert len(texts) == 1 or may_end.wait(PATIENCE), "the canary alone at first, then a batch"
        return embed_words(texts, size)

    ollama.embed = embed
    add(services, "brewing.md", NOTES)
    page = settings()
    choose(page, "Nomic Embed Text")
    until(page, lambda: "Cancel" in words(page))
    assert said(page, "Built-in embeddings")
    click(page, "Cancel")
    may_end.set()
    until(page, lambda: "Cancel" not in words(page))
    assert services.library.space_work.wait(PATIENCE)
    assert services.embedders.answering() == "Built-in embeddings"


def test_the_environment_locks_and_can_be_returned_to(ollama, services, settings, monkeypatch):
    monkeypatch.setenv("CRAG_EMBEDDER", NOMIC)
    restart_application()
    services = shared_application()
    add(services, "brewing.md", NOTES)
    page = settings()
    assert said(page, "Embedder :violet-badge[:material/lock: environment]")
    assert page.selectbox[0].disabled
    services.library.space_work.choose("builtin")
    until(page, lambda: f"Use {NOMIC}" in words(page))
    assert services.library.space_work.wait(PATIENCE)
    assert services.embedders.answering() == "Built-in embeddings"
