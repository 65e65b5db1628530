"""Tells browsers apart by a secret that no other port sees, and ties logins to it.

A browser sends the cookies of a host to every port of it, so a program behind another port can collect them and use
them itself. Local storage belongs to scheme, host and port. The page keeps a secret there and names it in the handshake
of its WebSocket, which is the only way to anything of one person; cookies alone open nothing, and neither does a page
that is fetched with them. A cookie that another program sets makes nobody somebody else.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
import secrets
from asyncio import to_thread
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from http.cookies import SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.errors import CragError
from crag.server.public_access import CALLBACK_PATH
from crag.server.request_guard import find_browser_language
from crag.translation import N_, _, use_language

FORMER_COOKIE = "crag_person"  # in which earlier versions kept the key of a browser
LOGIN_COOKIE = "_streamlit_user"

_KEY_HEADER = f"X-Crag-Browser-{secrets.token_hex(8)}"  # of this process alone, so that no client can send it
_DOWNLOADS_HEADER = f"X-Crag-Downloads-{secrets.token_hex(8)}"  # likewise
_KEPT = " kept"
_FORMER_KEY = re.compile(r"[\w-]{43}", re.ASCII)  # later keys are longer: what a cookie names is never one of them
_SECRET = re.compile(r"[0-9a-f]{64}")
_LOGIN_COOKIES = re.compile(rf"{LOGIN_COOKIE}(_\d+)?")  # a long one is split
_STORED_SECRET, _STORED_PROOF = "crag-secret", "crag-login"
_STORED_ADDRESS = "crag-wanted"  # of the tab alone
_IN_STORAGE, _IN_TAB, _PROOF = "crag-kept.", "crag-tab.", "crag-login."
_PROTOCOLS = "sec-websocket-protocol"

# The list of protocols is the part of a WebSocket's handshake that a page can extend and no log of a proxy repeats.
BROWSER_SCRIPT = (
    """
const isSecret = (text) => /^[0-9a-f]{64}$/.test(text)
const bytes = crypto.getRandomValues(new Uint8Array(32))
const newSecret = Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("")
const withSecret = (protocols) => {
  const named = [protocols ?? []].flat()
  try {
    if (!isSecret(localStorage.getItem("SECRET"))) localStorage.setItem("SECRET", newSecret)
    const proof = localStorage.getItem("LOGIN")
    const proofs = isSecret(proof) ? ["crag-login." + proof] : []
    return [...named, "crag-kept." + localStorage.getItem("SECRET"), ...proofs]
  } catch {  // the browser keeps nothing
    return [...named, "crag-tab." + newSecret]
  }
}
try { sessionStorage.setItem("WANTED", location.pathname + location.search) } catch {}  // to go on there after a login
""".replace("WANTED", _STORED_ADDRESS)
    .replace("SECRET", _STORED_SECRET)
    .replace("LOGIN", _STORED_PROOF)
)
_PROOF_PAGE = f"""<!doctype html><html><meta charset="utf-8"><title>CRAG Chat</title><body>
<script nonce="{{nonce}}">
try {{{{
  localStorage.setItem("{_STORED_PROOF}", "{{proof}}")
  const wanted = sessionStorage.getItem("{_STORED_ADDRESS}") ?? "/"
  location.replace(/^\\/(?!\\/)/.test(wanted) ? wanted : "/")
}}}} catch {{{{
  document.body.textContent = {{message}}
}}}}
</script></body></html>
"""

_CANNOT_STORE = N_(
    "You cannot be logged in, because this browser does not let CRAG Chat store data. Allow it for this address, then "
    "log in again."
)

_logger = logging.getLogger(__name__)


def key_from_headers(headers: Mapping[str, str]) -> str:
    """Return the key of the browser behind a connection; empty if it named no secret."""
    return headers.get(_KEY_HEADER, "").removesuffix(_KEPT)


def is_kept(headers: Mapping[str, str]) -> bool:
    """Return whether the browser behind a connection will have the same key when it comes back."""
    return headers.get(_KEY_HEADER, "").endswith(_KEPT)


def download_key_from_headers(headers: Mapping[str, str]) -> str:
    """Return what the browser behind a connection shows for its downloads; empty if it keeps nothing.

    It changes with the person who is logged in and does not reveal the secret.
    """
    return headers.get(_DOWNLOADS_HEADER, "")


def headers_of(key: str, *, kept: bool = True, downloads: str = "") -> dict[str, str]:
    """Return the headers by which pages learn the keys of a browser."""
    return {_KEY_HEADER: key + _KEPT * kept, _DOWNLOADS_HEADER: downloads}


class BrowserIdentity:
    """Middleware that tells pages the key of the browser behind each WebSocket, made from its secret by SHA-256.

    `adopt` gives a key what the key in a cookie of an earlier version owned, once: the cookie owns nothing afterwards.
    With `login_secret`, a login counts only with the proof that was given to the page when it was made; `read_login`
    returns from its cookies whose login it is.
    """

    def __init__(
        self,
        app: ASGIApp,
        adopt: Callable[[str, str], object] | None = None,
        login_secret: str = "",
        read_login: Callable[[Mapping[str, str]], str] = lambda _cookies: "",
    ) -> None:
        self._app = app
        self._adopt = adopt
        self._login_secret = login_secret
        self._read_login = read_login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "websocket":
            await self._pass_socket(scope, receive, send)
        elif scope["type"] == "http" and self._login_secret and scope["path"] == CALLBACK_PATH:
            await self._app(scope, receive, self._hand_out_proof(scope, receive, send))
        else:
            await self._app(scope, receive, send)

    async def _pass_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        protocols, own = _take_own(Headers(scope=scope).getlist(_PROTOCOLS))
        cookies = ";".join(Headers(scope=scope).getlist("cookie"))
        secret, is_kept = own.get(_IN_STORAGE) or own.get(_IN_TAB, ""), _IN_STORAGE in own
        is_login = self._login_secret != "" and self._is_proven(own.get(_PROOF, ""), cookie_parser(cookies))
        added: list[tuple[str, str]] = []
        if _SECRET.fullmatch(secret):
            key = sha256(secret.encode()).hexdigest()
            person = self._read_login(cookie_parser(cookies)) if is_login else ""
            shown = sha256(f"downloads of {secret} {person}".encode()).hexdigest() if is_kept else ""
            added += headers_of(key, kept=is_kept, downloads=shown).items()
            if is_kept and await self._adopt_former(cookie_parser(cookies).get(FORMER_COOKIE, ""), key):
                send = _remove_former_cookie(send)
        if self._login_secret and not is_login:
            cookies = ";".join(one for one in cookies.split(";") if not one.strip().startswith(LOGIN_COOKIE))
        added += [(_PROTOCOLS, ",".join(protocols)), ("cookie", cookies)]
        replaced = {name.lower().encode() for name, _ in added}
        headers = [one for one in scope["headers"] if one[0] not in replaced]
        headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in added if value]
        await self._app({**scope, "headers": headers, "subprotocols": protocols}, receive, send)

    async def _adopt_former(self, former: str, key: str) -> bool:
        """Return whether a cookie of an earlier version is not needed any more."""
        if not self._adopt or not _FORMER_KEY.fullmatch(former):
            return False
        try:
            await to_thread(self._adopt, former, key)
        except CragError as error:  # the cookie stays, for the next time
            _logger.warning("The conversations of a browser could not be moved to its new key: %s", error)
            return False
        return True

    def _is_proven(self, proof: str, cookies: Mapping[str, str]) -> bool:
        return hmac.compare_digest(proof.encode(), self._prove(cookies).encode())

    def _prove(self, cookies: Mapping[str, str]) -> str:
        """Return what only the page learns that was there when these cookies were set."""
        login = sorted((name, value) for name, value in cookies.items() if value and _LOGIN_COOKIES.fullmatch(name))
        return hmac.new(self._login_secret.encode(), f"page of {login}".encode(), sha256).hexdigest()

    def _hand_out_proof(self, scope: Scope, receive: Receive, send: Send) -> Send:
        """Return a `send` that answers a login with a page that stores the proof and goes to the start page."""
        replaced = False

        async def send_proof(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message).getlist("set-cookie")
                changed = {name: cookie for one in given for name, cookie in SimpleCookie(one).items()}
                if LOGIN_COOKIE in changed and changed[LOGIN_COOKIE].value:
                    replaced = True
                    before = cookie_parser(";".join(Headers(scope=scope).getlist("cookie")))
                    after = {**before, **{name: cookie.value for name, cookie in changed.items()}}
                    with use_language(find_browser_language(scope)):
                        response = _answer_with_proof(self._prove(after), given)
                    await response(scope, receive, send)
            if not replaced:
                await send(message)

        return send_proof


def _take_own(headers: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return the protocols of a handshake without those that the script above adds, and these by kind."""
    named = [one.strip() for one in ",".join(headers).split(",")]
    kinds = {one: kind for one in named for kind in (_IN_STORAGE, _IN_TAB, _PROOF) if one.startswith(kind)}
    return [one for one in named if one not in kinds], {kind: one.removeprefix(kind) for one, kind in kinds.items()}


def _answer_with_proof(proof: str, cookies: Iterable[str]) -> Response:
    nonce = secrets.token_urlsafe(16)
    response = HTMLResponse(_PROOF_PAGE.format(nonce=nonce, proof=proof, message=json.dumps(_(_CANNOT_STORE))))
    response.headers["Content-Security-Policy"] = f"default-src 'none'; script-src 'nonce-{nonce}'"
    for cookie in cookies:
        response.headers.append("set-cookie", cookie)
    return response


def _remove_former_cookie(send: Send) -> Send:
    async def send_without(message: Message) -> None:
        if message["type"] == "websocket.accept":
            removal = f"{FORMER_COOKIE}=; path=/; max-age=0; httponly; samesite=lax"
            message = {**message, "headers": [*message.get("headers", ()), (b"set-cookie", removal.encode())]}
        await send(message)

    return send_without
