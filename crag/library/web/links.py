"""URL parsing and checks that need no name resolution."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from crag.errors import SourceRefused
from crag.library.web.addresses import may_reach
from crag.settings import Network

MAX_LENGTH = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_INSIDE = re.compile(r"(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa)\.?$")
_VIDEO = re.compile(
    r"(^|\.)(youtube\.com|youtube-nocookie\.com|youtu\.be|yt\.be|y2u\.be|vimeo\.com|vimeopro\.com|dailymotion\.com|dai\.ly"
    r"|twitch\.tv|tiktok\.com|fb\.watch|bilibili\.com|b23\.tv|nicovideo\.jp|nico\.ms|youku\.com|rumble\.com)\.?$"
)


@dataclass(frozen=True, slots=True)
class Link:
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
    def sounds_inside(self) -> bool:
        """Whether the name alone shows that the host is in a private network (RFC 6762, RFC 8375, RFC 9476)."""
        return bool(_INSIDE.search(self.host)) or "." not in self.host.rstrip(".")


def read_link(url: str, base: str | None = None) -> Link:
    """Parse `url`, relative to `base` if given. Raises `SourceRefused` (`blocked_url`, `unsupported`).

    The parsed form is both checked and requested, so that no second parser can see another host in the URL.
    """
    import httpx

    _check_characters(url)
    try:
        parsed = httpx.URL(base).join(url) if base else httpx.URL(url)
        host = parsed.raw_host.decode("ascii").lower()
    except (httpx.InvalidURL, UnicodeError) as error:
        raise _malformed() from error
    if parsed.scheme not in DEFAULT_PORTS:
        raise SourceRefused("blocked_url", "Only addresses that begin with http:// or https:// can be added.")
    if parsed.userinfo:
        raise SourceRefused("blocked_url", "This address holds a user name or password and was not fetched.")
    port = DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port
    if not _is_host(host) or not 0 < port < 65536:
        raise _malformed()
    if _VIDEO.search(host):
        raise SourceRefused("unsupported", "This is a video page, and videos cannot be read.", "Add its transcript.")
    return Link(str(parsed.copy_with(fragment=None)), parsed.scheme, host, port, parsed.raw_path)


def leads_outside(url: str, allow: tuple[Network, ...]) -> bool:
    """Return whether an untrusted URL may be shown as a link: it leads to the public web or into `allow`.

    Resolves nothing: only fetching reveals a name that resolves to a private address.
    """
    try:
        link = read_link(url)
    except SourceRefused as refused:
        return refused.code == "unsupported"  # a video, which cannot be read but can be opened
    address = _literal_address(link.host)
    return may_reach([address], link.port, allow) if address else not link.sounds_inside


def _literal_address(host: str) -> str:
    """Return the IP address that a host denotes in any spelling browsers accept; empty for a name."""
    try:
        return str(ipaddress.ip_address(host)) if ":" in host else socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))
    except (OSError, ValueError):
        return ""


def into_own_network() -> SourceRefused:
    """Return the refusal for a URL that leads to this machine or its network."""
    return SourceRefused(
        "blocked_url",
        "This address leads into your own network and was not fetched.",
        "To allow it, name its network in CRAG_ALLOW_PRIVATE_URLS.",
    )


def service_port(port: int) -> SourceRefused:
    """Return the refusal for a URL with the port of another service."""
    return SourceRefused(
        "blocked_url", f"Web pages are not found at port {port}, which is another service's, so it was not fetched."
    )


def _check_characters(url: str) -> None:
    if len(url) > MAX_LENGTH:
        raise SourceRefused(
            "blocked_url", f"This address is longer than {MAX_LENGTH:,} characters and was not fetched."
        )
    if "\\" in url or any(ord(character) < 33 or ord(character) == 127 for character in url):
        raise _malformed()


def _is_host(host: str) -> bool:
    if ":" not in host:
        return len(host) <= 253 and bool(_HOST.fullmatch(host))
    try:
        return ipaddress.IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _malformed() -> SourceRefused:
    return SourceRefused(
        "blocked_url", "This is not a web address that can be read.", "Paste one such as https://example.com/page."
    )
