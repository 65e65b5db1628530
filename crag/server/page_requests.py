"""Answers requests for pages: unknown addresses, and the document with its scripts and policy."""

from __future__ import annotations

import asyncio
import html
import json
import re
import secrets
from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import URL, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.server.browser_identity import BROWSER_SCRIPT, LOGIN_COOKIE
from crag.server.public_access import CALLBACK_PATH
from crag.server.request_guard import QUERY_PARAMETER, find_browser_language
from crag.translation import N_, _, use_language

LOGIN_FAILED_COOKIE = "crag_login_failed"  # set with the reason when logging in did not work
UNKNOWN_PAGE_COOKIE = "crag_unknown_page"  # set when an address without a page led to the start page
_NOTICE_COOKIES = (LOGIN_FAILED_COOKIE, UNKNOWN_PAGE_COOKIE)
_NOTICE_SECONDS = 10  # long enough for the start page to load
_FRAMEWORK_FOLDERS = ("_stcore", "app", "component", "media", "static")
_LOGIN_PATH = "/auth/login"
_LOGIN_FOLDERS = ("auth", CALLBACK_PATH.strip("/"))

# Adds the token to the address of Streamlit's WebSocket, and the secret of this browser to its protocols.
_SOCKET_SCRIPT = """
window.WebSocket = class extends WebSocket {
  constructor(address, protocols) {
    const url = new URL(address, location.href)
    const isOwn = url.host === location.host
    if (isOwn) url.searchParams.set(%s, %s)
    super(url, isOwn ? withSecret(protocols) : protocols)
    let isOpen = false
    this.addEventListener("open", () => {
      isOpen = true
      for (const name of %s) document.cookie = name + "=; path=/; max-age=0"  // sent with this handshake alone
      dispatchEvent(new Event("socketopened"))
    })
    this.addEventListener("close", () => { if (!isOpen) dispatchEvent(new Event("socketrefused")) })
  }
}
"""
# Where it covers the page, Streamlit would open the sidebar again after a reload.
_SIDEBAR_SCRIPT = """
try {
  const kept = Object.keys(localStorage).filter((name) => name.startsWith("stSidebarCollapsed-"))
  const width = Math.min(screen.width, innerWidth)  // a phone has not read yet how wide the page shall be
  if (width < 768) kept.forEach((name) => localStorage.removeItem(name))
} catch {}  // the browser keeps nothing
"""
# A browser does not tell why a WebSocket was refused, so the same address is asked for the reason.
_REFUSAL_SCRIPT = """
{
  const notice = document.createElement("p")
  notice.setAttribute("role", "alert")
  notice.style.cssText = "position: fixed; inset: auto 1rem 1rem; z-index: 2000000; max-width: 34rem; margin: 0 auto; "
    + "padding: 0.75rem 1rem; border: 1px solid gray; border-radius: 0.5rem; font: 1rem 'Source Sans', sans-serif; "
    + "color: #e5e9ee; background: #12161c"
  addEventListener("socketopened", () => notice.remove())
  addEventListener("socketrefused", async () => {
    const response = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => null)
    if (response?.status !== 503) return
    notice.textContent = await response.text()
    document.body.append(notice)
  })
}
"""
# Streamlit's dialog asks whether there is an internet connection and knows only its own commands. Texts are replaced in
# their nodes, which belong to React; it may change them again.
_CONNECTION_SCRIPT = """
addEventListener("DOMContentLoaded", () => {
  const reword = (part, words) => {
    const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT)
    for (; texts.nextNode(); words = "") if (texts.currentNode.nodeValue !== words) texts.currentNode.nodeValue = words
  }
  const explain = (message) => {
    reword(message, %s)
    message.querySelector('[data-testid="stCode"]')?.style.setProperty("display", "none")
  }
  const read = (part) => {
    const title = part.querySelector?.('[role="dialog"] h2')
    if (title?.textContent !== "Connection error") return
    reword(title, %s)
    const message = title.nextElementSibling
    explain(message)
    const changes = { subtree: true, childList: true, characterData: true }
    new MutationObserver(() => explain(message)).observe(message, changes)
  }
  new MutationObserver((added) => added.forEach(({ addedNodes }) => addedNodes.forEach(read)))
    .observe(document.body, { childList: true })
  const tooltips = new MutationObserver(() => {
    const tooltip = document.querySelector('[data-testid="stTooltipContent"]')
    const words = tooltip?.textContent ?? ""
    if (words.endsWith(" Streamlit server")) reword(tooltip, words.replace("Streamlit server", "CRAG Chat"))
  })
  addEventListener("pointerover", ({ target }) => {
    const isSign = target.closest?.('[data-testid="stStatusWidget"]')
    isSign ? tooltips.observe(document.body, { subtree: true, childList: true }) : tooltips.disconnect()
  })
})
"""
# Shown while nothing of a page has been drawn: the server may be starting, or busy with other users.
_LATE = N_("CRAG Chat is starting, or busy with other questions. This page appears by itself when it is your turn.")
_LATE_NOTICE = """
<style>
@keyframes late { to { visibility: visible } }
#late {
  position: fixed; inset: 55% 1rem auto; visibility: hidden; animation: late 0s 2s forwards;
  font: 1rem sans-serif; text-align: center; color: gray
}
</style>
<p id="late" role="status">LATE</p>
<script>
{
  const drawn = new MutationObserver(() => {
    if (!document.querySelector('[data-testid="stElementContainer"]>:not([data-testid="stAppSkeleton"])')) return
    document.getElementById("late").remove()
    drawn.disconnect()
  })
  drawn.observe(document.body, { childList: true, subtree: true })
}
</script>
"""
_NO_ANSWER = N_("CRAG Chat does not answer")
_WAITING = N_(
    "This page continues as soon as CRAG Chat answers, and keeps what you have typed. If CRAG Chat was "
    "stopped, start it again with “make run”."
)
_DIRECTIVES = (
    "default-src 'none'",
    "script-src 'self' blob: 'nonce-{nonce}'",  # blob: Streamlit imports the scripts of components from blobs
    "style-src 'self' 'unsafe-inline'",  # Streamlit's components insert their styles while they are drawn
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self'",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)


class PageRequests:
    """Middleware that answers requests for HTML pages and passes all others on.

    `document` is the HTML of Streamlit's page, `pages` are the addresses that exist, `start` is the start page's own.
    With `logs_in`, Streamlit's own addresses for logging in are open, too, and a failure leads back to the start page.
    """

    def __init__(
        self,
        app: ASGIApp,
        document: str,
        pages: Collection[str],
        start: str,
        token: str,
        title: str,
        *,
        logs_in: bool = False,
    ) -> None:
        self._app = app
        self._logs_in = logs_in
        self._pages = pages
        self._start = start
        script = (
            "{"
            + BROWSER_SCRIPT
            + _SOCKET_SCRIPT % (json.dumps(QUERY_PARAMETER), json.dumps(token), json.dumps(_NOTICE_COOKIES))
        )
        script += "}" + _SIDEBAR_SCRIPT + _REFUSAL_SCRIPT
        document = re.sub(
            '<!--.*?-->|<noscript>.*?</noscript>|<link rel="service-desc"[^>]*>', "", document, flags=re.DOTALL
        )
        document = re.sub("<title>.*?</title>", f"<title>{title}</title>", document)
        self._script, self._document = script, document
        self._documents: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page, or pass the request on."""
        if scope["type"] == "http" and self._logs_in and scope["path"].strip("/").partition("/")[0] in _LOGIN_FOLDERS:
            await self._app(scope, receive, _note_failed_login(scope, send))
            return
        if scope["type"] != "http" or not self._is_page(request := Request(scope)):
            await self._app(scope, receive, send)
            return
        response = await asyncio.to_thread(self._respond, request)  # reading a catalogue takes a moment
        await response(scope, receive, send)

    def _is_page(self, request: Request) -> bool:
        """Return whether HTML is asked for at an address that is not the framework's; its files have a suffix."""
        path = request.url.path
        accepts_html = request.method in {"GET", "HEAD"} and "text/html" in request.headers.get("accept", "")
        return accepts_html and "." not in path and path.strip("/").partition("/")[0] not in _FRAMEWORK_FOLDERS

    def _document_in(self, language: str) -> str:
        """Return the document with its texts in a language, and a place for the nonce of its scripts."""
        if language not in self._documents:
            with use_language(language):
                script = self._script + _CONNECTION_SCRIPT % (_quote(_WAITING), _quote(_NO_ANSWER))
                notice = _LATE_NOTICE.replace("LATE", html.escape(_(_LATE)))
            document = self._document.replace("<head>", f"<head><script>{script}</script>")
            document = document.replace("</body>", notice + "</body>")
            self._documents[language] = document.replace("<script>", '<script nonce="{nonce}">')
        return self._documents[language]

    def _respond(self, request: Request) -> Response:
        address = request.url.path.strip("/")
        if request.url.path != f"/{address}":  # the document names its files relative to its address
            # Without scheme and host, which a proxy may have changed.
            response: Response = RedirectResponse(str(URL(path=f"/{address}", query=request.url.query)))
        elif address in {"", *self._pages} - {self._start}:
            nonce = secrets.token_urlsafe(16)
            document = self._document_in(find_browser_language(request.scope))
            response = HTMLResponse(document.replace("{nonce}", nonce))
            response.headers["Content-Security-Policy"] = "; ".join(_DIRECTIVES).format(nonce=nonce)
        else:
            response = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
            if address != self._start:
                response.set_cookie(UNKNOWN_PAGE_COOKIE, "1", max_age=_NOTICE_SECONDS, samesite="lax")
        return response


def _quote(message: str) -> str:
    """Return a text in the current language, for a script."""
    return json.dumps(_(message), ensure_ascii=False)


def _note_failed_login(scope: Scope, send: Send) -> Send:
    """Return a `send` that adds the cookie with the reason to the answer to a login that failed.

    Where Streamlit answers with an error, that is a redirect to the start page.
    """
    asked = parse_qs(scope["query_string"].decode("latin-1"))
    replaced = False

    async def send_with_reason(message: Message) -> None:
        nonlocal replaced
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if message["status"] >= HTTPStatus.BAD_REQUEST:
                replaced = True
                message = {"type": "http.response.start", "status": HTTPStatus.SEE_OTHER.value, "headers": []}
                headers = MutableHeaders(scope=message)
                headers["location"] = "/"
                _add_reason(headers, "unreachable" if scope["path"] == _LOGIN_PATH else "refused")
            elif scope["path"] == CALLBACK_PATH and {"code", "error"} & asked.keys() and not _is_logged_in(headers):
                _add_reason(headers, "refused")
        elif replaced:
            message = {**message, "body": b""}
        await send(message)

    return send_with_reason


def _add_reason(headers: MutableHeaders, reason: str) -> None:
    headers.append("set-cookie", f"{LOGIN_FAILED_COOKIE}={reason}; path=/; max-age={_NOTICE_SECONDS}; samesite=lax")


def _is_logged_in(headers: MutableHeaders) -> bool:
    """Return whether a response sets the login cookie; a deleted cookie has no time to live."""
    cookies = headers.getlist("set-cookie")
    return any(one.startswith(f"{LOGIN_COOKIE}=") and "max-age=0" not in one.lower() for one in cookies)
