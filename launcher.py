"""Launcher: one process on one address, by default of this machine alone, reachable only under its own names."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from contextvars import Context
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp
from streamlit.file_util import get_static_dir
from streamlit.runtime import get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager

from crag.concurrency.workers import run_in_background
from crag.errors import CragError
from crag.server.api_requests import ApiRequests
from crag.server.browser_identity import BrowserIdentity
from crag.server.connections import ServerConfig
from crag.server.download_guard import DownloadGuard
from crag.server.health import HealthEndpoints
from crag.server.limits import LimitRequests, RequestLimits
from crag.server.page_requests import PageRequests
from crag.server.public_access import LOCAL_NAMES, find_origins
from crag.server.request_guard import RequestGuard, load_page_token
from crag.server.security_headers import SecurityHeaders
from crag.settings import Settings, load_settings
from crag.storage.preferences import read_saved_language
from crag.text.sanitization import PlainLogFormatter
from crag.translation import _, find_terminal_language, set_language, translate_text
from pages.parts.chat_messages import keep_all_messages
from pages.parts.faults import draw_fault
from pages.parts.media_files import sign_media_addresses
from pages.parts.reruns import draw_in_turns, follow_history, keep_themes, keep_undelivered_messages
from pages.parts.routes import Page
from pages.parts.services import (
    adopt_former_key,
    close_application,
    is_database_answering,
    preload_application,
    read_login,
    render_metrics,
    shared_application,
)

SCRIPT = Path(__file__).with_name("app.py")
_UPLOADS = 4  # largest files that one tab may have in memory at once
_OPEN_FILES = 4096  # Streamlit keeps three for each of 128 sessions for a while; the default on macOS is 256


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Open the services while the browser loads the page, and close them on shutdown."""
    run_in_background("open-early", preload_application)
    yield
    close_application()


def create_app(settings: Settings, origins: Sequence[str]) -> st.App:
    """Return the application behind the middlewares that decide which requests reach it. Raises `HomeFault`."""
    hosts = [urlsplit(origin).hostname or "" for origin in origins] or LOCAL_NAMES
    is_secure = bool(origins) and all(origin.startswith("https:") for origin in origins)
    token = _load_shared_token(settings) if settings.database_url else load_page_token(settings.home)
    pages = {
        "document": Path(get_static_dir(), "index.html").read_text(encoding="utf-8"),
        "pages": [page.address for page in Page],
        "start": Page.CHAT.address,
        "token": token,
        "title": "CRAG Chat",
        "logs_in": settings.people == "accounts",
    }
    middleware = [
        Middleware(SecurityHeaders, is_secure=is_secure),
        Middleware(
            HealthEndpoints,
            is_ready=is_database_answering,
            render_metrics=render_metrics if settings.metrics else None,
        ),
        # A foreign site can resolve its name to 127.0.0.1 (DNS rebinding), but the Host header still shows that name.
        Middleware(TrustedHostMiddleware, allowed_hosts=[*hosts]),
        Middleware(RequestGuard, token=token, origins=origins),
        Middleware(LimitRequests, limits=RequestLimits(_count_uploaded_bytes, _UPLOADS * settings.max_upload_mb << 20)),
        *([Middleware(ApiRequests, create=_open_api)] if settings.api else []),
        Middleware(PageRequests, **pages),
        Middleware(
            BrowserIdentity,
            adopt=adopt_former_key if settings.people == "many" else None,
            login_secret=settings.login["cookie_secret"] if settings.people == "accounts" else "",
            read_login=read_login,
        ),
        Middleware(DownloadGuard),
    ]
    return st.App(SCRIPT, lifespan=lifespan, middleware=middleware, on_script_error=draw_fault)


def _open_api() -> ASGIApp:
    """Return the API; imported late, since most servers never need it."""
    from crag.api.app import create_api

    return create_api(shared_application)


def _load_shared_token(settings: Settings) -> str:
    """Return the token of the first process on this database: a page of one reaches the WebSocket of another."""
    from crag.storage.engine import Database
    from crag.storage.shared_files import SharedFiles

    with closing(Database(settings.home, settings.database_url)) as database:
        keys = SharedFiles(database, "key")
        keys.put("page", load_page_token(settings.home).encode())
        return (keys.get("page") or b"").decode()


def _count_uploaded_bytes(session_id: str) -> int:
    """Return how many bytes of a session's uploads Streamlit holds in memory."""
    uploads = get_instance().uploaded_file_mgr
    held = uploads.file_storage.get(session_id, {}) if isinstance(uploads, MemoryUploadedFileManager) else {}
    return sum(len(file.data) for file in [*held.values()])


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted, and return the exit status."""
    set_language(find_terminal_language())
    parser = argparse.ArgumentParser(prog="launcher.py", description=_("Starts CRAG Chat in the browser."))
    parser.add_argument("--port", type=int, default=8501, help=_("the port to listen on (default: 8501)"))
    port: int = parser.parse_args(arguments).port
    configure_log()
    try:
        settings = load_settings()
        set_language(find_terminal_language(read_saved_language(settings)))
        origins = find_origins(settings, port)
    except CragError as error:
        print(translate_text(str(error)), file=sys.stderr)
        return 1
    if not _is_free(settings.host, port):
        in_use = _("Port {port} is in use. Stop what uses it, or start with another: make run PORT=8502")
        print(in_use.format(port=port), file=sys.stderr)
        return 1
    # With a folder named pages, Streamlit would show "Page not found" over the first deep link after each start.
    PagesManager.uses_pages_directory = False
    keep_all_messages()
    keep_undelivered_messages()
    keep_themes()
    draw_in_turns()
    follow_history()
    sign_media_addresses()
    # Streamlit starts the server and passes on no such limits
    uvicorn.Config = partial(ServerConfig, trusted_proxies=settings.trusted_proxies)  # type: ignore[assignment,misc]
    os.umask(0o077)  # what the application writes is for its user alone
    address = origins[0] if origins else f"http://{settings.host}:{port}"
    print(_("CRAG Chat is at {address}").format(address=address), flush=True)
    allow_open_files()
    config = {
        "server.address": settings.host,
        "server.port": port,
        "client.allowedOrigins": [],  # no other site may embed the application and send it messages
        "server.maxUploadSize": settings.max_upload_mb,
        "logger.hideWelcomeMessage": True,  # it repeats the address
        "logger.level": "warning",  # it reports each timer of a part of the page that was redrawn
    }
    try:
        # Without the language of this terminal: each browser has its own, and the replies to programs are English.
        Context().run(create_app(settings, origins).run, config=config)
    except KeyboardInterrupt:  # the usual way to stop; everything is closed by then
        pass
    except CragError as error:
        print(translate_text(str(error)), file=sys.stderr)
        return 1
    return 0


def configure_log() -> None:
    """Write warnings and errors to the terminal in the application's own format."""
    handler = logging.StreamHandler()
    handler.setFormatter(PlainLogFormatter("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def allow_open_files() -> None:
    """Raise the limit of open files to what the server may need, where the system allows it."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
