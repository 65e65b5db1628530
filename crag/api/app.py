"""The API as an ASGI application, described at `/api/v1/docs`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from starlette.types import ASGIApp

from crag.api import openai_routes, routes
from crag.api.access import AdmitTokens, add_error_handlers
from crag.app.application import Application
from crag.text.html import load_page_template

_DESCRIPTION = "Answers from your documents, with a verdict on each passage and citations. Errors are problem details."
_OPENAPI_PATH, _DOCS_PATH = "/api/v1/openapi.json", "/api/v1/docs"
_STYLE_ONLY = "default-src 'none'; style-src 'unsafe-inline'"


def create_api(find_application: Callable[[], Application]) -> ASGIApp:
    """Return the API. `find_application` returns the application without a limit to a user."""
    api = FastAPI(
        title="CRAG Chat",
        version="1",
        description=_DESCRIPTION,
        openapi_url=_OPENAPI_PATH,
        docs_url=None,  # they load scripts from other hosts
        redoc_url=None,
    )
    api.state.find_application = find_application
    api.include_router(openai_routes.router)
    api.include_router(routes.router)
    add_error_handlers(api)
    api.add_middleware(AdmitTokens, find_application=find_application, without_token=(_OPENAPI_PATH, _DOCS_PATH))

    @api.get(_DOCS_PATH, include_in_schema=False)
    def show_description() -> HTMLResponse:
        page = _render_description(api.openapi())
        return HTMLResponse(page, headers={"Content-Security-Policy": _STYLE_ONLY})

    return api


def _render_description(described: dict[str, Any]) -> str:
    """Return a page without scripts that lists what the API can do."""
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method, path, operation))
    return load_page_template("description.html.jinja", Path(__file__).parent).render(api=described, groups=groups)
