"""The address and model names of the real server, read before the tests clear the environment.

    OLLAMA_HOST=127.0.0.1:11434 CRAG_LIVE_CHAT_MODEL=llama3.2:1b CRAG_LIVE_EMBEDDER=nomic-embed-text \\
        python -m pytest tests/live -m live
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crag.app.application import Application, open_application
from crag.models.chat_models import open_chat_model
from crag.options import ModelParameters
from crag.protocols import ChatModel
from crag.settings import Settings, load_settings

HOST = os.environ.get("OLLAMA_HOST", "")
CHAT_MODEL = os.environ.get("CRAG_LIVE_CHAT_MODEL", "")
EMBEDDER = os.environ.get("CRAG_LIVE_EMBEDDER", "")
# So long that a small model does not end before it is stopped, so short that none takes minutes.
TUNING = ModelParameters(window=2048, answer_limit=512)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lets the tests of this folder reach the server, which may be another machine, and no other."""
    if not HOST:
        return
    name = urlsplit(load_settings(env_file=Path(os.devnull)).ollama_host).hostname or ""
    addresses = sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None)})
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("live"):
            item.add_marker(pytest.mark.allow_hosts([name, *addresses]))


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings that point at the server; skips where none was named."""
    if not HOST:
        pytest.skip("set OLLAMA_HOST to the address of a real Ollama server")
    monkeypatch.setenv("OLLAMA_HOST", HOST)
    monkeypatch.setenv("CRAG_EMBEDDER", "builtin")
    return load_settings(home=tmp_path / "home", env_file=Path(os.devnull))


@pytest.fixture
def chat_name() -> str:
    if not CHAT_MODEL:
        pytest.skip("set CRAG_LIVE_CHAT_MODEL to a chat model of that server, such as llama3.2:1b")
    return CHAT_MODEL


@pytest.fixture
def embedder_name() -> str:
    if not EMBEDDER:
        pytest.skip("set CRAG_LIVE_EMBEDDER to an embedding model of that server, such as nomic-embed-text")
    return EMBEDDER


@pytest.fixture
def model(settings: Settings, chat_name: str) -> ChatModel:
    return open_chat_model(f"ollama:{chat_name}", settings, tuning=TUNING)


@pytest.fixture
def application(settings: Settings) -> Iterator[Application]:
    made = open_application(settings)
    yield made
    made.close()
