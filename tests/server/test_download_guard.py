"""A file opens only in the browser that it was made for, even if others know its address."""

import re

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from crag.server.browser_identity import LOGIN_COOKIE, BrowserIdentity
from crag.server.download_guard import DownloadGuard, sign_address
from crag.server.security_headers import SecurityHeaders

SECRET, OTHER = "a" * 64, "b" * 64
FILE = "/media/notes.csv"
PORT = "http://127.0.0.1:8501"
NOBODY = ""


def make_client(base_url: str = PORT, *, is_secure: bool = False, login_secret: str = "") -> TestClient:
    """A browser of its own, on a server whose page shows the address of `FILE`. A login is a name and a number."""

    async def show(socket: WebSocket) -> None:
        await socket.accept("streamlit")
        await socket.send_text(sign_address(FILE, socket.headers))
        await socket.close()

    async def answer(_request):
        return PlainTextResponse("private")

    async def log_in(request):
        response = RedirectResponse("/", 302)
        response.set_cookie(LOGIN_COOKIE, request.query_params["login"])
        return response

    def read_login(cookies) -> str:
        return cookies[LOGIN_COOKIE].partition(".")[0]

    guards = [
        Middleware(SecurityHeaders, is_secure=is_secure),
        Middleware(BrowserIdentity, login_secret=login_secret, read_login=read_login),
        Middleware(DownloadGuard),
    ]
    routes = [
        WebSocketRoute("/{path:path}", show),
        Route("/oauth2callback", log_in),
        Route("/{path:path}", answer),
    ]
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
        ([f"crag-tab.{SECRET}"], [], True),  # its browser would keep no cookie
    ],
)
def test_a_file_opens_for_the_browser_that_was_shown_its_address(shown_to, asks, is_served):
    address, _ = open_page(make_client(), *shown_to)
    asking = make_client()
    open_page(asking, *asks)
    assert fetched(asking, address) == ((200, True) if is_served else (404, False))


def log_in(client: TestClient, login: str) -> str:
    """The protocol by which the page proves this login."""
    page = client.get("/oauth2callback", params={"login": login})
    return f"crag-login.{re.findall('[0-9a-f]{64}', page.text)[0]}"


@pytest.mark.parametrize(
    ("login", "secret", "is_served"),
    [("ann.2", SECRET, True), ("ben.1", SECRET, False), ("", SECRET, False), ("ann.2", OTHER, False)],
    ids=["the same person again", "another person", "logged out", "another browser"],
)
def test_a_file_opens_again_when_its_person_logs_in_again(login, secret, is_served):
    client = make_client(login_secret="of this server")
    address, _ = open_page(client, f"crag-kept.{SECRET}", log_in(client, "ann.1"))
    assert fetched(client, address) == (200, True)
    open_page(client, f"crag-kept.{secret}", *([log_in(client, login)] if login else []))
    assert fetched(client, address) == ((200, True) if is_served else (404, False))


def test_a_login_without_its_proof_opens_nothing():
    client = make_client(login_secret="of this server")
    proof = log_in(client, "ann.1")
    address, _ = open_page(client, f"crag-kept.{SECRET}", proof)
    log_in(client, "ben.1")
    client.cookies.set(LOGIN_COOKIE, "ann.2")
    open_page(client, f"crag-kept.{SECRET}", proof)
    assert fetched(client, address) == (404, False)


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
