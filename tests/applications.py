"""The real application over a home of its own, and the traces of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import MappingProxyType

from crag.app.application import Application, open_application
from crag.options import RunOptions
from crag.runs.run import LiveRun, LoggedRun
from crag.runs.trace import Trace
from crag.settings import Settings
from tests.doubles.ollama import closed_address
from tests.waiting import PATIENCE

NOTHING: Mapping[str, str | bytes] = MappingProxyType({})


@contextmanager
def opened_with(
    home: Path, documents: Mapping[str, str | bytes] = NOTHING, **settings: object
) -> Iterator[Application]:
    """The application with these documents and with what is built in, unless the settings say otherwise."""
    given = {"chat_model": "builtin", "embedder": "builtin", "ollama_host": closed_address()} | settings
    with closing(open_application(Settings(home=home, **given))) as opened:  # type: ignore[arg-type]
        for name, content in documents.items():
            opened.library.pipeline.add_bytes(name, content if isinstance(content, bytes) else content.encode())
        yield opened


@contextmanager
def opening(home: Path, **usual: object) -> Iterator[Callable[..., Application]]:
    """Opens the application on this home each time it is called, with settings in place of the usual ones."""
    with ExitStack() as opened:
        yield lambda **settings: opened.enter_context(opened_with(home, **usual | settings))  # type: ignore[arg-type]


def wait(run: LiveRun | LoggedRun) -> Trace:
    """The trace of a run that has ended, or waits for the user."""
    return Trace().apply_all(event for _, event in run.follow(seconds=PATIENCE))


def ask(application: Application, question: str, conversation: str | None = None, **options: object) -> Trace:
    """The trace of an answer under these options."""
    return wait(application.runs.start(conversation, question, RunOptions(**options)))  # type: ignore[arg-type]
