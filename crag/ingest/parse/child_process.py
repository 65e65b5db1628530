"""Child processes that read untrusted files: start, feed, follow and kill."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, Self

import crag
from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.parse.document import Document, ParseLimits, damaged_refusal, out_of_memory_refusal, too_large_refusal
from crag.ingest.parse.ocr import find_rapidocr
from crag.types import Progress, ProgressCallback, ignore_progress

LaunchServer = Callable[[socket.socket], "subprocess.Popen[bytes]"]


class ForkServer:
    """Client that starts the fork server on demand and sends one request at a time. Thread-safe."""

    def __init__(self, launch: LaunchServer) -> None:
        """`launch` starts the server process with the given socket as its standard input."""
        self._launch = launch
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        atexit.register(self._end)

    def fork(self, module: str, request: str, file: IO[bytes]) -> ForkedChild:
        """Fork a child that runs `module` on `file`. Raises `OSError` when no process can be started."""
        reading, writing = os.pipe()
        asked = {"module": module, "request": request}
        try:
            with self._lock:
                try:
                    connection, pid = self._ask(asked, file.fileno(), writing)
                except OSError:  # the server exits when idle
                    self._end()
                    connection, pid = self._ask(asked, file.fileno(), writing)
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return ForkedChild(self, connection, pid, os.fdopen(reading, "rb"))

    def wait(self, connection: socket.socket, pid: int) -> int:
        """Return the exit code of a child. Raises `OSError` if the server that forked it has exited."""
        with self._lock:
            if connection is not self._connection:
                raise ConnectionResetError
            return self._ask({"wait": pid})[1]

    def _ask(self, asked: dict[str, Any], *files: int) -> tuple[socket.socket, int]:
        if self._connection is None:
            self._begin()
        assert self._connection  # noqa: S101 — set by `_begin`
        socket.send_fds(self._connection, [json.dumps(asked).encode() + b"\n"], files)
        reply = self._connection.recv(64)
        if not reply:
            raise ConnectionResetError
        return self._connection, int(reply)

    def _begin(self) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = self._launch(theirs)

    def _end(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None
        if self._process:
            self._process.kill()
            self._process.wait()


class ForkedChild:
    """A process forked by the server."""

    def __init__(self, server: ForkServer, connection: socket.socket, pid: int, stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._server = server
        self._connection = connection
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.wait()

    def kill(self) -> None:
        """Kill the process and all that it started; do nothing if it has ended."""
        with self._lock:
            if self.returncode is None:
                with suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the process and return its exit code in the form of `Popen.returncode`."""
        with self._lock:
            if self.returncode is None:
                try:
                    self.returncode = self._server.wait(self._connection, self.pid)
                except OSError:
                    self.returncode = -signal.SIGKILL
            return self.returncode


_PROJECT_ROOT = Path(crag.__file__).parent.parent
# Windows needs the first to start a process, Tesseract may need the second to find its languages.
_INHERITED_VARIABLES = ("SYSTEMROOT", "TESSDATA_PREFIX")
ChildProcess = ForkedChild | subprocess.Popen[bytes]  # the latter on Windows, which cannot fork


@contextmanager
def run_child(
    module: str, request: dict[str, Any], data: bytes | Path, limits: ParseLimits, stop: Cancellation
) -> Iterator[ChildProcess]:
    """Run `module` in a new process with `data` as standard input; kill it at the end of the block or on cancellation.

    Its argument is `request` plus the limits. Raises `SourceRefused` (`empty`, `too_large`) and, at the end, `Stopped`.
    """
    with (
        _open_input(data, limits) as file,
        _start_child(module, json.dumps(request | {"limits": asdict(limits)}), file) as child,
        stop.on_cancel(child.kill),
    ):
        try:
            yield child
        finally:
            child.kill()
    stop.check()


@contextmanager
def _open_input(data: bytes | Path, limits: ParseLimits) -> Iterator[IO[bytes]]:
    """Open `data` as a file after checking its size. Raises `SourceRefused` (`empty`, `too_large`)."""
    with data.open("rb") if isinstance(data, Path) else tempfile.TemporaryFile() as file:
        if isinstance(data, bytes):
            file.write(data)
            file.seek(0)
        size = os.fstat(file.fileno()).st_size
        if size == 0:
            raise SourceRefused("empty", "The file is empty.")
        if size > limits.size:
            raise too_large_refusal(f"The file is larger than the limit of {limits.size / 1_048_576:,.0f} MB.")
        yield file


def _start_child(module: str, request: str, file: IO[bytes]) -> ChildProcess:
    """Start the process in its own group, which includes all processes that it starts."""
    if hasattr(os, "fork"):
        return _fork_server.fork(module, request, file)
    return _launch_python([module, request], file, subprocess.PIPE)


def _launch_python(arguments: list[str], standard_input: Any, standard_output: int) -> subprocess.Popen[bytes]:
    environment = {"PYTHONPATH": str(_PROJECT_ROOT), "PYTHONUTF8": "1", "PATH": os.defpath}
    environment |= {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    return subprocess.Popen(  # noqa: S603 — our own module, no shell
        [sys.executable, "-P", "-s", "-m", *arguments],
        stdin=standard_input,
        stdout=standard_output,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )


_fork_server = ForkServer(lambda theirs: _launch_python(["crag.ingest.parse.fork_server"], theirs, subprocess.DEVNULL))


class KillTimer(threading.Event):
    """Timer that kills the child; the event is set once it has fired."""

    def __init__(self, child: ChildProcess, seconds: float) -> None:
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
def kill_after(child: ChildProcess, seconds: float) -> Iterator[KillTimer]:
    """Kill the child if the block takes longer; the event tells whether that happened."""
    timer = KillTimer(child, seconds)
    try:
        yield timer
    finally:
        timer.cancel()


def child_failure(child: ChildProcess, timed_out: bool, limits: ParseLimits) -> SourceRefused:
    """Return why the child ended without a reply: `too_slow`, `too_large` or `corrupt`."""
    child.kill()
    code = child.wait()
    if timed_out or code == _signal_exit_code("SIGXCPU"):
        return SourceRefused(
            "too_slow",
            f"Reading the file took longer than {limits.seconds:,.0f} seconds.",
            "Split it and add the parts.",
        )
    if code in (
        _signal_exit_code("SIGABRT"),
        _signal_exit_code("SIGTRAP"),
    ):  # native parsers abort when an allocation fails
        return out_of_memory_refusal()
    return damaged_refusal()


def _signal_exit_code(name: str) -> int:
    """Return the exit code of a process ended by this signal."""
    return -getattr(signal, name, 0)


def parse_file(
    name: str,
    data: bytes | Path,
    *,
    content_type: str = "",
    charset: str | None = None,
    stop: Cancellation,
    limits: ParseLimits | None = None,
    progress: ProgressCallback | None = None,
) -> Document:
    """Parse `data`, bytes or a file. `name`, `content_type` and `charset` are hints; the content decides.

    Raises `SourceRefused` (`empty`, `no_text`, `encrypted`, `unsupported`, `corrupt`, `too_large`, `too_slow`) and
    `Stopped`.
    """
    limits = limits or ParseLimits()
    request = {"name": name, "content_type": content_type, "charset": charset}
    request |= {"tesseract": shutil.which("tesseract") or "", "rapidocr": find_rapidocr()}
    with (
        run_child("crag.ingest.parse.child", request, data, limits, stop) as child,
        kill_after(child, limits.seconds) as timer,
    ):
        reply = _read_last_reply(child, limits, timer, progress or ignore_progress)
    if "document" in reply:
        return Document.from_json(reply["document"])
    if "refused" in reply:
        raise SourceRefused(*reply["refused"])
    raise child_failure(child, timer.is_set(), replace(limits, seconds=timer.seconds))


def parse_texts(texts: Sequence[tuple[str, bytes]], stop: Cancellation, limits: ParseLimits) -> list[Document | None]:
    """Parse short texts, given by name and content, in one process; None for what needs a process of its own.

    That is any file whose content is not plain text or has a fault, and every file if one ends the process. Raises
    `Stopped`.
    """
    request = {"texts": [(name, len(data)) for name, data in texts]}
    with (
        run_child("crag.ingest.parse.child", request, b"".join(data for _, data in texts), limits, stop) as child,
        kill_after(child, limits.seconds) as timer,
    ):
        reply = _read_last_reply(child, limits, timer, ignore_progress)
    return [found and Document.from_json(found) for found in reply.get("texts", [None] * len(texts))]


def _read_last_reply(
    child: ChildProcess, limits: ParseLimits, timer: KillTimer, progress: ProgressCallback
) -> dict[str, Any]:
    """Return the last line of the child, reporting earlier ones as progress; empty if the child ended before it."""
    assert child.stdout  # noqa: S101 — opened as a pipe
    while line := child.stdout.readline(limits.reply_bytes):
        try:
            message: dict[str, Any] = json.loads(line)
        except ValueError:
            return {}
        if "progress" in message:
            progress(Progress(*message["progress"]))
        elif "ocr" in message and timer.seconds == limits.seconds:
            timer.extend(limits.seconds_with_ocr(message["ocr"]))
        else:
            return message
    return {}
