"""A real Chromium and the real application in a process of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, Playwright

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PHONE = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"


def chromium() -> str | None:
    """Where Chromium is on this machine."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome", "chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=chromium(), args=FLAGS)


@contextmanager
def served(home: Path, **environment: str) -> Iterator[str]:
    """The application on a free port, stopped at the end; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "launcher.py", "--port", str(port)],
        cwd=ROOT,
        env=os.environ | {"CRAG_HOME": str(home)} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_for(address: str, process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert process.poll() is None, "the application ended at once"
            assert time.monotonic() < end, "the application did not start"
            time.sleep(0.1)


def settled(page: Page) -> None:
    """Wait until the page's script has run."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)


def open_page(page: Page, address: str) -> Page:
    page.goto(address)
    page.get_by_role("navigation").first.wait_for(state="attached", timeout=60_000)
    settled(page)
    return page


def ask(page: Page, question: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")


def badge(page: Page, words: str) -> Locator:
    return page.locator(".stMarkdownBadge", has_text=words).last


def upload(page: Page, name: str, content: bytes) -> None:
    """Add a file and wait until it has been read or refused."""
    page.locator("input[type=file]").first.set_input_files(
        [{"name": name, "mimeType": "application/octet-stream", "buffer": content}]
    )
    page.get_by_text("Dismiss all").wait_for(timeout=60_000)
    settled(page)
