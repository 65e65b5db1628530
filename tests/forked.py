"""The real application in a process of its own, forked from one that has imported it already."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.forks import start
from tests.served import ROOT, free_port, wait_for

_let_go: list[int] = []  # ports of those that have ended: a browser need not read the same scripts again


@contextmanager
def forked(
    home: Path, port: int = 0, console: Path = Path(os.devnull), folder: Path = ROOT, **environment: str
) -> Iterator[str]:
    """The application on this home, started in a folder and stopped at the end; gives its address.

    What it prints is added to `console`.
    """
    port = port or free_port(_let_go.pop() if _let_go else 0)
    process = start(launch, port, str(console), folder, environment=os.environ | {"CRAG_HOME": str(home)} | environment)
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz", process.is_alive)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.join(20)
        process.kill()
        _let_go.append(port)


def launch(port: int, console: str, folder: Path = ROOT) -> None:
    """In the new process: what its command does, without a terminal."""
    os.chdir(folder)
    printed = os.open(console, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    import launcher

    sys.exit(launcher.main(["--port", str(port)]))
