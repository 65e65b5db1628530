"""The MCP server over streamable HTTP, for programs that cannot start a command. Each request brings an API token.

Protocol: https://modelcontextprotocol.io/specification/2025-06-18/basic/transports
"""

from __future__ import annotations

import socket
from http import HTTPStatus

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from crag.api.access import AdmitTokens, Refused, say_error
from crag.errors import BadRequest
from crag.mcp.server import CragServer
from crag.server.connections import ServerConfig
from crag.storage.api_tokens import ApiToken
from crag.storage.api_tokens import Scope as TokenScope

_HOST = "127.0.0.1"
_NEEDED: tuple[TokenScope, ...] = ("ask", "read")


def create_http_app(server: CragServer, user: str | None) -> Starlette:
    """Return the server, at `/mcp`, for tokens of this user (None: of the owner of the home).

    A token needs the scopes ask and read; without write it adds nothing, without web it searches only the documents.
    """
    app = server.streamable_http_app(host=_HOST)  # refuses other names of this machine and pages of other sites
    app.add_middleware(_AdmitUser, user=user)
    app.add_middleware(AdmitTokens, find_application=lambda: server.application)
    return app


def listen(port: int) -> socket.socket:
    """Return a socket that programs of this machine can connect to. Raises `BadRequest` if the port is in use."""
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        raise BadRequest(f"Port {port} is in use.", "Choose another one.") from error


def serve_http(server: CragServer, user: str | None, listening: socket.socket) -> None:
    """Serve on this socket until interrupted; `user` as in `create_http_app`."""
    uvicorn.Server(ServerConfig(create_http_app(server, user), log_level="warning")).run([listening])


class _AdmitUser:
    """Middleware that refuses tokens of other users, and those that may not ask and read."""

    def __init__(self, app: ASGIApp, user: str | None) -> None:
        self._app = app
        self._user = user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            token: ApiToken = scope["state"]["token"]
            if token.user != self._user or not token.scopes.issuperset(_NEEDED):
                remedy = "Use one of your own with the scopes ask and read."
                error = Refused(HTTPStatus.FORBIDDEN, "This token is not valid here.", remedy)
                await say_error(Request(scope), error)(scope, receive, send)
                return
        await self._app(scope, receive, send)
