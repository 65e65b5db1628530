"""The application over scripted servers, with passages chosen by the test and a canary that must not be reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import pytest

from crag.app.application import Application
from crag.options import RunOptions
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.runs.worker import RunResources
from crag.types import Passage
from tests.applications import opened_with, wait
from tests.doubles.engine import ListRetriever
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.tavily import TavilyServer
from tests.doubles.web import Canary


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
        trace = wait(run)
        if trace.state == "waiting":
            self.refused += 1
            trace = wait(self.runs.answer_consent(run.id, None))
        return trace

    def _open_resources(self, options: RunOptions, *_: object) -> RunResources:
        return replace(self.application._run_resources.build(options, None), retriever=ListRetriever(self.passages))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    home = tmp_path_factory.mktemp("home")
    with ScriptedOllama() as ollama, TavilyServer() as tavily, closing(Canary()) as canary:
        given = {"ollama_host": ollama.url, "tavily_url": tavily.url, "tavily_api_key": "tvly-x"}
        with opened_with(home, chat_model="auto", **given) as application:
            made = Scene(application, ollama, tavily, canary)
            yield made
            made.runs.close()


def passages(texts: Sequence[str]) -> list[Passage]:
    return [Passage(n, f"s{n}", f"Note {n}", f"note{n}.md", text, text) for n, text in enumerate(texts, start=1)]
