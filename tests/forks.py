"""One process that has imported the application and forks the processes that tests start and kill.

What it imports takes some six seconds of computing, which a scenario in a browser would spend on each start.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from types import ModuleType

from tests.served import ROOT

# multiprocessing keeps one such server, so all tests share this list
_IMPORTED = [
    *("launcher", "uvicorn", "httpcore", "yaml", "PIL.PngImagePlugin"),
    *("numpy", "faiss", "safetensors.numpy", "rapidfuzz.fuzz", "pandas", "pyarrow", "langchain_ollama"),
    *("crag.app.application", "crag.graph.build", "crag.models.embedders", "crag.models.builtin_writer"),
    *("crag.models.chat_models", "crag.retrieval.vector_index", "crag.app.checklist", "crag.evaluation.calibrator"),
    *("crag.evaluation.regression", "crag.app.environments", "pages.chat.messages", "pages.chat.live_run"),
    *("pages.chat.sidebar", "crag.cli.main", "tests.doubles.library", "tests.endurance.mixed_work"),
    "tests.compiled_rules",
]
FORKS = multiprocessing.get_context(
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)
FORKS.set_forkserver_preload(_IMPORTED)


def start(target: Callable[..., None], *arguments: object, environment: Mapping[str, str] | None = None) -> BaseProcess:
    """A process that calls `target` in the environment and the folder of this one; nothing else of it is in there."""
    begin = (dict(os.environ if environment is None else environment), target, arguments)
    process = FORKS.Process(target=_call, args=begin, daemon=True)
    with _no_main_module():
        if FORKS.get_start_method() == "forkserver":
            with chdir(ROOT):  # elsewhere it would find nothing to import
                forkserver.ensure_running()
        process.start()
    return process


def _call(environment: Mapping[str, str], target: Callable[..., None], arguments: tuple[object, ...]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    target(*arguments)


@contextmanager
def _no_main_module() -> Iterator[None]:
    """A new process runs the file of the main module first, which is app.py once a page was drawn here."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
