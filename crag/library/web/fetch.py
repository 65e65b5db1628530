"""Safe fetcher: web pages and files from the public internet and explicitly allowed networks only.

Every redirect is checked again. Each host name is resolved once, all its addresses are checked, and the connection goes
to exactly these addresses.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from crag.errors import SourceRefused
from crag.ledger import Ledger
from crag.library.web.addresses import Resolver, may_reach, resolve
from crag.library.web.links import DEFAULT_PORTS, Link, into_own_network, read_link, service_port
from crag.library.web.response import Fetched, describe_status, read_header, read_response
from crag.library.web.robots import AGENT
from crag.progress import Report
from crag.settings import Network
from crag.stopping import Stop

if TYPE_CHECKING:
    import httpcore

    from crag.library.web.connection import Deadline

MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": AGENT,
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class Patience:
    """Timeouts in seconds: for one connection, for one read, and for the whole fetch."""

    connect: float = 10.0
    read: float = 20.0
    total: float = 60.0


def fetch(
    url: str,
    *,
    allow: tuple[Network, ...] = (),
    limit_bytes: int,
    stop: Stop,
    ledger: Ledger,
    extra_types: frozenset[str] = frozenset(),
    progress: Report | None = None,
    resolver: Resolver = resolve,
    patience: Patience = Patience(),
    trust: ssl.SSLContext | None = None,
) -> Fetched:
    """Fetch `url`, at most `limit_bytes` after decompression, from the public internet or networks in `allow`.

    Every request, including each redirect, is recorded in `ledger` before it is sent. `extra_types` are content types
    to accept besides those of documents. `trust` replaces the default certificate authorities. Raises `SourceRefused`
    (`blocked_url`, `http_error`, as `HttpErrorStatus` if the server sent a status, `unreachable`, `too_large`,
    `too_slow`, `unsupported`), `HomeFault` if the request cannot be recorded, and `Stopped`.
    """
    from crag.library.web.connection import Deadline

    deadline = Deadline(patience.total)
    link = read_link(url)
    for _ in range(MAX_REDIRECTS + 1):
        addresses = _addresses(link, allow, resolver, stop, deadline)
        ledger.record(link.authority, "web page", link.url)
        with _get(link, addresses, stop, deadline, patience, trust) as response:
            if response.status not in _REDIRECTS:
                return read_response(link.url, response, limit_bytes, extra_types, progress)
            target = read_header(response, b"location")
        if not target:
            raise SourceRefused(
                "http_error", f"The server answered {describe_status(response.status)} without an address."
            )
        link = read_link(target, link.url)
    raise SourceRefused("http_error", f"The address was redirected more than {MAX_REDIRECTS} times.")


def _addresses(link: Link, allow: tuple[Network, ...], resolver: Resolver, stop: Stop, deadline: Deadline) -> list[str]:
    """Resolve the host once and return its IP addresses if all of them may be reached. Raises `SourceRefused`."""
    from crag.library.web.connection import wait_for

    try:
        addresses = wait_for(lambda: resolver(link.host, link.port), stop, deadline)
    except TimeoutError as error:
        raise SourceRefused("too_slow", f"The name {link.host} was not found in time.") from error
    except (OSError, UnicodeError) as error:
        if link.sounds_inside:
            raise into_own_network() from error
        raise SourceRefused(
            "unreachable", f"The name {link.host} was not found.", "Check the address and your connection."
        ) from error
    if not may_reach(addresses, link.port, allow):
        raise service_port(link.port) if may_reach(addresses, DEFAULT_PORTS["https"], allow) else into_own_network()
    return addresses


@contextmanager
def _get(
    link: Link, addresses: list[str], stop: Stop, deadline: Deadline, patience: Patience, trust: ssl.SSLContext | None
) -> Iterator[httpcore.Response]:
    """Send one request and translate its errors; no proxies, cookies or retries."""
    import httpcore

    from crag.library.web.connection import Connector

    connector = Connector(addresses, stop, deadline)
    address = httpcore.URL(scheme=link.scheme, host=link.host, port=link.port, target=link.target)
    headers = [("Host", link.authority), *_HEADERS.items()]
    waits = {"connect": patience.connect, "read": patience.read, "write": patience.read, "pool": patience.connect}
    context = trust or _well_known()
    try:
        with (
            connector.guarded(),
            httpcore.ConnectionPool(ssl_context=context, network_backend=connector) as pool,
            pool.stream("GET", address, headers=headers, extensions={"timeout": waits}) as response,
        ):
            yield response
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, TimeoutError) as error:
        stop.check()
        raise _refusal(link, error, deadline) from error
    stop.check()
    if deadline.passed:  # a body without Content-Length ends silently when the connection is cut
        raise _refusal(link, TimeoutError(), deadline)


@cache
def _well_known() -> ssl.SSLContext:
    """Load the default certificate authorities, cached because loading them takes longer than fetching most pages."""
    import httpcore

    return httpcore.default_ssl_context()


def _refusal(link: Link, error: Exception, deadline: Deadline) -> SourceRefused:
    """Translate an error of the connection into a refusal."""
    import httpcore

    if isinstance(error.__cause__, ssl.SSLError) or isinstance(error.__context__, ssl.SSLError):
        return SourceRefused("unreachable", f"{link.host} could not prove who it is (its TLS certificate was refused).")
    if isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout) and not deadline.passed:
        return SourceRefused("unreachable", f"{link.host} does not answer.", "Check the address and your connection.")
    if deadline.passed or isinstance(error, httpcore.TimeoutException):
        return SourceRefused("too_slow", f"{link.host} sent its answer too slowly.", "Try again later.")
    return SourceRefused("unreachable", f"{link.host} broke off or sent something that is not a web page.")
