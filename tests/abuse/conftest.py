"""The application over scripted servers, with passages chosen by the test and a canary that must not be reached."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from crag.app.application import Application, open_application
from crag.options import RunOptions
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.runs.worker import RunResources
from crag.settings import Settings
from crag.types import Passage
from tests.doubles.engine import ListRetriever
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.tavily import TavilyServer
from tests.waiting import PATIENCE


class Canary:
    """A listener on the loopback interface that counts who connects."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.hits = 0
        threading.Thread(target=self._count, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.hits += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


@dataclass
class Scene:
    """The application with real models, graders, refiner and web over HTTP; only what is found is given."""

    application: Application
    ollama: ScriptedOllama
    tavily: TavilyServer
    canary: Canary
    passages: list[Passage] = field(default_factory=list)
    refused: int = 0

    def __post_init__(self) -> None:
        self.runs = RunService(self.application.database, self._open_resources)

    def ask(self, question: str, options: RunOptions, conversation: str | None = None) -> Trace:
        """Ask one question and wait for the end; decline a web search if asked."""
        run = self.runs.start(conversation, question, options)
        trace = Trace().apply_all(event for _, event in run.follow(seconds=PATIENCE))
        if trace.state == "waiting":
            self.refused += 1
            again = self.runs.answer_consent(run.id, None)
            trace = Trace().apply_all(event for _, event in again.follow(seconds=PATIENCE))
        return trace

    def _open_resources(self, options: RunOptions, *_: object) -> RunResources:
        return replace(self.application._run_resources.build(options, None), retriever=ListRetriever(self.passages))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    canary = Canary()
    with ScriptedOllama() as ollama, TavilyServer() as tavily:
        home: Path = tmp_path_factory.mktemp("home")
        given = {"ollama_host": ollama.url, "tavily_url": tavily.url, "tavily_api_key": "tvly-x", "embedder": "builtin"}
        application = open_application(Settings(home=home, **given))
        made = Scene(application, ollama, tavily, canary)
        yield made
        made.runs.close()
        application.close()
    canary.close()


def passages(texts: Sequence[str]) -> list[Passage]:
    return [Passage(n, f"s{n}", f"Note {n}", f"note{n}.md", text, text) for n, text in enumerate(texts, start=1)]
