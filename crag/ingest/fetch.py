"""Safe fetcher: web pages and files from the public internet and explicitly allowed networks only.

Every redirect is checked again. Each host name is resolved once, all its addresses are checked, and the connection
goes to exactly these addresses.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial

import httpcore

from crag.cancellation import Cancellation, call_cancellable
from crag.errors import SourceRefused
from crag.ingest.addresses import (
    DEFAULT_PORTS,
    ParsedUrl,
    Resolver,
    may_reach,
    parse_url,
    private_network_refusal,
    resolve_host,
    service_port_refusal,
)
from crag.ingest.http_response import FetchResult, describe_status, read_header, read_response
from crag.ingest.site import USER_AGENT
from crag.settings import Network
from crag.storage.outbound_log import OutboundLog
from crag.types import ProgressCallback


class Deadline:
    """A point in time after which work is abandoned, even if data is still arriving."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return self.remaining == 0


class PinnedAddressBackend(httpcore.SyncBackend):
    """Network backend that connects to the given IP addresses only, whatever the host name.

    Prevents DNS rebinding: the name cannot resolve to another address between check and connection.
    """

    def __init__(self, addresses: list[str], stop: Cancellation, deadline: Deadline) -> None:
        self._addresses = addresses
        self._stop = stop
        self._deadline = deadline
        self._line: socket.socket | None = None

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 — resolved and checked before
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers. Raises `httpcore.ConnectError`, `Stopped`."""
        failure: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            connect = partial(super().connect_tcp, address, port, timeout, local_address, socket_options)
            try:
                stream = call_cancellable(connect, self._stop, self._deadline.remaining)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                self._line = stream.get_extra_info("socket").dup()
                return stream
        raise failure

    @contextmanager
    def cut_on_deadline(self) -> Iterator[None]:
        """Cut the connection at the deadline or on cancellation while the block runs; pending reads then fail."""
        timer = threading.Timer(self._deadline.remaining, self._cut)
        timer.daemon = True
        timer.start()
        try:
            with self._stop.on_cancel(self._cut):
                yield
        finally:
            timer.cancel()
            timer.join()
            if self._line:
                self._line.close()

    def _cut(self) -> None:
        if self._line:
            with suppress(OSError):  # already closed
                self._line.shutdown(socket.SHUT_RDWR)


MAX_REDIRECTS = 5
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class FetchTimeouts:
    """Timeouts in seconds: for one connection, for one read, and for the whole fetch."""

    connect: float = 10.0
    read: float = 20.0
    total: float = 60.0


def fetch(
    url: str,
    *,
    allow: tuple[Network, ...] = (),
    limit_bytes: int,
    stop: Cancellation,
    outbound_log: OutboundLog,
    extra_types: frozenset[str] = frozenset(),
    progress: ProgressCallback | None = None,
    resolver: Resolver = resolve_host,
    timeouts: FetchTimeouts = FetchTimeouts(),
    ssl_context: ssl.SSLContext | None = None,
) -> FetchResult:
    """Fetch `url`, at most `limit_bytes` after decompression, from the public internet or networks in `allow`.

    Every request, including each redirect, is recorded in `outbound_log` before it is sent. `extra_types` are content
    types to accept besides those of documents. `ssl_context` replaces the default certificate authorities. Raises
    `SourceRefused` (`blocked_url`, `http_error`, as `HttpErrorStatus` if the server sent a status, `unreachable`,
    `too_large`, `too_slow`, `unsupported`), `HomeFault` if the request cannot be recorded, and `Stopped`.
    """
    deadline = Deadline(timeouts.total)
    link = parse_url(url)
    for _ in range(MAX_REDIRECTS + 1):
        addresses = _resolve_allowed(link, allow, resolver, stop, deadline)
        outbound_log.record(link.authority, "web page", link.url)
        with _send_request(link, addresses, stop, deadline, timeouts, ssl_context) as response:
            if response.status not in _REDIRECT_STATUSES:
                return read_response(link.url, response, limit_bytes, extra_types, progress)
            target = read_header(response, b"location")
        if not target:
            raise SourceRefused(
                "http_error", f"The server answered {describe_status(response.status)} without an address."
            )
        link = parse_url(target, link.url)
    raise SourceRefused("http_error", f"The address was redirected more than {MAX_REDIRECTS} times.")


def _resolve_allowed(
    link: ParsedUrl, allow: tuple[Network, ...], resolver: Resolver, stop: Cancellation, deadline: Deadline
) -> list[str]:
    """Resolve the host once and return its IP addresses if all of them may be reached. Raises `SourceRefused`."""
    try:
        addresses = call_cancellable(lambda: resolver(link.host, link.port), stop, deadline.remaining)
    except TimeoutError as error:
        raise SourceRefused("too_slow", f"The name {link.host} was not found in time.") from error
    except (OSError, UnicodeError) as error:
        if link.is_private_name:
            raise private_network_refusal() from error
        raise SourceRefused(
            "unreachable", f"The name {link.host} was not found.", "Check the address and your connection."
        ) from error
    if not may_reach(addresses, link.port, allow):
        raise (
            service_port_refusal(link.port)
            if may_reach(addresses, DEFAULT_PORTS["https"], allow)
            else private_network_refusal()
        )
    return addresses


@contextmanager
def _send_request(
    link: ParsedUrl,
    addresses: list[str],
    stop: Cancellation,
    deadline: Deadline,
    timeouts: FetchTimeouts,
    ssl_context: ssl.SSLContext | None,
) -> Iterator[httpcore.Response]:
    """Send one request and translate its errors; no proxies, cookies or retries."""
    import httpcore

    connector = PinnedAddressBackend(addresses, stop, deadline)
    address = httpcore.URL(scheme=link.scheme, host=link.host, port=link.port, target=link.target)
    headers = [("Host", link.authority), *_HEADERS.items()]
    waits = {"connect": timeouts.connect, "read": timeouts.read, "write": timeouts.read, "pool": timeouts.connect}
    context = ssl_context or _default_ssl_context()
    try:
        with (
            connector.cut_on_deadline(),
            httpcore.ConnectionPool(ssl_context=context, network_backend=connector) as pool,
            pool.stream("GET", address, headers=headers, extensions={"timeout": waits}) as response,
        ):
            yield response
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, TimeoutError) as error:
        stop.check()
        raise _refusal_for(link, error, deadline) from error
    stop.check()
    if deadline.passed:  # a body without Content-Length ends silently when the connection is cut
        raise _refusal_for(link, TimeoutError(), deadline)


@cache
def _default_ssl_context() -> ssl.SSLContext:
    """Load the default certificate authorities, cached because loading them takes longer than fetching most pages."""
    import httpcore

    return httpcore.default_ssl_context()


def _refusal_for(link: ParsedUrl, error: Exception, deadline: Deadline) -> SourceRefused:
    """Translate an error of the connection into a refusal."""
    import httpcore

    if isinstance(error.__context__, ssl.SSLError):
        return SourceRefused("unreachable", f"{link.host} has no valid TLS certificate.")
    if isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout) and not deadline.passed:
        return SourceRefused("unreachable", f"{link.host} does not answer.", "Check the address and your connection.")
    if deadline.passed or isinstance(error, httpcore.TimeoutException):
        return SourceRefused("too_slow", f"{link.host} responded too slowly.", "Try again later.")
    return SourceRefused("unreachable", f"{link.host} closed the connection or did not send a web page.")
