"""The scripted Ollama server and settings that point at it."""

from __future__ import annotations

import pytest

from crag.settings import Settings


@pytest.fixture
def settings(ollama, tmp_path):
    return Settings(home=tmp_path, ollama_host=ollama.url)


@pytest.fixture
def no_weights(monkeypatch, tmp_path):
    """A home folder without Nomic's weights; returns where they would be."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".cache" / "gpt4all" / "nomic-embed-text-v1.5.f16.gguf"


@pytest.fixture(autouse=True)
def brief_pauses(monkeypatch):
    """Between attempts, which are otherwise some seconds."""
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.01)
