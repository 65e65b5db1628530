"""The one safe fetcher: web pages and files from the public internet, and from nowhere else.

Every hop is judged anew, name resolved once, every address of it judged, and exactly these are connected to.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from typing import TYPE_CHECKING

from crag.errors import SourceRefused
from crag.library.addresses import Resolver, may_reach, resolve
from crag.library.links import Link, into_own_network, read_link
from crag.settings import Network
from crag.stopping import Stop
from crag.types import Progress

if TYPE_CHECKING:
    import httpcore

    from crag.library.connection import Deadline

MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_CONTENT_TYPES = frozenset(
    {
        "",
        "application/xhtml+xml",
        "application/pdf",
        "application/x-pdf",
        "application/json",
        "application/xml",
        "application/markdown",
        "application/octet-stream",
        "binary/octet-stream",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.oasis.opendocument.text",
        "application/epub+zip",
        "application/x-ndjson",
        "message/rfc822",
    }
)
_HEADERS = {
    "User-Agent": "crag-chat",
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address held in the end. `content_type` is lower case, empty where the server did not say."""

    url_final: str
    content_type: str
    charset: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for one connection, for one piece of data, and for everything together."""

    connect: float = 10.0
    read: float = 20.0
    total: float = 60.0


def fetch(
    url: str,
    *,
    allow: tuple[Network, ...] = (),
    limit_bytes: int,
    stop: Stop,
    progress: Callable[[Progress], None] | None = None,
    resolver: Resolver = resolve,
    patience: Patience = Patience(),
    trust: ssl.SSLContext | None = None,
) -> Fetched:
    """What `url` holds, at most `limit_bytes` after decompression; networks in `allow` are reached besides the public.

    Raises `SourceRefused` (`blocked_url`, `http_error`, `unreachable`, `too_large`, `too_slow`, `unsupported`) and
    `Stopped`. `trust` replaces the well-known certificate authorities.
    """
    from crag.library.connection import Deadline

    deadline = Deadline(patience.total)
    link = read_link(url)
    for _ in range(MAX_REDIRECTS + 1):
        addresses = _addresses(link, allow, resolver, stop, deadline)
        with _get(link, addresses, stop, deadline, patience, trust) as response:
            if response.status not in _REDIRECTS:
                return _read(link, response, limit_bytes, progress)
            target = _header(response, b"location")
        if not target:
            raise SourceRefused("http_error", f"The server answered {_status(response.status)} without an address.")
        link = read_link(target, link.url)
    raise SourceRefused("http_error", f"The address was redirected more than {MAX_REDIRECTS} times.")


def _addresses(link: Link, allow: tuple[Network, ...], resolver: Resolver, stop: Stop, deadline: Deadline) -> list[str]:
    from crag.library.connection import wait_for

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
        raise into_own_network()
    return addresses


@contextmanager
def _get(
    link: Link, addresses: list[str], stop: Stop, deadline: Deadline, patience: Patience, trust: ssl.SSLContext | None
) -> Iterator[httpcore.Response]:
    """One request, its errors translated; no proxies, no cookies, no retries."""
    import httpcore

    from crag.library.connection import Connector

    connector = Connector(addresses, stop, deadline)
    address = httpcore.URL(scheme=link.scheme, host=link.host, port=link.port, target=link.target)
    headers = [("Host", link.authority), *_HEADERS.items()]
    waits = {"connect": patience.connect, "read": patience.read, "write": patience.read, "pool": patience.connect}
    context = trust or httpcore.default_ssl_context()
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
    if deadline.passed:  # a body without a stated length ends in silence when the line is cut
        raise _refusal(link, TimeoutError(), deadline)


def _refusal(link: Link, error: Exception, deadline: Deadline) -> SourceRefused:
    import httpcore

    if isinstance(error.__cause__, ssl.SSLError) or isinstance(error.__context__, ssl.SSLError):
        return SourceRefused("unreachable", f"{link.host} could not prove who it is (its TLS certificate was refused).")
    if isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout) and not deadline.passed:
        return SourceRefused("unreachable", f"{link.host} does not answer.", "Check the address and your connection.")
    if deadline.passed or isinstance(error, httpcore.TimeoutException):
        return SourceRefused("too_slow", f"{link.host} sent its answer too slowly.", "Try again later.")
    return SourceRefused("unreachable", f"{link.host} broke off or sent something that is not a web page.")


def _read(
    link: Link, response: httpcore.Response, limit_bytes: int, progress: Callable[[Progress], None] | None
) -> Fetched:
    _check_status(response.status)
    content_type, charset = _content_type(response)
    stated = _header(response, b"content-length")
    size = int(stated) if stated.isascii() and stated.isdigit() else 0
    if size > limit_bytes:
        raise _too_large(limit_bytes)
    body = bytearray()
    for piece in _decoded(response, _header(response, b"content-encoding").lower()):
        body += piece
        if len(body) > limit_bytes:
            raise _too_large(limit_bytes)
        if progress:
            progress(Progress("Fetching", len(body), max(size, len(body)) if size else 0))
    return Fetched(link.url, content_type, charset, bytes(body))


def _check_status(status: int) -> None:
    if status in (401, 403, 407):
        raise SourceRefused(
            "http_error", f"The page answered {_status(status)}: it wants a login.", "Save it and add the file."
        )
    if not 200 <= status < 300:
        raise SourceRefused("http_error", f"The page answered {_status(status)} and was not added.")


def _content_type(response: httpcore.Response) -> tuple[str, str | None]:
    message = Message()
    message["content-type"] = _header(response, b"content-type")
    stated = message["content-type"] or ""
    content_type = message.get_content_type() if "/" in stated else ""
    if not content_type.startswith("text/") and content_type not in _CONTENT_TYPES:
        raise SourceRefused(
            "unsupported", f"The address holds {content_type}, which cannot be read.", "Add a page, a PDF or a text."
        )
    return content_type, message.get_content_charset()


def _decoded(response: httpcore.Response, encoding: str) -> Iterator[bytes]:
    """The body in pieces of bounded size, however well it was compressed."""
    pieces: Iterable[bytes] = response.iter_stream()
    if encoding in ("", "identity"):
        yield from pieces
        return
    if encoding not in ("gzip", "x-gzip"):
        raise SourceRefused("unsupported", "The page is compressed in a way that was not asked for.")
    inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        for piece in pieces:
            rest = piece
            while rest and not inflater.eof:
                yield inflater.decompress(rest, _PIECE)
                rest = inflater.unconsumed_tail
    except zlib.error as error:
        raise SourceRefused("corrupt", "The page arrived damaged.", "Try again later.") from error


def _header(response: httpcore.Response, name: bytes) -> str:
    """A header's value; repeated ones are joined as RFC 9110, section 5.3, says, and then not understood."""
    return ", ".join(value.decode("latin-1") for key, value in response.headers if key.lower() == name).strip()


def _status(status: int) -> str:
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)


def _too_large(limit_bytes: int) -> SourceRefused:
    limit = f"{limit_bytes / 1_048_576:,.0f} MB" if limit_bytes >= 1_048_576 else f"{limit_bytes:,} bytes"
    return SourceRefused("too_large", f"The page is larger than the limit of {limit}.")
