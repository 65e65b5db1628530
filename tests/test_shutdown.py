"""Ctrl-C and SIGTERM: the server shuts down cleanly, whatever it is doing and whoever is still connected."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests import forks
from tests.applications import opened_with
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.endurance.crowd import NOTES
from tests.endurance.tab import opened_tab
from tests.forked import launch
from tests.served import free_port, wait_for
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
FOREVER = 10_000.0  # seconds


def start(home: Path, ollama: str) -> tuple[BaseProcess, str]:
    port = free_port()
    environment = os.environ | {"CRAG_HOME": str(home), "OLLAMA_HOST": ollama, "CRAG_EMBEDDER": "builtin"}
    process = forks.start(launch, port, str(console_of(home)), environment=environment)
    wait_for(f"http://127.0.0.1:{port}/_stcore/health", process.is_alive)
    return process, f"http://127.0.0.1:{port}"


def console_of(home: Path) -> Path:
    return home.with_name("console")


def check_ended_in_order(process: BaseProcess, home: Path) -> None:
    process.join(PATIENCE)
    assert process.exitcode in {0, -signal.SIGTERM}
    assert "Traceback" not in console_of(home).read_text(encoding="utf-8")
    assert not list(home.glob("*-wal")), "the databases were not closed"


def test_ctrl_c_ends_it_while_it_is_idle(tmp_path):
    process, _ = start(tmp_path / "home", "127.0.0.1:9")
    os.kill(process.pid or 0, signal.SIGINT)
    check_ended_in_order(process, tmp_path / "home")


def test_a_signal_ends_it_while_it_answers_and_adds_and_a_browser_is_open(tmp_path):
    """The model never answers and the documents would take minutes."""
    home, documents, asked = tmp_path / "home", tmp_path / "documents", threading.Event()
    documents.mkdir()
    for number in range(4):
        (documents / f"{number}.txt").write_text(f"{number}. " + "Another sentence about rivers. " * 100_000)
    with opened_with(home) as application:
        application.library.pipeline.add_bytes("brewing.md", NOTES)
        application.jobs.submit_files(documents, {file.name: None for file in documents.iterdir()})

    def never_answer(request: Asked) -> Say:
        if "<knowledge>" not in request.prompt:
            return Say("Yes")
        asked.set()
        return Say("Later.", first_token_after=FOREVER)

    async def ask_and_end(process: BaseProcess, address: str) -> None:
        async with opened_tab(address) as tab:
            await tab.ask("What is the espresso machine descaled with?")
            await asyncio.to_thread(wait_until, asked.is_set)
            process.terminate()
            await asyncio.to_thread(check_ended_in_order, process, home)

    with ScriptedOllama(script=never_answer) as ollama:
        process, address = start(home, ollama.url)
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        with socket.create_connection(place) as slow, ThreadPoolExecutor(1) as alone:
            slow.sendall(b"PUT /_stcore/upload_file/a/b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n")
            alone.submit(lambda: asyncio.run(ask_and_end(process, address))).result()
    with opened_with(home) as application:
        assert [job.state for job in application.jobs.jobs()] == ["waiting"]
