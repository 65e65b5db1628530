"""Runs the parsing child: hands it one file, follows its progress, and kills it at a limit or a stop.

Each file gets a fresh process, text files too: guessing an encoding runs foreign code over hostile bytes as well, one
path is simpler than two, and a start costs less than embedding a page. No file can disturb the next one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import crag
from crag.errors import SourceRefused
from crag.library.document import Document
from crag.library.parse.limits import Limits, too_large
from crag.stopping import Stop
from crag.types import Progress

_ROOT = Path(crag.__file__).parent.parent


def parse(
    name: str,
    data: bytes | Path,
    *,
    content_type: str = "",
    charset: str | None = None,
    stop: Stop,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Document:
    """The document in `data`, bytes or a file; `name`, `content_type` and `charset` are hints, the content decides.

    Raises `SourceRefused` (`empty`, `no_text`, `encrypted`, `unsupported`, `corrupt`, `too_large`, `too_slow`) and
    `Stopped`.
    """
    limits = limits or Limits()
    request = {"name": name, "content_type": content_type, "charset": charset, "limits": asdict(limits)}
    with _opened(data) as file:
        _check_size(os.fstat(file.fileno()).st_size, limits)
        return _Child(request, file, limits, stop).follow(progress or (lambda _: None))


@contextmanager
def _opened(data: bytes | Path) -> Iterator[IO[bytes]]:
    if isinstance(data, Path):
        with data.open("rb") as file:
            yield file
    else:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            yield file


def _check_size(size: int, limits: Limits) -> None:
    if size == 0:
        raise SourceRefused("empty", "The file is empty.")
    if size > limits.size:
        raise too_large(f"is larger than the limit of {limits.size / 1_048_576:,.0f} MB")


class _Child:
    """One child process. It gets the file as standard input and no path, key or setting of ours."""

    def __init__(self, request: dict[str, Any], file: IO[bytes], limits: Limits, stop: Stop) -> None:
        self._limits = limits
        self._stop = stop
        self._late = False
        environment = {"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "PATH": os.defpath}
        if "SYSTEMROOT" in os.environ:  # Windows starts no process without it
            environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        self._process = subprocess.Popen(  # noqa: S603 — our own module, no shell
            [sys.executable, "-P", "-s", "-m", "crag.library.parse.child", json.dumps(request)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def follow(self, progress: Callable[[Progress], None]) -> Document:
        """Its document. Raises `SourceRefused`, `Stopped`."""
        timer = threading.Timer(self._limits.seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            with self._process as process, self._stop.breaking(process.kill):
                try:
                    reply = self._reply(progress)
                finally:
                    process.kill()
        finally:
            timer.cancel()
        self._stop.check()
        return self._document(reply)

    def _reply(self, progress: Callable[[Progress], None]) -> dict[str, Any]:
        """The last line that the child wrote, or nothing when it ended before that; earlier lines are progress."""
        assert self._process.stdout  # noqa: S101 — opened as a pipe
        longest = 8 * self._limits.characters + 1_000_000
        while line := self._process.stdout.readline(longest):
            try:
                message: dict[str, Any] = json.loads(line)
            except ValueError:
                return {}
            if "progress" not in message:
                return message
            progress(Progress(*message["progress"]))
        return {}

    def _document(self, reply: dict[str, Any]) -> Document:
        if "document" in reply:
            return Document.from_json(reply["document"])
        if "refused" in reply:
            raise SourceRefused(*reply["refused"])
        if self._late or self._ended_by("SIGXCPU"):
            raise _too_slow(self._limits)
        if self._ended_by("SIGABRT", "SIGTRAP"):  # what native parsers do when an allocation fails
            raise too_large("needs more memory than it may use")
        raise _corrupt()

    def _ended_by(self, *names: str) -> bool:
        return any(self._process.returncode == -getattr(signal, name, 0) for name in names)

    def _expire(self) -> None:
        self._late = True
        self._process.kill()


def _corrupt() -> SourceRefused:
    return SourceRefused("corrupt", "The file is damaged and cannot be read.", "Open it, save it anew and add that.")


def _too_slow(limits: Limits) -> SourceRefused:
    return SourceRefused(
        "too_slow", f"Reading the file took longer than {limits.seconds:,.0f} seconds.", "Split it and add the parts."
    )
