"""Connections over real sockets: slow requests, too many of them, long messages, and a server that stops."""

import asyncio
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress

import httpx
import psutil
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from crag.server.connections import ServerConfig
from crag.server.limits import LimitRequests, RequestLimits
from tests.served import free_port
from tests.waiting import PATIENCE, wait_until

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
BYTES_AT_ONCE = 20
PART = b"x" * (1 << 16)
LARGE = 256 * len(PART)  # more than the buffers of a connection hold


class Limited(ServerConfig):
    header_seconds = 0.3
    taking_seconds = 0.3
    connections = 8
    message_bytes = 1000
    closing_seconds = 0


class Application:
    """Answers requests, and takes messages from sockets."""

    def __init__(self, limits):
        self.got = 0
        self.addresses = []
        routes = [WebSocketRoute("/socket", self._listen), Route("/{path:path}", self._answer, methods=["GET", "PUT"])]
        self.app = Starlette(routes=routes, middleware=[Middleware(LimitRequests, limits=limits)])

    async def _answer(self, request):
        self.addresses.append(request.client.host)
        if request.url.path == "/forever":
            await asyncio.Event().wait()
        if request.url.path == "/large":
            return StreamingResponse(self._send_slowly(), media_type="text/plain")
        if request.url.path == "/unread":
            return PlainTextResponse("answered")
        await request.body()
        return PlainTextResponse("answered")

    async def _send_slowly(self):
        for _ in range(LARGE // len(PART)):
            yield PART

    async def _listen(self, opened):
        await opened.accept()
        self.addresses.append(opened.client.host)
        async for message in opened.iter_bytes():
            self.got += len(message)
            await opened.send_text("received")


@contextmanager
def serving(**limits):
    application = Application(RequestLimits(lambda _: 0, uploaded_bytes=100, **limits))
    port = free_port()
    config = Limited(application.app, port=port, ws="websockets-sansio", log_config=None, timeout_keep_alive=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield application, port
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def port():
    with serving() as (_, port):
        yield port


def open_socket(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def is_closed(client):
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n", GET + b"GET / HTTP/1.1\r\n"])
def test_a_request_that_does_not_arrive_is_given_up(port, begun):
    with open_socket(port) as client:
        client.sendall(begun)
        if begun.startswith(GET):
            while not client.recv(4096).endswith(b"answered"):
                pass
        assert is_closed(client)


def trickle(client, begun):
    """Send a byte now and then until the server has enough; returns what it says."""
    client.settimeout(0.05)
    client.sendall(begun)
    for _ in range(10_000):
        with suppress(TimeoutError):
            return client.recv(4096)
        try:
            client.sendall(b"x")
        except OSError:
            return b""
    return b"still reading"


def test_headers_that_come_byte_by_byte_gain_no_time(port):
    with open_socket(port) as client, suppress(ConnectionResetError):
        assert trickle(client, b"GET / HTTP/1.1\r\nX: ") == b""


def test_a_request_that_arrived_may_take_longer_than_its_headers():
    with serving() as (application, port), open_socket(port) as client:
        client.sendall(GET.replace(b"/ ", b"/forever ", 1))
        wait_until(lambda: application.addresses)
        client.settimeout(4 * Limited.header_seconds)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_a_socket_may_be_silent_for_longer_than_headers():
    with serving() as (application, port), connect(f"ws://127.0.0.1:{port}/socket") as tab:
        with pytest.raises(TimeoutError):
            tab.recv(timeout=4 * Limited.header_seconds)
        tab.send(b"x")
        assert tab.recv() == "received"
        assert application.got == 1


def test_connections_are_limited_and_freed_again(port, monkeypatch):
    monkeypatch.setattr(Limited, "header_seconds", PATIENCE)
    with ExitStack() as opened:
        for _ in range(Limited.connections):
            first = opened.enter_context(open_socket(port))
        with open_socket(port) as refused:
            assert is_closed(refused)
        first.sendall(GET)
        assert b"200 OK" in first.recv(4096)
    with open_socket(port) as client:
        client.sendall(GET)
        assert b"200 OK" in client.recv(4096)


@pytest.mark.parametrize("size", [1001, 100_000])
def test_a_message_that_is_too_long_closes_the_socket(size):
    with serving() as (application, port), connect(f"ws://127.0.0.1:{port}/socket") as tab:
        tab.send(b"x" * 1000)
        assert tab.recv() == "received"
        tab.send(b"x" * size)
        with pytest.raises(ConnectionClosed) as closed:
            tab.recv()
        assert closed.value.rcvd.code == 1009
        assert application.got == 1000


def test_messages_that_come_too_fast_wait():
    """Two may come at once, and the next one only after a minute."""
    with (
        serving(messages_per_second=1 / 60, messages_at_once=3) as (application, port),
        connect(f"ws://127.0.0.1:{port}/socket", close_timeout=0) as tab,
    ):
        for _ in range(100):
            tab.send(b"x" * 10)
        assert [tab.recv(), tab.recv()] == ["received", "received"]
        with pytest.raises(TimeoutError):
            tab.recv(timeout=0.3)
        assert application.got == BYTES_AT_ONCE


def test_a_page_says_when_too_many_tabs_are_open():
    with serving(sockets=1) as (_, port), connect(f"ws://127.0.0.1:{port}/socket"):
        page = httpx.get(f"http://127.0.0.1:{port}", headers={"Accept": "text/html"})
        assert page.status_code == 503
        assert "Close some of them" in page.text
        assert httpx.get(f"http://127.0.0.1:{port}").status_code == 200
    with serving(sockets=1) as (_, port):
        assert httpx.get(f"http://127.0.0.1:{port}", headers={"Accept": "text/html"}).status_code == 200


def test_a_client_cannot_name_an_address_as_its_own():
    with serving() as (application, port):
        httpx.get(f"http://127.0.0.1:{port}", headers={"X-Forwarded-For": "10.0.0.1"})
        assert application.addresses == ["127.0.0.1"]


def test_a_body_that_trickles_in_is_given_up():
    with serving(body_seconds=0.3, bytes_per_second=1000) as (_, port), open_socket(port) as client:
        assert b" 408 " in trickle(client, b"PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")


def test_a_body_that_comes_after_the_response_is_given_up(port):
    with open_socket(port) as client, suppress(ConnectionResetError):
        client.sendall(b"PUT /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        while not client.recv(4096).endswith(b"answered"):
            pass
        assert trickle(client, b"x") == b""


def test_a_client_that_takes_nothing_of_a_response_is_given_up(port):
    with open_socket(port) as client:
        client.sendall(GET.replace(b"/ ", b"/large ", 1))
        wait_until(lambda: connections_of(port, client))
        wait_until(lambda: not connections_of(port, client))
    with open_socket(port) as client:
        client.sendall(GET.replace(b"/ ", b"/large ", 1))
        got = 0
        while got < LARGE:
            part = client.recv(1 << 20)
            assert part
            got += len(part)


def connections_of(port, client):
    """The ends of this connection that the server holds."""
    found = psutil.Process().net_connections("tcp4")
    ends = (port, client.getsockname()[1])
    return [one for one in found if one.raddr and (one.laddr.port, one.raddr.port) == ends]


@pytest.mark.parametrize("path", [b"/forever", b"/socket"])
def test_a_client_that_does_not_go_does_not_keep_the_server_from_stopping(path):
    upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    with ExitStack() as clients, serving() as (application, port):
        client = clients.enter_context(open_socket(port))
        headers = upgrade + key if path == b"/socket" else b""
        client.sendall(b"GET " + path + b" HTTP/1.1\r\n" + headers + b"Host: a\r\n\r\n")
        wait_until(lambda: application.addresses)
