"""Launcher: one process on one loopback address, reachable only under its own host names."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime.pages_manager import PagesManager

from crag.concurrency.workers import run_in_background
from crag.errors import CragError
from crag.settings import load_settings
from crag.types import generate_user_key
from pages.parts import session
from pages.parts.chat_messages import keep_all_messages
from pages.parts.routes import Page
from pages.parts.services import close_application, preload_application

ADDRESS = "127.0.0.1"
ALLOWED_HOSTS = ("127.0.0.1", "localhost")
SCRIPT = Path(__file__).with_name("app.py")
_OPEN_FILES = 4096  # Streamlit keeps three for each of 128 sessions for a while; the default on macOS is 256
_NOTICE_SECONDS = 10  # long enough for the start page to load
_STREAMLIT_FOLDERS = ("_stcore", "app", "component", "media", "static")
_COOKIE_SECONDS = 400 * 24 * 3600  # the longest lifetime that browsers accept; renewed with each page


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Open the services while the browser loads the page, and close them on shutdown."""
    run_in_background("open-early", preload_application)
    yield
    close_application()


class UnknownPage:
    """Middleware that leads from an address without a page to the start page, which says so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass every request on, except one for a page that does not exist."""
        is_page = scope["type"] == "http" and "text/html" in HTTPConnection(scope).headers.get("accept", "")
        if not is_page or _is_known(scope["path"]):
            await self._app(scope, receive, send)
            return
        response = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
        if scope["path"] != f"/{Page.CHAT.address}":
            response.set_cookie(session.UNKNOWN_PAGE_COOKIE, "1", max_age=_NOTICE_SECONDS, samesite="lax")
        await response(scope, receive, send)


def _is_known(path: str) -> bool:
    """Return whether a path is that of a page or belongs to Streamlit, whose files have a suffix."""
    first, _, rest = path.strip("/").partition("/")
    if first in _STREAMLIT_FOLDERS or "." in path:
        return True
    return not first or (first != Page.CHAT.address and not rest and first in {page.address for page in Page})


class PersonCookie:
    """Middleware that gives each browser a key with its first page, so that it finds its conversations again."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass every request on, and set the cookie on responses to HTML page requests."""
        if scope["type"] != "http" or "text/html" not in HTTPConnection(scope).headers.get("accept", ""):
            await self._app(scope, receive, send)
            return
        key = session.key_from_cookies(HTTPConnection(scope).cookies) or generate_user_key()

        async def send_with_key(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_cookie(key)]
            await send(message)

        await self._app(scope, receive, send_with_key)


def _cookie(key: str) -> list[tuple[bytes, bytes]]:
    """Return the cookie headers.

    The cookie is not `secure`, since it must work over plain HTTP on this machine.
    """
    response = Response()
    response.set_cookie(session.OWNER_COOKIE, key, max_age=_COOKIE_SECONDS, httponly=True, samesite="lax")
    return [header for header in response.raw_headers if header[0] == b"set-cookie"]


# Against DNS rebinding: a foreign site can resolve its name to 127.0.0.1, but the Host header still shows that name.
hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[*ALLOWED_HOSTS])
app = st.App(SCRIPT, lifespan=lifespan, middleware=[hosts, Middleware(UnknownPage), Middleware(PersonCookie)])


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted, and return the exit status."""
    parser = argparse.ArgumentParser(prog="launcher.py", description="Starts CRAG Chat in the browser.")
    parser.add_argument("--port", type=int, default=8501, help="the port on 127.0.0.1 (default: 8501)")
    port: int = parser.parse_args(arguments).port
    try:
        settings = load_settings()
    except CragError as error:
        print(error, file=sys.stderr)
        return 1
    if not _is_free(port):
        print(f"Port {port} is in use. Stop what uses it, or start with another: make run PORT=8502", file=sys.stderr)
        return 1
    # With a folder named pages, Streamlit would show "Page not found" over the first deep link after each start.
    PagesManager.uses_pages_directory = False
    keep_all_messages()
    os.umask(0o077)  # what the application writes is for its user alone
    print(f"CRAG Chat is at http://{ADDRESS}:{port}", flush=True)
    allow_open_files()
    config = {
        "server.address": ADDRESS,
        "server.port": port,
        "server.maxUploadSize": settings.max_upload_mb,
        "logger.hideWelcomeMessage": True,  # it repeats the address
    }
    with suppress(KeyboardInterrupt):  # Ctrl-C is the usual way to stop; everything is closed by then
        app.run(config=config)
    return 0


def allow_open_files() -> None:
    """Raise the limit of open files to what the server may need, as far as the system allows."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
