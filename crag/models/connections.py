"""HTTP connections to a host of Ollama that another thread can shut down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import httpx

from crag.cancellation import current_connection_group
from crag.settings import Settings

CONNECT_SECONDS = 5.0
# Loading a large model can mean minutes of silence before the first byte.
SILENCE_SECONDS = 900.0
# In bytes. A streamed line holds one token, a whole reply a few hundred vectors at most.
MAX_LINE_BYTES = 1_000_000
MAX_REPLY_BYTES = 100_000_000

_CONNECT_EVENTS = ("connection.connect_tcp.complete", "connection.start_tls.complete")


def ollama_client_options(settings: Settings) -> dict[str, Any]:
    """Return the HTTP client options for LangChain's Ollama classes.

    Proxy settings of the environment are for the web, not for this server.
    """
    options = {
        "timeout": httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        "follow_redirects": False,  # prompts go only to the configured address
        "trust_env": False,
        "verify": settings.ollama_host.startswith("https"),
    }
    return {"client_kwargs": options, "sync_client_kwargs": {"transport": CancellableTransport(settings)}}


class CancellableTransport(httpx.HTTPTransport):
    """Transport with a new connection per request, registered with the connection group of the calling thread."""

    def __init__(self, settings: Settings) -> None:
        verify = settings.ollama_host.startswith("https")
        super().__init__(verify=verify, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Handle the request and register its socket."""
        request.extensions = {**request.extensions, "trace": register_connection}
        reply = super().handle_request(request)
        streamed = "ndjson" in reply.headers.get("Content-Type", "")
        reply.stream = _BoundedStream(
            cast("httpx.SyncByteStream", reply.stream), MAX_LINE_BYTES if streamed else MAX_REPLY_BYTES
        )
        return reply


class _BoundedStream(httpx.SyncByteStream):
    """Reply body that raises `ValueError` for a line longer than any model server sends: it would fill memory."""

    def __init__(self, stream: httpx.SyncByteStream, longest: int) -> None:
        self._stream = stream
        self._longest = longest

    def __iter__(self) -> Iterator[bytes]:
        length = 0
        for part in self._stream:
            begun = part.rfind(b"\n") + 1
            length = len(part) - begun if begun else length + len(part)
            if length > self._longest:
                raise ValueError("A line of the reply is too long.")
            yield part

    def close(self) -> None:
        self._stream.close()


def register_connection(event: str, details: dict[str, Any]) -> None:
    """Register the socket of a request with the calling thread's connection group (an httpx `trace` callback)."""
    line = current_connection_group()
    if line is not None and event in _CONNECT_EVENTS:
        opened = details["return_value"].get_extra_info("socket")
        if opened is not None:
            line.add(opened)
