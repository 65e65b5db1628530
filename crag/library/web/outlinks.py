"""Links of a page or a sitemap, parsed in a child process that can be killed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from crag.errors import SourceRefused
from crag.library.parse.limits import Limits
from crag.library.parse.process import deadline, running
from crag.library.web.links import Link, read_link
from crag.library.web.response import Fetched
from crag.stopping import Stop

_LIMITS = Limits(seconds=20.0, inflated=50 * 1024 * 1024)  # inflated: sitemaps.org, “File size limits”
_LONGEST_ANSWER = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outlinks:
    """The URLs that a page links to; for a sitemap (`is_sitemap`) its pages and its nested sitemaps."""

    pages: tuple[Link, ...] = ()
    sitemaps: tuple[Link, ...] = ()
    is_sitemap: bool = False


def read_outlinks(fetched: Fetched, stop: Stop) -> Outlinks:
    """Return the page's URLs in order without repetitions, parsed in a child process that can be killed.

    Returns none if the page is damaged or has no links. Raises `Stopped`.
    """
    try:
        reply = _ask(fetched, stop)
    except SourceRefused:  # empty, or larger than any page
        return Outlinks()
    base = _base(reply.get("base", ""), fetched.url_final)
    pages, sitemaps = (_links(reply.get(kind, ()), base) for kind in ("pages", "sitemaps"))
    return Outlinks(pages, sitemaps, reply.get("is_sitemap", False))


def _ask(fetched: Fetched, stop: Stop) -> dict[str, Any]:
    """Return the child's reply; empty if it ended without one."""
    request = {"charset": fetched.charset}
    with (
        running("crag.library.parse.outlinks", request, fetched.body, _LIMITS, stop) as child,
        deadline(child, _LIMITS.seconds),
    ):
        assert child.stdout  # noqa: S101 — opened as a pipe
        line = child.stdout.readline(_LONGEST_ANSWER)
    try:
        reply: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return reply


def _base(stated: str, url: str) -> str:
    """Return the URL that relative URLs refer to (HTML, section 4.2.3)."""
    try:
        return read_link(stated, url).url if stated else url
    except SourceRefused:
        return url


def _links(addresses: Iterable[str], base: str) -> tuple[Link, ...]:
    links: dict[str, Link] = {}
    for address in addresses:
        with suppress(SourceRefused):  # mail addresses, scripts, videos
            link = read_link(address, base)
            links[link.url] = link
    return tuple(links.values())
