"""Security headers on every response."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",  # for browsers that do not know frame-ancestors
}
_CACHED_FOLDER = "/static/"  # Streamlit's own files, the same for everyone; everything else may be private
_HTTPS_ONLY = "max-age=31536000"


def _make_secure(name: bytes, value: bytes) -> bytes:
    """Return the value of a header; a cookie is marked as secure, also one that Streamlit sets."""
    is_cookie = name.lower() == b"set-cookie" and b"; secure" not in value.lower()
    return value + b"; Secure" if is_cookie else value


class SecurityHeaders:
    """Middleware that adds the headers above; a response keeps a policy of its own.

    Only files of the framework may be kept by the browser or a proxy. With `is_secure`, browsers send cookies over
    HTTPS alone, and open the server in no other way.
    """

    def __init__(self, app: ASGIApp, *, is_secure: bool = False) -> None:
        self._app = app
        self._is_secure = is_secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and complete its response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith(_CACHED_FOLDER):
                    headers["Cache-Control"] = "no-store"
                if self._is_secure:
                    headers["Strict-Transport-Security"] = _HTTPS_ONLY
            if self._is_secure and "headers" in message:  # a WebSocket sets cookies when it is accepted
                message["headers"] = [(name, _make_secure(name, value)) for name, value in message["headers"]]
            await send(message)

        await self._app(scope, receive, send_with_headers)
