"""What one client may hold open or send."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from crag.server.limits import LimitRequests, RequestLimits
from tests.served import serve

UPLOADED = {"busy": 90, "new": 0}
LIMITS = RequestLimits(lambda session: UPLOADED.get(session, 0), uploaded_bytes=100, sockets=2, body_seconds=0.05)


async def keep_open(socket: WebSocket) -> None:
    await socket.accept()
    await socket.receive_text()


async def read_body(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{len(await request.body())}")


APP = Starlette(
    routes=[WebSocketRoute("/socket", keep_open), Route("/{path:path}", read_body, methods=["GET", "PUT"])],
    middleware=[Middleware(LimitRequests, limits=LIMITS)],
)


def test_sockets_of_one_address_are_limited_and_freed_again():
    client = TestClient(APP)
    with ExitStack() as opened:
        for _ in range(LIMITS.sockets):
            opened.enter_context(client.websocket_connect("/socket")).send_text("done")
    with ExitStack() as opened:
        sockets = [opened.enter_context(client.websocket_connect("/socket")) for _ in range(LIMITS.sockets)]
        with pytest.raises(WebSocketDisconnect) as refused:
            opened.enter_context(client.websocket_connect("/socket"))
        assert refused.value.code == 1013
        for socket in sockets:
            socket.send_text("done")


def test_another_address_has_sockets_of_its_own():
    with TestClient(APP) as one, TestClient(APP, client=("192.0.2.1", 1)) as other, ExitStack() as opened:
        sockets = [opened.enter_context(one.websocket_connect("/socket")) for _ in range(LIMITS.sockets)]
        sockets.append(opened.enter_context(other.websocket_connect("/socket")))
        for socket in sockets:
            socket.send_text("done")


def test_all_addresses_of_an_ipv6_network_are_one_client():
    sockets = []
    with ExitStack() as opened:

        def is_admitted(address):
            client = opened.enter_context(TestClient(APP, client=(address, 1)))
            with suppress(WebSocketDisconnect):
                sockets.append(opened.enter_context(client.websocket_connect("/socket")))
                return True
            return False

        own, mapped = ("2001:db8::1", "2001:db8::2:3"), ("::ffff:192.0.2.1", "192.0.2.1")
        assert [is_admitted(one) for one in (*own, *mapped)] == [True] * 4
        assert not is_admitted("2001:db8:0:0:ffff::")
        assert not is_admitted("192.0.2.1")
        assert is_admitted("2001:db8:0:1::1")
        for socket in sockets:
            socket.send_text("done")


@pytest.mark.parametrize("message", [{"text": "x" * 25}, {"bytes": b"x" * 25}, {"text": "x" * 9}, {"bytes": b"x" * 9}])
def test_a_long_message_counts_as_several(message):
    limits = replace(LIMITS, messages_per_second=1e-9, messages_at_once=2, bytes_per_message=10)
    arrived = []

    async def read_message(_scope, receive, _send):
        arrived.append(await receive())

    async def receive():
        return message

    async def run():
        with suppress(TimeoutError):
            await asyncio.wait_for(LimitRequests(read_message, limits)({"type": "websocket"}, receive, None), 0.1)

    with ThreadPoolExecutor(1) as alone:
        alone.submit(lambda: asyncio.run(run())).result()
    assert arrived == ([message] if len(*message.values()) < 10 else [])


@pytest.mark.parametrize(("session", "size", "status"), [("new", 100, 200), ("new", 101, 413), ("busy", 20, 413)])
def test_uploads_that_wait_in_memory_are_limited_for_each_tab(session, size, status):
    response = TestClient(APP).put(f"/_stcore/upload_file/{session}/file", content=b"x" * size)
    assert response.status_code == status


def test_a_body_of_another_address_is_no_upload():
    assert TestClient(APP).put("/other", content=b"x" * 101).status_code == 200


@pytest.mark.parametrize(("method", "status"), [("PUT", 408), ("GET", 200)])
def test_only_a_body_must_arrive_in_time(method, status):
    sent = []

    async def receive():
        await asyncio.sleep(3 * LIMITS.body_seconds)
        return {"type": "http.request"}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/a", "headers": [], "query_string": b"", "http_version": "1.1"}
    with ThreadPoolExecutor(1) as alone:  # away from the event loop that Playwright keeps in this thread
        alone.submit(lambda: asyncio.run(APP.build_middleware_stack()(scope, receive, send))).result()
    assert sent[0]["status"] == status


def test_a_reply_may_take_longer_than_the_body_did():
    """A stream listens for the end of its connection while it is sent."""

    async def answer(request: Request) -> StreamingResponse:
        await request.body()
        return StreamingResponse(answer_late(), media_type="text/plain")

    async def answer_late():
        await asyncio.sleep(3 * LIMITS.body_seconds)
        yield "done"

    slow = Starlette(
        routes=[Route("/", answer, methods=["POST"])], middleware=[Middleware(LimitRequests, limits=LIMITS)]
    )
    with serve(slow) as address, socket.create_connection(("127.0.0.1", urlsplit(address).port)) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")
        with client.makefile("rb") as reply:
            assert b"done" in reply.read()
