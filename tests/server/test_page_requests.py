"""Requests for pages: the document and its policy, addresses that do not exist."""

import re

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from crag.server.page_requests import LOGIN_FAILED_COOKIE, UNKNOWN_PAGE_COOKIE, PageRequests
from crag.server.security_headers import SecurityHeaders

DOCUMENT = (
    "<!-- of others --><html><head><title>Theirs</title><script>x = 1</script></head>"
    "<body><noscript>y</noscript></body></html>"
)
HTML = {"Accept": "text/html,*/*"}


@pytest.fixture
def client():
    async def answer(_request):
        return PlainTextResponse("passed on", headers={"Cache-Control": "public"})

    async def greet(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text("passed on")
        await socket.close()

    page_requests = Middleware(
        PageRequests, document=DOCUMENT, pages=["chat", "documents"], start="chat", token="token", title="Ours"
    )
    app = Starlette(
        routes=[Route("/{path:path}", answer, methods=["GET", "POST"]), WebSocketRoute("/{path:path}", greet)],
        middleware=[Middleware(SecurityHeaders), page_requests],
    )
    return TestClient(app, base_url="http://127.0.0.1:8501", follow_redirects=False)


@pytest.mark.parametrize(
    ("accepted", "late", "silent"),
    [
        ("ko-KR,ko;q=0.9,en;q=0.8", "CRAG Chat이 시작하는 중", "CRAG Chat이 응답하지"),
        ("en;q=0.3, ko-KR ; q=0.9", "CRAG Chat이 시작하는 중", "CRAG Chat이 응답하지"),
        ("ko;q=0, fr, en;q=0.1", "is starting", "does not answer"),
        ("ko;q=very, *;q=0.5", "is starting", "does not answer"),
        ("fr", "is starting", "does not answer"),
    ],
)
def test_the_document_is_in_the_language_of_the_browser(client, accepted, late, silent):
    page = client.get("/documents", headers={**HTML, "Accept-Language": accepted}).text
    assert late in page
    assert silent in page


def test_every_script_of_the_document_carries_the_nonce_of_its_policy(client):
    pages = [client.get("/documents", headers=HTML) for _ in range(2)]
    nonces = [set(re.findall(r'<script nonce="([^"]+)">', page.text)) for page in pages]
    assert len(nonces[0] | nonces[1]) == 2
    for page, (nonce,) in zip(pages, nonces, strict=True):
        assert page.text.count("<script") == page.text.count(f'<script nonce="{nonce}">') == 3
        policy = page.headers["Content-Security-Policy"]
        assert dict(one.split(" ", 1) for one in policy.split("; ")) == {
            "default-src": "'none'",
            "script-src": f"'self' blob: 'nonce-{nonce}'",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data: blob:",
            "font-src": "'self' data:",
            "media-src": "'self'",
            "connect-src": "'self'",
            "worker-src": "'self' blob:",
            "manifest-src": "'self'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
    assert "<title>Ours</title>" in pages[0].text
    assert "of others" not in pages[0].text


@pytest.mark.parametrize("path", ["/media/a", "/_stcore/health", "/app/a", "/component/a", "/static/a", "/logo.png"])
def test_everything_else_is_passed_on(client, path):
    assert client.get(path, headers=HTML).text == "passed on"


def test_a_socket_is_passed_on(client):
    with client.websocket_connect("/_stcore/stream", headers=HTML) as socket:
        assert socket.receive_text() == "passed on"


def test_only_a_browser_that_opens_a_page_gets_one(client):
    assert client.post("/documents", headers=HTML).text == "passed on"
    assert client.get("/documents", headers={"Accept": "application/json"}).text == "passed on"
    assert client.head("/documents", headers=HTML).headers["content-type"].startswith("text/html")


def test_only_files_of_the_framework_are_kept_by_the_browser(client):
    assert client.get("/static/a.js").headers["Cache-Control"] == "public"
    for path in ["/media/private", "/_stcore/health", "/documents"]:
        assert client.get(path, headers=HTML).headers["Cache-Control"] == "no-store"


def test_all_responses_carry_the_headers(client):
    for path in ["/", "/media/a", "/nonsense", "/static/a.js"]:
        headers = client.get(path, headers=HTML).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Permissions-Policy"] == "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("path", "target", "is_unknown"),
    [
        ("/nonsense", "/", True),
        ("/documents/nonsense", "/", True),
        ("/chat", "/", False),
        ("/documents/?document=3", "/documents?document=3", False),
        ("//", "/", False),
    ],
)
def test_other_addresses_lead_to_a_page(client, path, target, is_unknown):
    response = client.get(f"http://127.0.0.1:8501{path}", headers=HTML)
    assert response.status_code in {303, 307}
    assert response.headers["Location"].removeprefix("http://127.0.0.1:8501") == target
    assert (UNKNOWN_PAGE_COOKIE in response.headers.get("set-cookie", "")) == is_unknown


def test_the_document_forgets_both_notices_once_it_has_shown_them(client):
    script = client.get("/documents", headers=HTML).text
    assert f'["{LOGIN_FAILED_COOKIE}", "{UNKNOWN_PAGE_COOKIE}"]' in script


def test_a_page_holds_and_sets_nothing_of_one_browser(client):
    pages = [client.get("/", headers=HTML | {"Cookie": cookie}) for cookie in ("", f"crag_person={'a' * 43}")]
    texts = {re.sub(r'nonce="[^"]+"', "", page.text) for page in pages}
    assert len(texts) == 1
    assert [page.headers.get("set-cookie") for page in pages] == [None, None]


@pytest.fixture
def logging_in():
    """Streamlit's own addresses, which answer as the query says."""

    async def answer(request):
        response = PlainTextResponse("passed on", int(request.query_params.get("status", "200")))
        if request.query_params.get("user"):
            response.set_cookie("_streamlit_user", "ann", httponly=True)
        else:
            response.delete_cookie("_streamlit_user")
        response.set_cookie("other", "1")
        return response

    page_requests = Middleware(
        PageRequests, document=DOCUMENT, pages=["chat"], start="chat", token="t", title="Ours", logs_in=True
    )
    app = Starlette(
        routes=[Route("/{path:path}", answer)],
        middleware=[Middleware(SecurityHeaders, is_secure=True), page_requests],
    )
    return TestClient(app, base_url="https://crag.example.org", follow_redirects=False)


@pytest.mark.parametrize(
    ("asked", "status", "reason"),
    [
        ("/auth/login?provider=x", 200, None),
        ("/auth/login?provider=x&status=400", 303, "unreachable"),
        ("/oauth2callback?code=1&state=2&user=ann", 200, None),
        ("/oauth2callback?code=1&state=2", 200, "refused"),
        ("/oauth2callback?error=access_denied&state=2", 200, "refused"),
        ("/oauth2callback?code=1&status=500", 303, "refused"),
        ("/auth/login?provider=x&code=1", 200, None),
        ("/oauth2callback", 200, None),  # the way back after logging out
    ],
)
def test_a_login_that_fails_leads_back_with_the_reason(logging_in, asked, status, reason):
    answer = logging_in.get(asked, headers=HTML)
    assert answer.status_code == status
    assert answer.cookies.get(LOGIN_FAILED_COOKIE) == reason
    assert (answer.headers.get("location"), answer.text) == (("/", "") if status == 303 else (None, "passed on"))


def test_a_server_with_accounts_starts(logging_in):
    with logging_in as started:  # what is no request passes, too
        assert started.get("/auth/login").text == "passed on"


def test_without_accounts_there_is_no_address_to_log_in(client):
    assert client.get("/auth/login", headers=HTML).headers["location"] == "/"
    assert client.get("/oauth2callback", headers=HTML).headers["location"] == "/"


def test_over_https_every_cookie_is_secure_once(logging_in):
    for asked in ("/nonsense", "/oauth2callback?code=1&user=ann"):
        cookies = logging_in.get(asked, headers=HTML).headers.get_list("set-cookie")
        assert cookies
        assert [one.lower().count("secure") for one in cookies] == [1] * len(cookies)
    assert "max-age" in logging_in.get("/", headers=HTML).headers["strict-transport-security"]
