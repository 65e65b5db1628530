"""Limits on connections, which apply before there is a request that a middleware could see."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from uvicorn.server import ServerState


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration with the limits that Streamlit leaves open.

    `header_seconds` from the first wait for a request to the end of its headers, or of a body that comes after its
    response; `taking_seconds` for a client to take the next part of a response; `connections` open at once;
    `message_bytes` of one WebSocket message from the browser; `closing_seconds` for requests that are in progress
    when the server stops. Only `trusted_proxies` may say for whom they pass a request on: otherwise a client could name
    any address as its own.
    """

    header_seconds = 10.0
    taking_seconds = 60.0
    connections = 2000
    message_bytes = 4 << 20  # the longest question takes a fifth of it; files are not sent this way
    closing_seconds = 2

    def __init__(self, *arguments: Any, trusted_proxies: Sequence[str] = (), **options: Any) -> None:
        options |= {
            "http": LimitedConnection,
            "log_config": None,  # its own format would show the paths and values of an exception
            "ws_max_size": self.message_bytes,
            "timeout_graceful_shutdown": self.closing_seconds,
            "proxy_headers": bool(trusted_proxies),
            "forwarded_allow_ips": [*trusted_proxies],
        }
        super().__init__(*arguments, **options)


class LimitedConnection(H11Protocol):
    """HTTP connection that is closed when a request does not arrive in time, or when there are too many of them."""

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = config
        self._deadline: asyncio.TimerHandle | None = None
        self._taking_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(cast("asyncio.Transport", transport))
        if len(self.connections) > self._limits.connections:
            self.transport.abort()
        else:
            self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Read on; more bytes of unfinished headers do not extend the time."""
        super().data_received(data)
        is_answered = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        if self.conn.their_state is h11.IDLE or is_answered:  # IDLE: no request, or its headers are not complete
            self._start_deadline()
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def pause_writing(self) -> None:
        """Begin to wait for the client to read what was sent."""
        super().pause_writing()
        self._taking_deadline = self.loop.call_later(self._limits.taking_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client has taken enough."""
        super().resume_writing()
        if self._taking_deadline is not None:
            self._taking_deadline.cancel()

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._limits.header_seconds, self.transport.close)
