"""One process that has imported the application and forks the processes that tests start and kill.

What it imports takes some six seconds of computing, which a scenario in a browser would spend on each start.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import ModuleType

# multiprocessing keeps one such server, so all tests share this list
_IMPORTED = [
    *("launcher", "uvicorn", "httpcore", "yaml", "PIL.PngImagePlugin"),
    *("numpy", "faiss", "wordllama", "rapidfuzz.fuzz", "pandas", "pyarrow", "langchain_ollama"),
    *("crag.app.application", "crag.graph.build", "crag.models.embedders", "crag.models.builtin_writer"),
    *("crag.models.chat_models", "crag.models.builtin_writer", "crag.retrieval.vector_index", "tests.doubles.library"),
    *("pages.chat.messages", "pages.chat.live_run", "pages.chat.sidebar"),
]
FORKS = multiprocessing.get_context(
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)
FORKS.set_forkserver_preload(_IMPORTED)


def start(target: Callable[..., None], *arguments: object) -> BaseProcess:
    """A process that calls `target`; nothing of the process that tests is in it."""
    process = FORKS.Process(target=target, args=arguments, daemon=True)
    with _no_main_module():
        process.start()
    return process


@contextmanager
def _no_main_module() -> Iterator[None]:
    """A new process runs the file of the main module first, which is app.py once a page was drawn here."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
