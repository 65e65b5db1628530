"""Children forked by the nursery, with what of `subprocess.Popen` is used here."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Self

Launch = Callable[[socket.socket], "subprocess.Popen[bytes]"]


class Nursery:
    """Starts the nursery when it is needed and asks it, one question at a time. Safe to share between threads."""

    def __init__(self, launch: Launch) -> None:
        """`launch` starts the process with the given socket as its standard input."""
        self._launch = launch
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        atexit.register(self._end)

    def fork(self, module: str, request: str, file: IO[bytes]) -> Fork:
        """A child that runs `module` on `file`. Raises `OSError` when no process can be started."""
        reading, writing = os.pipe()
        asked = {"module": module, "request": request}
        try:
            with self._lock:
                try:
                    line, pid = self._ask(asked, file.fileno(), writing)
                except OSError:  # it had ended, as it does after a while without work
                    self._end()
                    line, pid = self._ask(asked, file.fileno(), writing)
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return Fork(self, line, pid, os.fdopen(reading, "rb"))

    def wait(self, line: socket.socket, pid: int) -> int:
        """What a child returned, asked of the very process that forked it. Raises `OSError` when that has gone."""
        with self._lock:
            if line is not self._line:
                raise ConnectionResetError
            return self._ask({"wait": pid})[1]

    def _ask(self, asked: dict[str, Any], *files: int) -> tuple[socket.socket, int]:
        if self._line is None:
            self._begin()
        assert self._line  # noqa: S101 — begun just now
        socket.send_fds(self._line, [json.dumps(asked).encode() + b"\n"], files)
        reply = self._line.recv(64)
        if not reply:
            raise ConnectionResetError
        return self._line, int(reply)

    def _begin(self) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = self._launch(theirs)

    def _end(self) -> None:
        if self._line:
            self._line.close()
            self._line = None
        if self._process:
            self._process.kill()
            self._process.wait()


class Fork:
    """A child of the nursery."""

    def __init__(self, nursery: Nursery, line: socket.socket, pid: int, stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._nursery = nursery
        self._line = line
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.wait()

    def kill(self) -> None:
        """Kills it with all it started; harmless when it has ended."""
        with self._lock:
            if self.returncode is None:
                with suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """What it returned, as `Popen.returncode` tells it."""
        with self._lock:
            if self.returncode is None:
                try:
                    self.returncode = self._nursery.wait(self._line, self.pid)
                except OSError:
                    self.returncode = -signal.SIGKILL
            return self.returncode
