"""Only this application's own pages, and programs that are no browser, get an answer."""

import stat
from itertools import product

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from crag.server.request_guard import QUERY_PARAMETER, RequestGuard, load_page_token

TOKEN = "of this page"
OWN = "http://127.0.0.1:8501"
OTHERS = [
    "http://127.0.0.1:9999",
    "http://127.0.0.1",
    "http://localhost:8501",
    "https://127.0.0.1:8501",
    "http://evil.example",
    "null",
    "",
]
OWN_SOCKET = f"/socket?{QUERY_PARAMETER}={TOKEN}"


PUBLIC = "https://crag.example.org"


def make_client(base_url, **options):
    async def greet(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text("private")
        await socket.close()

    async def answer(_request):
        return PlainTextResponse("private")

    methods = ["GET", "PUT", "POST", "DELETE"]
    routes = [WebSocketRoute("/socket", greet), Route("/{path:path}", answer, methods=methods)]
    app = Starlette(routes=routes, middleware=[Middleware(RequestGuard, token=TOKEN, **options)])
    return TestClient(app, base_url=base_url)


@pytest.fixture
def client():
    with make_client(OWN) as client:
        yield client


@pytest.fixture
def proxied():
    """What a proxy that ends TLS passes on over HTTP."""
    with make_client("http://crag.example.org", origins=[PUBLIC]) as client:
        yield client


def socket_text(client, path=OWN_SOCKET, **headers):
    with client.websocket_connect(f"ws://127.0.0.1:8501{path}", headers=headers) as socket:
        return socket.receive_text()


@pytest.mark.parametrize("headers", [{}, {"Origin": OWN}, {"Origin": OWN, "Sec-Fetch-Site": "same-origin"}])
def test_its_own_pages_and_other_programs_are_served(client, headers):
    assert client.get("/media/a.png", headers=headers).text == "private"
    assert client.put("/_stcore/upload_file/a/b", headers=headers).text == "private"
    assert socket_text(client, **headers) == "private"


def test_behind_a_proxy_with_a_certificate_the_page_has_its_own_origin(client):
    with client.websocket_connect(
        f"wss://127.0.0.1:8501{OWN_SOCKET}", headers={"Origin": "https://127.0.0.1:8501"}
    ) as one:
        assert one.receive_text() == "private"


def test_a_public_address_is_the_only_origin_whatever_the_proxy_speaks(proxied):
    assert proxied.put("/_stcore/upload_file/a/b", headers={"Origin": PUBLIC}).text == "private"
    for origin in ("http://crag.example.org", "https://crag.example.org:8443", OWN, "https://evil.example", "null"):
        assert proxied.get("/_stcore/health", headers={"Origin": origin}).status_code == 403
    assert proxied.get("/a", headers={"Origin": PUBLIC, "Host": "other.example.org"}).status_code == 403
    with proxied.websocket_connect(f"ws://crag.example.org{OWN_SOCKET}", headers={"Origin": PUBLIC}) as socket:
        assert socket.receive_text() == "private"
    with (
        pytest.raises(WebSocketDisconnect),
        proxied.websocket_connect(f"ws://crag.example.org{OWN_SOCKET}", headers={"Origin": "http://crag.example.org"}),
    ):
        pass


@pytest.mark.parametrize(("origin", "method"), list(product(OTHERS, ["GET", "PUT", "POST", "DELETE"])))
def test_a_request_from_another_origin_is_refused(client, origin, method):
    refused = client.request(method, "/_stcore/health", headers={"Origin": origin})
    assert refused.status_code == 403
    assert "private" not in refused.text


def test_a_request_that_names_two_origins_is_refused(client):
    assert client.get("/media/a.png", headers=[("Origin", OWN), ("Origin", "https://evil.example")]).status_code == 403


@pytest.mark.parametrize("origin", OTHERS)
def test_a_socket_from_another_origin_is_refused_even_with_the_token(client, origin):
    with pytest.raises(WebSocketDisconnect):
        socket_text(client, Origin=origin)


@pytest.mark.parametrize("path", ["/socket", f"/socket?{QUERY_PARAMETER}=guessed", f"/socket?{QUERY_PARAMETER}="])
def test_a_socket_needs_the_token(client, path):
    with pytest.raises(WebSocketDisconnect):
        socket_text(client, path, Origin=OWN)


@pytest.mark.parametrize(("site", "mode"), list(product(["same-site", "cross-site"], ["no-cors", "cors", "websocket"])))
def test_a_picture_on_another_page_is_refused(client, site, mode):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "image"}
    assert client.get("/media/a.png", headers=headers).status_code == 403


def test_a_link_on_another_page_may_be_followed_but_not_framed_or_posted(client):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/documents", headers=headers).status_code == 200
    assert client.post("/documents", headers=headers).status_code == 403
    assert client.get("/documents", headers=headers | {"Sec-Fetch-Dest": "iframe"}).status_code == 403
    assert client.get("/documents", headers=headers | {"Sec-Fetch-Mode": "no-cors"}).status_code == 403


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent/mcp"])
def test_endpoints_that_the_application_does_not_use_are_closed(client, path):
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 404


def test_the_token_outlives_the_process_and_is_private(tmp_path):
    home = tmp_path / "new" / "home"
    token = load_page_token(home)
    assert len(token) >= 40
    assert load_page_token(home) == token
    assert [stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()] == [0o600]
    assert load_page_token(tmp_path / "other") != token


def test_a_home_that_cannot_be_written_still_gets_a_token(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert len(load_page_token(tmp_path / "file")) >= 40
