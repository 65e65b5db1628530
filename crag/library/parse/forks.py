"""Processes forked by the fork server, with the part of the `subprocess.Popen` interface used here."""

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


class ForkServer:
    """Client that starts the fork server on demand and sends one request at a time. Thread-safe."""

    def __init__(self, launch: Launch) -> None:
        """`launch` starts the server process with the given socket as its standard input."""
        self._launch = launch
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        atexit.register(self._end)

    def fork(self, module: str, request: str, file: IO[bytes]) -> Fork:
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
        return Fork(self, connection, pid, os.fdopen(reading, "rb"))

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


class Fork:
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
