"""Watchers learn in one word whether the process lives and is ready; a slow database holds up nothing else."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from crag.errors import HomeFault
from crag.server.health import HealthEndpoints
from tests.waiting import wait_until


class Readiness:
    """A check that says what `result` is, once `gate` is open."""

    def __init__(self):
        self.result = True
        self.gate = threading.Event()
        self.gate.set()
        self.calls = 0

    def __call__(self):
        self.calls += 1
        self.gate.wait()
        return self.result


@pytest.fixture
def readiness():
    made = Readiness()
    yield made
    made.gate.set()


@contextmanager
def make_client(readiness, **options):
    routes = [Route("/{path:path}", lambda _: PlainTextResponse("page"), methods=["GET", "POST"])]
    app = Starlette(routes=routes, middleware=[Middleware(HealthEndpoints, is_ready=readiness, **options)])
    with TestClient(app) as client:
        yield client


@pytest.fixture
def client(readiness):
    with make_client(readiness) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "is_ready", "status", "text"),
    [
        ("GET", "/healthz", True, 200, "alive\n"),
        ("GET", "/healthz", False, 200, "alive\n"),
        ("HEAD", "/healthz", False, 200, None),
        ("GET", "/readyz", True, 200, "ready\n"),
        ("GET", "/readyz", False, 503, "unavailable\n"),
        ("HEAD", "/readyz", False, 503, None),
        ("POST", "/healthz", True, 405, ""),
        ("POST", "/readyz", True, 405, ""),
        ("GET", "/metrics", True, 200, "page"),
        ("GET", "/healthz/x", True, 200, "page"),
        ("GET", "/", True, 200, "page"),
    ],
)
def test_each_address_says_one_word(client, readiness, method, path, is_ready, status, text):
    readiness.result = is_ready
    answer = client.request(method, path)
    assert answer.status_code == status
    assert text is None or answer.text == text
    assert "set-cookie" not in answer.headers


def test_the_database_is_asked_at_most_once_a_second_however_many_ask(client, readiness):
    began = time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        assert {answer.status_code for answer in threads.map(client.get, ["/readyz"] * 40)} == {200}
    assert 1 <= readiness.calls <= 1 + time.monotonic() - began
    readiness.result = False
    while client.get("/readyz").status_code == 200:
        assert time.monotonic() - began < 30
    assert readiness.calls <= 2 + time.monotonic() - began


def test_a_database_that_hangs_counts_as_unavailable_and_holds_up_nothing_else(client, readiness):
    readiness.gate.clear()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(client.get, "/readyz")
        wait_until(lambda: readiness.calls)
        assert client.get("/healthz").text == "alive\n"
        assert asked.result().status_code == 503
    assert client.get("/readyz").status_code == 503
    assert readiness.calls == 1
    readiness.gate.set()
    while client.get("/readyz").status_code != 200:
        pass


def test_metrics_are_served_where_there_are_some(readiness):
    def fail():
        raise HomeFault("The database does not answer.", "Start it.")

    with make_client(readiness, render_metrics=lambda: b"crag_documents 1\n") as client:
        answer = client.get("/metrics")
        assert (answer.status_code, answer.text) == (200, "crag_documents 1\n")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert client.post("/metrics").status_code == 405
    with make_client(readiness, render_metrics=fail) as client:
        assert client.get("/metrics").status_code == 503
