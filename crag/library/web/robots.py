"""Rules of robots.txt (RFC 9309)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from crag.errors import SourceRefused
from crag.library.web.links import Link, read_link
from crag.library.web.response import ErrorStatus, Fetched

if TYPE_CHECKING:
    from protego import Protego

AGENT = "crag-chat"  # the product name for robots.txt and requests
_MOST_BYTES = 2 * 1024 * 1024  # RFC 9309, section 2.5, requires at least 500 KiB
_LONGEST_DELAY = 5.0


class Get(Protocol):
    """Fetches one URL: `fetch` with all other arguments bound. Raises `SourceRefused`, `Stopped`."""

    def __call__(self, url: str, *, limit_bytes: int = ..., extra_types: frozenset[str] = ...) -> Fetched:
        """Return the document; `extra_types` are content types to accept besides those of documents."""
        ...


class Robots:
    """The robots.txt rules (RFC 9309) of each site, fetched once."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._rules: dict[str, Protego | SourceRefused] = {}

    def check(self, link: Link) -> None:
        """Raise `SourceRefused` if the site disallows the URL or its rules cannot be read; `Stopped` if cancelled."""
        rules = self._of(link)
        if isinstance(rules, SourceRefused):
            raise rules
        if not rules.can_fetch(link.url, AGENT):
            raise SourceRefused(
                "blocked_url",
                "The site asks programs not to read this page (robots.txt), and it was not fetched.",
                "Add its address by itself if you may.",
            )

    def delay(self, link: Link) -> float:
        """Return the seconds that the site wants between two requests, at most 5."""
        rules = self._of(link)
        asked = None if isinstance(rules, SourceRefused) else rules.crawl_delay(AGENT)
        return max(0.0, min(asked or 0.0, _LONGEST_DELAY))

    def sitemaps(self, link: Link) -> list[Link]:
        """Return the sitemaps that the site names."""
        rules = self._of(link)
        named: list[Link] = []
        for address in () if isinstance(rules, SourceRefused) else rules.sitemaps:
            with suppress(SourceRefused):  # not a URL that may be fetched
                named.append(read_link(address, link.url))
        return named

    def _of(self, link: Link) -> Protego | SourceRefused:
        origin = f"{link.scheme}://{link.authority}"
        if origin not in self._rules:
            self._rules[origin] = self._read(read_link("/robots.txt", link.url))
        return self._rules[origin]

    def _read(self, link: Link) -> Protego | SourceRefused:
        """Read the rules of a site.

        A missing file allows everything; an unreachable one allows nothing (RFC 9309, 2.3.1).
        """
        from protego import Protego

        try:
            return Protego.parse(self._get(link.url, limit_bytes=_MOST_BYTES).body.decode("utf-8-sig", "replace"))
        except ErrorStatus as error:
            if 400 <= error.status < 500:
                return Protego.parse("")
            return _hidden(error)
        except SourceRefused as error:
            return _hidden(error)


def _hidden(error: SourceRefused) -> SourceRefused:
    what = f"Whether the site lets programs read it (robots.txt) could not be found out: {error.message}"
    return SourceRefused(error.code, what, "Try again later, or add the address by itself.")
