"""What sites ask of programs that read them page by page (robots.txt, RFC 9309)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from crag.errors import SourceRefused
from crag.library.web.links import Link, read_link
from crag.library.web.response import ErrorStatus, Fetched

if TYPE_CHECKING:
    from protego import Protego

AGENT = "crag-chat"  # the name that sites know this program by
_MOST_BYTES = 2 * 1024 * 1024  # RFC 9309, section 2.5, asks for 500 KiB at least
_LONGEST_DELAY = 5.0


class Get(Protocol):
    """Fetches one address: `fetch` with everything else decided. Raises `SourceRefused`, `Stopped`."""

    def __call__(self, url: str, *, limit_bytes: int = ..., extra_types: frozenset[str] = ...) -> Fetched:
        """What it holds; `extra_types` are content types to take besides those of documents."""
        ...


class Robots:
    """The rules of every site that is asked about, each fetched once."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._rules: dict[str, Protego | SourceRefused] = {}

    def check(self, link: Link) -> None:
        """Raises `SourceRefused` where the site does not want the address read, or hides its rules; `Stopped`."""
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
        """Seconds that the site wants between two requests, at most 5."""
        rules = self._of(link)
        asked = None if isinstance(rules, SourceRefused) else rules.crawl_delay(AGENT)
        return max(0.0, min(asked or 0.0, _LONGEST_DELAY))

    def sitemaps(self, link: Link) -> list[Link]:
        """The sitemaps that the site names."""
        rules = self._of(link)
        named: list[Link] = []
        for address in () if isinstance(rules, SourceRefused) else rules.sitemaps:
            with suppress(SourceRefused):  # not an address that may be fetched
                named.append(read_link(address, link.url))
        return named

    def _of(self, link: Link) -> Protego | SourceRefused:
        origin = f"{link.scheme}://{link.authority}"
        if origin not in self._rules:
            self._rules[origin] = self._read(read_link("/robots.txt", link.url))
        return self._rules[origin]

    def _read(self, link: Link) -> Protego | SourceRefused:
        """No rules where there is no such file; where it cannot be had, nothing is allowed (RFC 9309, 2.3.1)."""
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
