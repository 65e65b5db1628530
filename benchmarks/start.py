"""Cold start: from the command to the first paint in a real browser, compared with an empty Streamlit page.

Both are started in turn, several times; medians and their ratios are printed. *Painted* means that the heading of the
page is visible, *settled* that its script has finished and everything is drawn.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

ROUNDS = 7
EMPTY_PAGE = "import streamlit as st\n\nst.title('Empty')\n"
PAINTED = "h1"
SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"] h1'
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    """Start both in turn and print the times."""
    if not BROWSER:
        raise SystemExit("Chromium is needed; on Debian: apt install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY_PAGE)
        settings = ["--server.headless=true", "--server.address=127.0.0.1", "--browser.gatherUsageStats=false"]
        plain = ["-m", "streamlit", "run", str(empty), *settings]
        times: dict[str, list[tuple[float, float]]] = {"empty page": [], "CRAG Chat": []}
        for number in range(ROUNDS + 1):
            port = str(free_port())
            measured = {
                "empty page": _time(playwright, [*plain, f"--server.port={port}"], port, Path(folder)),
                "CRAG Chat": _time(playwright, ["launcher.py", "--port", port], port, Path(folder)),
            }
            for name, seconds in measured.items() if number else ():  # the first round warms the disk cache
                times[name].append(seconds)
    _print(times)


def _print(times: dict[str, list[tuple[float, float]]]) -> None:
    print(f"\nCold start, {ROUNDS} rounds each, seconds")
    for number, what in enumerate(("painted", "settled")):
        print(f"{what:16}{'median':>10}{'least':>10}{'most':>10}")
        medians = []
        for name, rounds in times.items():
            values = [measured[number] for measured in rounds]
            medians.append(statistics.median(values))
            print(f"  {name:14}{medians[-1]:>10.2f}{min(values):>10.2f}{max(values):>10.2f}")
        print(f"  ratio of the medians: {medians[1] / medians[0]:.2f}")


def _time(playwright: Playwright, arguments: list[str], port: str, folder: Path) -> float:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
    try:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        began = time.perf_counter()
        with start_server(arguments, port, folder):
            page.goto(f"http://127.0.0.1:{port}/")
            page.locator(PAINTED).first.wait_for(timeout=60_000)
            painted = time.perf_counter() - began
            page.locator(SETTLED).first.wait_for(timeout=60_000)
            return painted, time.perf_counter() - began
    finally:
        browser.close()


@contextmanager
def start_server(arguments: list[str], port: str, folder: Path) -> Iterator[None]:
    """Start a Python process that serves at the port, with a home of its own in the folder; stop it on exit."""
    home = tempfile.mkdtemp(dir=folder)
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | {"CRAG_HOME": home},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(f"http://127.0.0.1:{port}/_stcore/health")
        yield
    finally:
        process.terminate()
        process.wait()


def _wait(url: str, seconds: float = 60) -> None:
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        try:
            urllib.request.urlopen(url, timeout=1).close()  # noqa: S310 — our own address
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
        else:
            return
    raise SystemExit(f"{url} did not answer within {seconds:.0f} s")


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
