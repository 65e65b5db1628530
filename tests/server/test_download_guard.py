"""A file opens only in the browser that it was made for, even if others know its address."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from crag.server.browser_identity import BrowserIdentity
from crag.server.download_guard import DownloadGuard, sign_address
from crag.server.security_headers import SecurityHeaders

SECRET, OTHER, PROOF = "a" * 64, "b" * 64, "c" * 64
FILE = "/media/notes.csv"
PORT = "http://127.0.0.1:8501"
NOBODY = ""


def make_client(base_url: str = PORT, *, is_secure: bool = False) -> TestClient:
    """A browser of its own, on a server whose page shows the address of `FILE`."""

    async def show(socket: WebSocket) -> None:
        await socket.accept("streamlit")
        await socket.send_text(sign_address(FILE, socket.headers))
        await socket.close()

    async def answer(_request):
        return PlainTextResponse("private")

    guards = [Middleware(SecurityHeaders, is_secure=is_secure), Middleware(BrowserIdentity), Middleware(DownloadGuard)]
    routes = [WebSocketRoute("/{path:path}", show), Route("/{path:path}", answer)]
    return TestClient(Starlette(routes=routes, middleware=guards), base_url=base_url)


def open_page(client: TestClient, *protocols: str) -> tuple[str, str]:
    """The address of the file on a page of this browser, and what sets the cookie."""
    scheme, _, host = str(client.base_url).partition("://")
    socket_address = f"{scheme.replace('http', 'ws')}://{host}/stream"
    with client.websocket_connect(socket_address, ["streamlit", "xsrf", *protocols]) as socket:
        (set_cookie,) = [value.decode() for name, value in socket.extra_headers if name == b"set-cookie"] or [""]
        client.cookies.update(dict([set_cookie.partition(";")[0].split("=")]) if set_cookie else {})
        return socket.receive_text(), set_cookie


def fetched(client: TestClient, address: str) -> tuple[int, bool]:
    """The status, and whether the file was sent."""
    response = client.get(address)
    return response.status_code, response.text == "private"


@pytest.mark.parametrize(
    ("shown_to", "asks", "is_served"),
    [
        ([f"crag-kept.{SECRET}"], [f"crag-kept.{SECRET}"], True),
        ([f"crag-kept.{SECRET}"], [f"crag-kept.{OTHER}"], False),
        ([f"crag-kept.{SECRET}"], [], False),
        ([f"crag-kept.{SECRET}", f"crag-login.{PROOF}"], [f"crag-kept.{SECRET}"], False),  # another login
        ([f"crag-tab.{SECRET}"], [], True),  # its browser would keep no cookie
    ],
)
def test_a_file_opens_for_the_browser_that_was_shown_its_address(shown_to, asks, is_served):
    address, _ = open_page(make_client(), *shown_to)
    asking = make_client()
    open_page(asking, *asks)
    assert fetched(asking, address) == ((200, True) if is_served else (404, False))


def test_an_address_without_its_signature_opens_nothing():
    client = make_client()
    address, _ = open_page(client, f"crag-kept.{SECRET}")
    assert address.startswith(f"{FILE}?for=")
    for changed in (FILE, f"{FILE}?for=", f"{FILE}?for={'0' * 64}", f"{FILE}?for=ü", address.replace("notes", "other")):
        assert fetched(client, changed) == (404, False), changed
    assert fetched(client, "/static/a.js") == (200, True)


def test_the_cookie_is_for_downloads_of_this_port_alone_and_reveals_no_secret():
    _, cookie = open_page(make_client(), f"crag-kept.{SECRET}")
    name, _, attributes = cookie.partition("=")
    assert name == "crag_downloads_8501"
    assert attributes.split("; ")[1:] == ["path=/media", "httponly", "samesite=strict"]
    assert SECRET not in cookie
    _, public = open_page(make_client("https://crag.example.org", is_secure=True), f"crag-kept.{SECRET}")
    assert public.startswith("crag_downloads=")
    assert public.endswith("; Secure")
