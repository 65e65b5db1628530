"""Web addresses: URL parsing, and the public, private and allowed networks that may be reached."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from crag.errors import SourceRefused
from crag.settings import Network

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # NAT64, RFC 6052
_WEB_PORTS = (80, 443)  # the only ones allowed below 1024, the system ports of RFC 6335
# Databases, model servers, chat, mail and administration; see also WHATWG Fetch, "port blocking".
# fmt: off
_SERVICE_PORTS = frozenset({
    1433, 1521, 1723, 2049, 2375, 2376, 2379, 3306, 3389, 4045, 5060, 5061, 5432, 5672, 5900, 5984, 6000, 6379,
    6443, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 8501, 9042, 9092, 9200, 9300, 10080, 10250, 11211, 11434, 27017,
})
# fmt: on


_PROBE_SECONDS = 2.0


def resolve_host(host: str, port: int) -> list[str]:
    """Return every address that the system resolver knows for `host`. Raises `OSError` or `UnicodeError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_reachable(url: str) -> bool:
    """Return whether the server of this URL accepts a connection within two seconds. Nothing is sent."""
    link = parse_url(url)
    try:
        with socket.create_connection((link.host, link.port), _PROBE_SECONDS):
            return True
    except OSError:
        return False


def may_reach(addresses: Iterable[str], port: int, allow: tuple[Network, ...]) -> bool:
    """Return whether all `addresses` may be connected to at `port`; False if there are none.

    Ports of other services (databases, model servers, mail, …) are allowed in allowed networks only.
    """
    judged = [_may_reach_address(address, port, allow) for address in addresses]
    return bool(judged) and all(judged)


def is_service_port(port: int) -> bool:
    """Return whether the port usually belongs to a service other than a web server."""
    return port in _SERVICE_PORTS or (port < 1024 and port not in _WEB_PORTS)


def _may_reach_address(text: str, port: int, allow: tuple[Network, ...]) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if any(address in network for network in allow):
        return True
    if is_service_port(port) or str(address) in _own_addresses():
        return False
    return _is_public(address) and all(map(_is_public, _embedded_ipv4(address)))


def _is_public(address: IPAddress) -> bool:
    """Return whether the address is public.

    `is_global` alone is also true for multicast, site-local, 6to4, IPv4-compatible (reserved) and NAT64 addresses.
    """
    # 6to4 is deprecated by RFC 7526.
    if isinstance(address, ipaddress.IPv6Address) and (address.is_site_local or address.sixtofour):
        return False
    return address.is_global and not (address.is_multicast or (address.is_reserved and address not in _NAT64))


def _embedded_ipv4(address: IPAddress) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 address that a NAT64 address leads to (RFC 6052)."""
    return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)] if address in _NAT64 else []


def _own_addresses() -> set[str]:
    """Return this machine's own addresses: one of its services may listen on a public address."""
    import psutil

    return {entry.address for interface in psutil.net_if_addrs().values() for entry in interface}


MAX_URL_LENGTH = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_PRIVATE_HOST = re.compile(r"(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa)\.?$")
_VIDEO_HOST = re.compile(
    r"(^|\.)(youtube\.com|youtube-nocookie\.com|youtu\.be|yt\.be|y2u\.be|vimeo\.com|vimeopro\.com|dailymotion\.com|dai\.ly"
    r"|twitch\.tv|tiktok\.com|fb\.watch|bilibili\.com|b23\.tv|nicovideo\.jp|nico\.ms|youku\.com|rumble\.com)\.?$"
)


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """A parsed URL as it will be requested: `host` in ASCII without brackets, `target` with path and query."""

    url: str
    scheme: str
    host: str
    port: int
    target: bytes

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_private_name(self) -> bool:
        """Whether the name alone shows that the host is in a private network (RFC 6762, RFC 8375, RFC 9476)."""
        return bool(_PRIVATE_HOST.search(self.host)) or "." not in self.host.rstrip(".")


def parse_url(url: str, base: str | None = None) -> ParsedUrl:
    """Parse `url`, relative to `base` if given. Raises `SourceRefused` (`blocked_url`, `unsupported`).

    The parsed form is both checked and requested, so that no second parser can see another host in the URL.
    """
    import httpx

    _check_characters(url)
    try:
        parsed = httpx.URL(base).join(url) if base else httpx.URL(url)
        host = parsed.raw_host.decode("ascii").lower()
    except (httpx.InvalidURL, UnicodeError) as error:
        raise _malformed_url_refusal() from error
    if parsed.scheme not in DEFAULT_PORTS:
        raise SourceRefused("blocked_url", "Only addresses that begin with http:// or https:// can be added.")
    if parsed.userinfo:
        raise SourceRefused("blocked_url", "This address contains a user name or password, so it was not fetched.")
    port = DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port
    if not _is_host(host) or not 0 < port < 65536:
        raise _malformed_url_refusal()
    if _VIDEO_HOST.search(host):
        raise SourceRefused("unsupported", "This is a video page, and videos cannot be read.", "Add its transcript.")
    return ParsedUrl(str(parsed.copy_with(fragment=None)), parsed.scheme, host, port, parsed.raw_path)


def is_safe_link(url: str, allow: tuple[Network, ...]) -> bool:
    """Return whether an untrusted URL may be shown as a link: it leads to the public web or into `allow`.

    Resolves nothing: only fetching reveals a name that resolves to a private address.
    """
    try:
        link = parse_url(url)
    except SourceRefused as refused:
        return refused.code == "unsupported"  # a video, which cannot be read but can be opened
    address = _ip_of_host(link.host)
    return may_reach([address], link.port, allow) if address else not link.is_private_name


def _ip_of_host(host: str) -> str:
    """Return the IP address that a host denotes in any spelling browsers accept; empty for a name."""
    try:
        return str(ipaddress.ip_address(host)) if ":" in host else socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))
    except (OSError, ValueError):
        return ""


def private_network_refusal() -> SourceRefused:
    """Return the refusal for a URL that leads to this machine or its network."""
    return SourceRefused(
        "blocked_url",
        "This address is in your own network, so it was not fetched.",
        "To allow it, add its network to CRAG_ALLOW_PRIVATE_URLS.",
    )


def service_port_refusal(port: int) -> SourceRefused:
    """Return the refusal for a URL with the port of another service."""
    return SourceRefused("blocked_url", f"Port {port} belongs to another service, so this address was not fetched.")


def _check_characters(url: str) -> None:
    if len(url) > MAX_URL_LENGTH:
        raise SourceRefused(
            "blocked_url", f"This address is longer than {MAX_URL_LENGTH:,} characters and was not fetched."
        )
    if "\\" in url or any(ord(character) < 33 or ord(character) == 127 for character in url):
        raise _malformed_url_refusal()


def _is_host(host: str) -> bool:
    if ":" not in host:
        return len(host) <= 253 and bool(_HOST.fullmatch(host))
    try:
        return ipaddress.IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _malformed_url_refusal() -> SourceRefused:
    return SourceRefused(
        "blocked_url", "This is not a valid web address.", "Paste one such as https://example.com/page."
    )
