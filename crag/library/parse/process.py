"""Starts and ends the processes that read foreign files. They get the file as standard input and no setting of ours."""

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
# Windows starts no process without the first, Tesseract may find no languages without the second.
_PASSED_ON = ("SYSTEMROOT", "TESSDATA_PREFIX")
Child = Fork | subprocess.Popen[bytes]  # the latter on Windows, which cannot fork


@contextmanager
def running(module: str, request: dict[str, Any], data: bytes | Path, limits: Limits, stop: Stop) -> Iterator[Child]:
    """A fresh process that runs `module` on `data` as its standard input, killed at the end of the block or by a stop.

    Its argument is `request` with the limits. Raises `SourceRefused` (`empty`, `too_large`) and, at the end, `Stopped`.
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
    """`data` as an open file, its size judged first. Raises `SourceRefused` (`empty`, `too_large`)."""
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
    """In a group of its own with all that it starts."""
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
    """Set when it came and the child was ended."""

    def __init__(self, child: Child, seconds: float) -> None:
        super().__init__()
        self._child = child
        self._begin(seconds)

    def extend(self, seconds: float) -> None:
        """From now on the child has so many seconds."""
        self.cancel()
        self._begin(seconds)

    def cancel(self) -> None:
        """The child may take for ever."""
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
    """Ends the child if the block takes longer; the event tells whether that happened."""
    until = Deadline(child, seconds)
    try:
        yield until
    finally:
        until.cancel()


def why_ended(child: Child, late: bool, limits: Limits) -> SourceRefused:
    """Why it said nothing: `too_slow`, `too_large` or `corrupt`."""
    child.kill()
    code = child.wait()
    if late or code == _by("SIGXCPU"):
        what = f"Reading the file took longer than {limits.seconds:,.0f} seconds."
        return SourceRefused("too_slow", what, "Split it and add the parts.")
    if code in (_by("SIGABRT"), _by("SIGTRAP")):  # what native parsers do when an allocation fails
        return out_of_memory()
    return SourceRefused("corrupt", "The file is damaged and cannot be read.", "Open it, save it anew and add that.")


def _by(name: str) -> int:
    """What a process returns that was ended by this signal."""
    return -getattr(signal, name, 0)
