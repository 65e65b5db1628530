"""Starts the application: one process, one loopback address, and only under names that belong to it."""

from __future__ import annotations

import argparse
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from streamlit.runtime.pages_manager import PagesManager

from crag.errors import CragError
from crag.settings import load_settings
from pages.parts.resources import close, open_early

ADDRESS = "127.0.0.1"
ALLOWED_HOSTS = ("127.0.0.1", "localhost")
SCRIPT = Path(__file__).with_name("app.py")


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Opens the services while the browser still loads the page, and closes them at the end."""
    threading.Thread(target=open_early, name="open-early", daemon=True).start()
    yield
    close()


# A web page elsewhere can point its own name at 127.0.0.1 (DNS rebinding); the Host header then still names it.
app = st.App(SCRIPT, lifespan=lifespan, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[*ALLOWED_HOSTS])])


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted; returns the exit status."""
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
    # With a folder named pages, Streamlit would lay "Page not found" over the first deep link after each start.
    PagesManager.uses_pages_directory = False
    print(f"CRAG Chat is at http://{ADDRESS}:{port}", flush=True)
    config = {"server.address": ADDRESS, "server.port": port, "server.maxUploadSize": settings.max_upload_mb}
    with suppress(KeyboardInterrupt):  # Ctrl-C is how people end it; everything is closed by then
        app.run(config=config)
    return 0


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
