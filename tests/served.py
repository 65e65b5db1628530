"""The real application in a process of its own; any application in a thread."""

from __future__ import annotations

import asyncio
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from crag.server.request_guard import QUERY_PARAMETER
from tests.waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[1]


@contextmanager
def served(home: Path, folder: Path = ROOT, port: int = 0, **environment: str) -> Iterator[str]:
    """The application on a free port, started in a folder and stopped at the end; gives its address."""
    port = port or free_port()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "launcher.py"), "--port", str(port)],
        cwd=folder,
        env=os.environ | {"CRAG_HOME": str(home)} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz", lambda: process.poll() is None)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


@contextmanager
def serve(app: ASGIApp, *, lifespan: Literal["on", "off"] = "off") -> Iterator[str]:
    """Any ASGI application on a free port, in a thread of the test; gives its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = _PromptServer(uvicorn.Config(app, log_level="critical", lifespan=lifespan))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        wait_until(lambda: server.loop)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.leave()
            thread.join()


class _PromptServer(uvicorn.Server):
    """A server that ends when told to; uvicorn's looks ten times a second, and waits as long for its connections."""

    loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        self._leaving = asyncio.Event()
        await self.on_tick(0)
        self.loop = asyncio.get_running_loop()
        await self._leaving.wait()

    def leave(self) -> None:
        assert self.loop
        self.loop.call_soon_threadsafe(self._leaving.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in self.servers:
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if tasks := self.server_state.tasks:
            _, unfinished = await asyncio.wait(tasks, timeout=1)
            for task in unfinished:
                task.cancel()
        await self.lifespan.shutdown()


def free_port(wanted: int = 0) -> int:
    """A port that nobody listens on: the wanted one where that is free, else one that no system hands out by itself.

    A port that it does hand out may be somebody's server a moment later.
    """
    port = wanted or random.SystemRandom().randrange(20_000, 32_768)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also one that was listened on a moment ago
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return free_port()
    return port


def wait_for(address: str, is_alive: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Until the application answers there; fails as soon as its process has ended."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert is_alive(), "the application ended at once"
            assert time.monotonic() < end, "the application did not start"
            time.sleep(0.1)


def socket_path(document: str) -> str:
    """Return the path of the application's WebSocket with the token that its page contains."""
    found = re.search(rf'searchParams.set\("{QUERY_PARAMETER}", "([^"]+)"\)', document)
    assert found, "the page has no token"
    return f"/_stcore/stream?{QUERY_PARAMETER}={found[1]}"
