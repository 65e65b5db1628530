"""Network addresses that may be fetched from: the public internet and allowed networks."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable

from crag.settings import Network

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # NAT64, RFC 6052
_WEB_PORTS = (80, 443)  # the only ones allowed below 1024, the system ports of RFC 6335
# Databases, model servers, chat, mail and administration; see also WHATWG Fetch, "port blocking".
# fmt: off
_SERVICE_PORTS = frozenset({
    1433, 1521, 1723, 2049, 2375, 2376, 2379, 3306, 3389, 4045, 5060, 5061, 5432, 5672, 5900, 5984, 6000, 6379,
    6443, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 8501, 9042, 9092, 9200, 9300, 10080, 10250, 11211, 11434, 27017,
})
# fmt: on


def resolve(host: str, port: int) -> list[str]:
    """Return every address that the system resolver knows for `host`. Raises `OSError` or `UnicodeError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def may_reach(addresses: Iterable[str], port: int, allow: tuple[Network, ...]) -> bool:
    """Return whether all `addresses` may be connected to at `port`; False if there are none.

    Ports of other services (databases, model servers, mail, …) are allowed in allowed networks only.
    """
    judged = [_may_reach(address, port, allow) for address in addresses]
    return bool(judged) and all(judged)


def is_service_port(port: int) -> bool:
    """Return whether the port usually belongs to a service other than a web server."""
    return port in _SERVICE_PORTS or (port < 1024 and port not in _WEB_PORTS)


def _may_reach(text: str, port: int, allow: tuple[Network, ...]) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if _in(address, allow):
        return True
    if is_service_port(port) or str(address) in _own_addresses():
        return False
    return _is_public(address) and all(_is_public(inner) or _in(inner, allow) for inner in _embedded(address))


def _in(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)


def _is_public(address: Address) -> bool:
    """Return whether the address is public.

    `is_global` alone is also true for multicast, site-local, 6to4, IPv4-compatible (reserved) and NAT64 addresses.
    """
    # 6to4 is deprecated by RFC 7526.
    if isinstance(address, ipaddress.IPv6Address) and (address.is_site_local or address.sixtofour):
        return False
    return address.is_global and not (address.is_multicast or (address.is_reserved and address not in _TRANSLATED))


def _embedded(address: Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 address that a NAT64 address leads to (RFC 6052)."""
    return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)] if address in _TRANSLATED else []


def _own_addresses() -> set[str]:
    """Return this machine's own addresses: one of its services may listen on a public address."""
    import psutil

    return {entry.address for interface in psutil.net_if_addrs().values() for entry in interface}
