"""Who a browser is: by its secret, never by its cookies; a login only with the proof that its page was given."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from crag.errors import BadRequest
from crag.server.browser_identity import FORMER_COOKIE, LOGIN_COOKIE, BrowserIdentity, is_kept, key_from_headers
from crag.types import is_user_key

SECRET, OTHER, FORMER = "a" * 64, "b" * 64, "F" * 43


@pytest.fixture
def adopted():
    """What was adopted, as pairs of keys; the key `x…` cannot be."""
    return []


@pytest.fixture
def clients(adopted):
    """What a socket tells: its key, whether it is kept, its protocols, its cookies. By whether people log in."""

    async def tell(socket: WebSocket) -> None:
        await socket.accept("streamlit")
        headers = socket.headers
        protocols = headers.get("sec-websocket-protocol", "")
        await socket.send_json([key_from_headers(headers), is_kept(headers), protocols, dict(socket.cookies)])
        await socket.close()

    async def log_in(request):
        response = RedirectResponse("/", 302)
        for name, value in request.query_params.items():
            response.set_cookie(name, value, httponly=True, samesite="lax")
        return response

    def adopt(former: str, key: str) -> None:
        if former.startswith("x"):
            raise BadRequest("The database is away.", "")
        adopted.append((former, key))

    def serve(login_secret: str) -> TestClient:
        routes = [WebSocketRoute("/{path:path}", tell), Route("/oauth2callback", log_in), Route("/other", log_in)]
        identity = Middleware(BrowserIdentity, adopt=None if login_secret else adopt, login_secret=login_secret)
        return TestClient(Starlette(routes=routes, middleware=[identity]), follow_redirects=False)

    return {"keys": serve(""), "accounts": serve("of this server")}


def connected(client: TestClient, *protocols: str, **cookies: str):
    """What a socket with these protocols and cookies tells, and the cookies that it sets."""
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    with client.websocket_connect("/", ["streamlit", "xsrf", *protocols], headers=headers) as socket:
        set_cookies = [value.decode() for name, value in socket.extra_headers or () if name == b"set-cookie"]
        return *socket.receive_json(), set_cookies


def test_a_secret_makes_a_key_that_does_not_reveal_it(clients):
    key, kept, protocols, _, _ = connected(clients["keys"], f"crag-kept.{SECRET}")
    assert is_user_key(key)
    assert kept
    assert SECRET not in key
    assert protocols == "streamlit,xsrf"
    in_tab = connected(clients["keys"], "session", f"crag-tab.{SECRET}")
    assert in_tab[:3] == (key, False, "streamlit,xsrf,session")
    assert connected(clients["keys"], f"crag-kept.{OTHER}")[0] not in {"", key}


@pytest.mark.parametrize("secret", ["", "a", "A" * 64, "a" * 65, "g" * 64])
def test_what_is_no_secret_makes_no_key(clients, secret):
    assert connected(clients["keys"], f"crag-kept.{secret}")[:2] == ("", False)


def test_cookies_alone_make_no_key(clients, adopted):
    key = connected(clients["keys"], f"crag-kept.{SECRET}")[0]
    for cookie in (SECRET, key, FORMER):
        assert connected(clients["keys"], **{FORMER_COOKIE: cookie})[:2] == ("", False)
    assert not adopted
    assert connected(clients["keys"], **{LOGIN_COOKIE: "x"})[3] == {LOGIN_COOKIE: "x"}, "nobody logs in here"


def test_a_server_where_nothing_is_adopted_starts_and_answers(clients):
    with clients["accounts"] as started:
        assert connected(started, f"crag-kept.{SECRET}", **{FORMER_COOKIE: FORMER})[3] == {FORMER_COOKIE: FORMER}


def test_a_cookie_of_an_earlier_version_is_adopted_and_removed(clients, adopted):
    key, *_, set_cookies = connected(clients["keys"], f"crag-kept.{SECRET}", **{FORMER_COOKIE: FORMER})
    assert adopted == [(FORMER, key)]
    assert set_cookies == [f"{FORMER_COOKIE}=; path=/; max-age=0; httponly; samesite=lax"]


@pytest.mark.parametrize(
    ("protocol", "cookie", "is_asked"),
    [
        (f"crag-tab.{SECRET}", FORMER, False),  # which would be lost with the tab
        (f"crag-kept.{SECRET}", "c" * 64, False),  # a key of this version, which is no secret
        (f"crag-kept.{SECRET}", "account:1", False),
        (f"crag-kept.{SECRET}", "x" * 43, True),  # stays for the next time
    ],
)
def test_nothing_else_is_adopted(clients, adopted, protocol, cookie, is_asked, caplog):
    key, *_, set_cookies = connected(clients["keys"], protocol, **{FORMER_COOKIE: cookie})
    assert is_user_key(key)
    assert (adopted, set_cookies) == ([], [])
    assert ("could not be moved" in caplog.text) == is_asked


def logged_in(client: TestClient, before: str = "", **cookies: str) -> str:
    """The proof that the page of a login stores."""
    page = client.get("/oauth2callback", params=cookies, headers={"Cookie": before})
    assert page.status_code == 200
    assert sorted(one.split("=")[0] for one in page.headers.get_list("set-cookie")) == sorted(cookies)
    (nonce,) = re.findall(r"'nonce-(.+?)'", page.headers["content-security-policy"])
    assert f'<script nonce="{nonce}">' in page.text
    return re.findall(r'"([0-9a-f]{64})"', page.text)[0]


def test_a_login_counts_with_its_proof_alone(clients):
    client = clients["accounts"]
    ann, ben = {LOGIN_COOKIE: "2|1:0|YW5u==|s"}, {LOGIN_COOKIE: "2|1:0|YmVu==|s"}
    proof = logged_in(client, **ann)
    assert connected(client, f"crag-login.{proof}", **ann, other="1")[3] == {**ann, "other": "1"}
    for protocols, cookies in [
        ([], ann),
        ([f"crag-login.{'0' * 64}"], ann),
        (["crag-login."], ann),
        ([f"crag-login.{proof}"], ben),
        ([f"crag-login.{logged_in(client, **ben)}"], ann),
        ([f"crag-login.{proof}"], {**ann, f"{LOGIN_COOKIE}_1": "of somebody else"}),
    ]:
        told = connected(client, *protocols, **cookies, **{f"{LOGIN_COOKIE}_tokens": "t"}, other="1")
        assert told[3] == {"other": "1"}, (protocols, cookies)


def test_a_login_that_is_split_or_follows_a_longer_one_counts(clients):
    client = clients["accounts"]
    split = {LOGIN_COOKIE: "chunks-2", f"{LOGIN_COOKIE}_1": "a", f"{LOGIN_COOKIE}_2": "b"}
    assert connected(client, f"crag-login.{logged_in(client, **split)}", **split)[3] == split
    left = {f"{LOGIN_COOKIE}_2": "b", LOGIN_COOKIE: "one"}
    proof = logged_in(client, f"{LOGIN_COOKIE}=old; {LOGIN_COOKIE}_2=b", **{LOGIN_COOKIE: "one"})
    assert connected(client, f"crag-login.{proof}", **left)[3] == left
    removed = logged_in(client, f"{LOGIN_COOKIE}_1=a", **{LOGIN_COOKIE: "one", f"{LOGIN_COOKIE}_1": ""})
    assert connected(client, f"crag-login.{removed}", **{LOGIN_COOKIE: "one"})[3] == {LOGIN_COOKIE: "one"}


def test_a_quoted_cookie_smuggles_in_no_login(clients):
    smuggled = r'"a\073 _streamlit_user=evil"'
    cookies = connected(clients["accounts"], other=smuggled)[3]
    assert cookies == {"other": "a; _streamlit_user=evil"}


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("accounts", "/other?a=1"),
        ("accounts", f"/other?{LOGIN_COOKIE}=ann"),
        ("accounts", "/oauth2callback?a=1"),
        ("accounts", f"/oauth2callback?{LOGIN_COOKIE}="),
        ("keys", f"/oauth2callback?{LOGIN_COOKIE}=ann"),
    ],
)
def test_only_a_login_is_answered_with_a_proof(clients, mode, asked):
    assert clients[mode].get(asked).headers["location"] == "/"
