"""Starts and ends processes that read untrusted files: the file as standard input, none of the user's settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import crag
from crag.errors import SourceRefused
from crag.library.parse.forks import Fork, ForkServer
from crag.library.parse.limits import Limits, out_of_memory, too_large
from crag.stopping import Stop

_ROOT = Path(crag.__file__).parent.parent
# Windows needs the first to start a process, Tesseract may need the second to find its languages.
_PASSED_ON = ("SYSTEMROOT", "TESSDATA_PREFIX")
Child = Fork | subprocess.Popen[bytes]  # the latter on Windows, which cannot fork


@contextmanager
def running(module: str, request: dict[str, Any], data: bytes | Path, limits: Limits, stop: Stop) -> Iterator[Child]:
    """Run `module` in a new process with `data` as standard input; kill it at the end of the block or on cancellation.

    Its argument is `request` plus the limits. Raises `SourceRefused` (`empty`, `too_large`) and, at the end, `Stopped`.
    """
    with (
        _opened(data, limits) as file,
        _start(module, json.dumps(request | {"limits": asdict(limits)}), file) as child,
        stop.breaking(child.kill),
    ):
        try:
            yield child
        finally:
            child.kill()
    stop.check()


@contextmanager
def _opened(data: bytes | Path, limits: Limits) -> Iterator[IO[bytes]]:
    """Open `data` as a file after checking its size. Raises `SourceRefused` (`empty`, `too_large`)."""
    with data.open("rb") if isinstance(data, Path) else tempfile.TemporaryFile() as file:
        if isinstance(data, bytes):
            file.write(data)
            file.seek(0)
        size = os.fstat(file.fileno()).st_size
        if size == 0:
            raise SourceRefused("empty", "The file is empty.")
        if size > limits.size:
            raise too_large(f"is larger than the limit of {limits.size / 1_048_576:,.0f} MB")
        yield file


def _start(module: str, request: str, file: IO[bytes]) -> Child:
    """Start the process in its own group, which includes all processes that it starts."""
    if hasattr(os, "fork"):
        return _fork_server.fork(module, request, file)
    return _launch([module, request], file, subprocess.PIPE)


def _launch(arguments: list[str], standard_input: Any, standard_output: int) -> subprocess.Popen[bytes]:
    environment = {"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "PATH": os.defpath}
    environment |= {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return subprocess.Popen(  # noqa: S603 — our own module, no shell
        [sys.executable, "-P", "-s", "-m", *arguments],
        stdin=standard_input,
        stdout=standard_output,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )


_fork_server = ForkServer(lambda theirs: _launch(["crag.library.parse.fork_server"], theirs, subprocess.DEVNULL))


class Deadline(threading.Event):
    """Timer that kills the child; the event is set once it has fired."""

    def __init__(self, child: Child, seconds: float) -> None:
        super().__init__()
        self._child = child
        self._begin(seconds)

    def extend(self, seconds: float) -> None:
        """Restart the timer with this many seconds."""
        self.cancel()
        self._begin(seconds)

    def cancel(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _begin(self, seconds: float) -> None:
        self.seconds = seconds
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def _expire(self) -> None:
        self.set()
        self._child.kill()


@contextmanager
def deadline(child: Child, seconds: float) -> Iterator[Deadline]:
    """Kill the child if the block takes longer; the event tells whether that happened."""
    until = Deadline(child, seconds)
    try:
        yield until
    finally:
        until.cancel()


def why_ended(child: Child, late: bool, limits: Limits) -> SourceRefused:
    """Return why the child ended without a reply: `too_slow`, `too_large` or `corrupt`."""
    child.kill()
    code = child.wait()
    if late or code == _by("SIGXCPU"):
        what = f"Reading the file took longer than {limits.seconds:,.0f} seconds."
        return SourceRefused("too_slow", what, "Split it and add the parts.")
    if code in (_by("SIGABRT"), _by("SIGTRAP")):  # native parsers abort when an allocation fails
        return out_of_memory()
    return SourceRefused("corrupt", "The file is damaged and cannot be read.", "Open it, save it anew and add that.")


def _by(name: str) -> int:
    """Return the exit code of a process ended by this signal."""
    return -getattr(signal, name, 0)
