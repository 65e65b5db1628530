"""Two processes on one PostgreSQL database, behind HAProxy with the configuration that the project ships."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Cookie, Error, Page, Response, expect

from crag.server.connections import ServerConfig
from tests.applications import opened_with
from tests.doubles.postgres import home_url
from tests.e2e.browser import ask, badge, new_context, open_page
from tests.e2e.conftest import NOTES, QUESTION
from tests.forked import forked
from tests.served import ROOT, free_port
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(shutil.which("haproxy") is None, reason="no HAProxy: `apt install haproxy`")
CERTIFICATE = ROOT / "tests" / "doubles" / "pages.test.pem"
TRUST = ssl.create_default_context(cafile=CERTIFICATE)
TRUST.check_hostname = False


@contextmanager
def proxy(port: int, first: str, second: str, log: Path) -> Iterator[str]:
    """HAProxy on a port before two servers of this machine; gives what browsers open. `log` is where it writes."""
    environment = {
        "CRAG_BIND": f"127.0.0.1:{port} ssl crt {CERTIFICATE} alpn h2,http/1.1",
        "CRAG_REPLICA_1": first.removeprefix("http://"),
        "CRAG_REPLICA_2": second.removeprefix("http://"),
    }
    command = ["haproxy", "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg")]
    with log.open("w") as written:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=written, stderr=subprocess.STDOUT)
    address = f"https://localhost:{port}"
    try:
        wait_until(lambda: process.poll() is not None or get(f"{address}/healthz") == 200)
        assert process.poll() is None, "HAProxy ended at once"
        yield address
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def get(address: str, source: str = "127.0.0.1", **headers: str) -> int:
    """The status of an answer; 0 without one."""
    transport = httpx.HTTPTransport(verify=TRUST, local_address=source)
    try:
        with httpx.Client(transport=transport) as client:
            return client.get(address, headers=headers).status_code
    except httpx.HTTPError:
        return 0


def kill_server(address: str) -> None:
    """End the process that serves an address, as a power cut does."""
    port = int(address.rpartition(":")[2])
    children = psutil.Process().children(recursive=True)
    next(one for one in children if any(place.laddr.port == port for place in one.net_connections())).kill()


@pytest.fixture
def replicas(postgres: str, tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """What browsers open, and the address of each process by its name in the proxy's cookie."""
    url, port = home_url(postgres, tmp_path / "shared"), free_port()
    with opened_with(tmp_path / "seed", {"brewing.md": NOTES}, database_url=url):
        pass
    public = {"CRAG_PUBLIC_URL": f"https://localhost:{port}", "CRAG_OPEN": "yes", "CRAG_TRUSTED_PROXIES": "127.0.0.1"}
    settings = public | {"CRAG_DATABASE_URL": url, "OLLAMA_HOST": "127.0.0.1:9"}
    with ExitStack() as started:
        one, two = (started.enter_context(forked(tmp_path / name, **settings)) for name in ("one", "two"))
        for server in (one, two):  # the proxy takes a server for ready until its first check
            wait_until(lambda server=server: get(f"{server}/readyz") == 200)
        yield started.enter_context(proxy(port, one, two, tmp_path / "log")), {"one": one, "two": two}


def _reload(page: Page) -> Response | None:
    """Reload, and again while the proxy refuses the stream because it has not noticed that the process is gone.

    A busy Chromium now and then commits such a reload without a response.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            answer = page.reload(wait_until="commit")
        except Error:
            answer = None
        if answer is not None or time.monotonic() > deadline:
            return answer


def _downloads_cookies(context: BrowserContext, address: str) -> list[Cookie]:
    return [one for one in context.cookies(f"{address}/media/a") if one["name"].startswith("crag_downloads_")]


def test_a_killed_process_is_replaced_by_the_other(
    browser: Browser, replicas: tuple[str, dict[str, str]], tmp_path: Path
):
    address, servers = replicas
    context = new_context(browser, ignore_https_errors=True)
    page = open_page(context.new_page(), address)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    cookies = {cookie["name"]: cookie for cookie in context.cookies(address)}
    assert cookies["_streamlit_xsrf"]["secure"]
    (of_downloads,) = _downloads_cookies(context, address)
    assert of_downloads["secure"]
    serving = cookies["crag_replica"]["value"]

    kill_server(servers[serving])
    answer = _reload(page)
    assert answer is not None
    assert answer.status == 200
    expect(badge(page, "from your documents")).to_be_visible()
    other = {cookie["name"]: cookie["value"] for cookie in context.cookies(address)}["crag_replica"]
    assert {serving, other} == {"one", "two"}
    assert _downloads_cookies(context, address) == [of_downloads], "the same from every process"
    context.close()
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "/_stcore/stream" in log
    assert "?" not in log, "the token of the page is in the address of its WebSocket"
    assert get(f"{address}/metrics") == 404
    assert get(f"{address}/", Host="evil.example") == 400


@contextmanager
def recording(trusted: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    seen: list[tuple[str, str]] = []

    async def answer(scope, receive, send) -> None:
        if scope["path"] == "/":
            seen.append((scope["client"][0], scope["scheme"]))
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body"})

    port = free_port()
    server = uvicorn.Server(ServerConfig(answer, port=port, lifespan="off", log_config=None, trusted_proxies=[trusted]))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{port}", seen
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize(
    ("trusted", "believed"), [("127.0.0.1", ("127.0.0.2", "https")), ("10.0.0.1", ("127.0.0.1", "http"))]
)
def test_a_trusted_proxy_alone_says_who_asks_and_nobody_says_it_through_it(tmp_path, trusted, believed):
    with recording(trusted) as (server, seen), proxy(free_port(), server, server, tmp_path / "log") as address:
        forged = {"X-Forwarded-For": "10.9.9.9", "X-Forwarded-Proto": "http", "Forwarded": "for=10.9.9.9"}
        assert get(address, source="127.0.0.2", **forged) == 200
    assert seen == [believed]
