"""Starts the application: one process, one loopback address, and only under names that belong to it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from streamlit.runtime.pages_manager import PagesManager

from crag.errors import CragError
from crag.settings import load_settings

ADDRESS = "127.0.0.1"
ALLOWED_HOSTS = ("127.0.0.1", "localhost")
SCRIPT = Path(__file__).with_name("app.py")

# A web page elsewhere can point its own name at 127.0.0.1 (DNS rebinding); the Host header then still names it.
app = st.App(SCRIPT, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(ALLOWED_HOSTS))])


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
    # With a folder named pages, Streamlit would lay "Page not found" over the first deep link after each start.
    PagesManager.uses_pages_directory = False
    print(f"CRAG Chat is at http://{ADDRESS}:{port}", flush=True)
    app.run(
        config={
            "server.address": ADDRESS,
            "server.port": port,
            "server.maxUploadSize": settings.max_upload_mb,
        }
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
