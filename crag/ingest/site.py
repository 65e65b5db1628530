"""Site crawler: a page and its links, or the pages of a sitemap, as robots.txt (RFC 9309) allows."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from crag.cancellation import Cancellation
from crag.errors import BadRequest, SourceRefused
from crag.ingest.addresses import ParsedUrl, parse_url
from crag.ingest.http_response import FetchResult, HttpErrorStatus
from crag.ingest.parse.child_process import kill_after, run_child
from crag.ingest.parse.document import ParseLimits
from crag.types import Progress, ProgressCallback

if TYPE_CHECKING:
    from protego import Protego


USER_AGENT = "crag-chat"  # the product name for robots.txt and requests
_MAX_ROBOTS_BYTES = 2 * 1024 * 1024  # RFC 9309, section 2.5, requires at least 500 KiB
_MAX_DELAY_SECONDS = 5.0


class FetchUrl(Protocol):
    """Fetches one URL: `fetch` with all other arguments bound. Raises `SourceRefused`, `Stopped`."""

    def __call__(self, url: str, *, limit_bytes: int = ..., extra_types: frozenset[str] = ...) -> FetchResult:
        """Return the document; `extra_types` are content types to accept besides those of documents."""
        ...


class RobotsRules:
    """The robots.txt rules (RFC 9309) of each site, fetched once."""

    def __init__(self, get: FetchUrl) -> None:
        self._get = get
        self._rules: dict[str, Protego | SourceRefused] = {}

    def check(self, link: ParsedUrl) -> None:
        """Raise `SourceRefused` if the site disallows the URL or its rules cannot be read; `Stopped` if cancelled."""
        rules = self._rules_for(link)
        if isinstance(rules, SourceRefused):
            raise rules
        if not rules.can_fetch(link.url, USER_AGENT):
            raise SourceRefused(
                "blocked_url",
                "The site's robots.txt excludes this page, so it was not fetched.",
                "If you are allowed to, add its address on its own.",
            )

    def delay(self, link: ParsedUrl) -> float:
        """Return the seconds that the site wants between two requests, at most 5."""
        rules = self._rules_for(link)
        asked = None if isinstance(rules, SourceRefused) else rules.crawl_delay(USER_AGENT)
        return max(0.0, min(asked or 0.0, _MAX_DELAY_SECONDS))

    def sitemaps(self, link: ParsedUrl) -> list[ParsedUrl]:
        """Return the sitemaps that the site names."""
        rules = self._rules_for(link)
        named: list[ParsedUrl] = []
        for address in () if isinstance(rules, SourceRefused) else rules.sitemaps:
            with suppress(SourceRefused):  # not a URL that may be fetched
                named.append(parse_url(address, link.url))
        return named

    def _rules_for(self, link: ParsedUrl) -> Protego | SourceRefused:
        origin = f"{link.scheme}://{link.authority}"
        if origin not in self._rules:
            self._rules[origin] = self._read(parse_url("/robots.txt", link.url))
        return self._rules[origin]

    def _read(self, link: ParsedUrl) -> Protego | SourceRefused:
        """Read the rules of a site.

        A missing file allows everything; an unreachable one allows nothing (RFC 9309, 2.3.1).
        """
        from protego import Protego

        try:
            return Protego.parse(self._get(link.url, limit_bytes=_MAX_ROBOTS_BYTES).body.decode("utf-8-sig", "replace"))
        except HttpErrorStatus as error:
            if 400 <= error.status < 500:
                return Protego.parse("")
            return _unknown_rules_refusal(error)
        except SourceRefused as error:
            return _unknown_rules_refusal(error)


def _unknown_rules_refusal(error: SourceRefused) -> SourceRefused:
    what = f"The site's robots.txt could not be read: {error.message}"
    return SourceRefused(error.code, what, "Try again later, or add the address on its own.")


_OUTLINK_LIMITS = ParseLimits(seconds=20.0, inflated=50 * 1024 * 1024)  # inflated: sitemaps.org, “File size limits”
_MAX_REPLY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outlinks:
    """The URLs that a page links to; for a sitemap (`is_sitemap`) its pages and its nested sitemaps."""

    pages: tuple[ParsedUrl, ...] = ()
    sitemaps: tuple[ParsedUrl, ...] = ()
    is_sitemap: bool = False


def read_outlinks(fetched: FetchResult, stop: Cancellation) -> Outlinks:
    """Return the page's URLs in order without repetitions, parsed in a child process that can be killed.

    Returns none if the page is damaged or has no links. Raises `Stopped`.
    """
    try:
        reply = _run_child(fetched, stop)
    except SourceRefused:  # empty, or larger than any page
        return Outlinks()
    base = _base_url(reply.get("base", ""), fetched.url_final)
    pages, sitemaps = (_parse_links(reply.get(kind, ()), base) for kind in ("pages", "sitemaps"))
    return Outlinks(pages, sitemaps, reply.get("is_sitemap", False))


def _run_child(fetched: FetchResult, stop: Cancellation) -> dict[str, Any]:
    """Return the child's reply; empty if it ended without one."""
    request = {"charset": fetched.charset}
    with (
        run_child("crag.ingest.parse.outlinks_child", request, fetched.body, _OUTLINK_LIMITS, stop) as child,
        kill_after(child, _OUTLINK_LIMITS.seconds),
    ):
        assert child.stdout  # noqa: S101 — opened as a pipe
        line = child.stdout.readline(_MAX_REPLY_BYTES)
    try:
        reply: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return reply


def _base_url(stated: str, url: str) -> str:
    """Return the URL that relative URLs refer to (HTML, section 4.2.3)."""
    try:
        return parse_url(stated, url).url if stated else url
    except SourceRefused:
        return url


def _parse_links(addresses: Iterable[str], base: str) -> tuple[ParsedUrl, ...]:
    links: dict[str, ParsedUrl] = {}
    for address in addresses:
        with suppress(SourceRefused):  # mail addresses, scripts, videos
            link = parse_url(address, base)
            links[link.url] = link
    return tuple(links.values())


MAX_DEPTH, MAX_PAGES = 3, 500
_MAX_SITEMAPS = 20
_MAX_QUEUED = 10_000
_LINK_TYPES = ("", "text/html", "text/xml", "application/xhtml+xml", "application/xml")
_GZIP_TYPES = frozenset({"application/gzip", "application/x-gzip"})  # sitemaps may be compressed
_SKIPPED_SUFFIXES = frozenset(
    """
    .7z .apk .avi .bin .bmp .bz2 .css .deb .dmg .eot .exe .flac .gif .gz .ico .iso .jar .jpeg .jpg .m4a .m4v .mkv .mov
    .mp3 .mp4 .mpeg .msi .ogg .otf .png .rar .rpm .svg .tar .tgz .tif .tiff .ttf .wasm .wav .webm .webp .wmv .woff
    .woff2 .xz .zip
    """.split()  # noqa: SIM905 — a list literal of this length would be unreadable
)
# Parameters that advertisers append to identify visitors; the page is the same without them.
_TRACKING_PARAMETERS = re.compile(r"\b(?:utm_\w+|fbclid|gclid|msclkid|mc_[ce]id|igshid)=[^&]*(?:&|$)")


@dataclass(frozen=True, slots=True)
class SiteLimits:
    """How much of a site to read: `depth` links from the first page (0 to 3), at most `pages` pages (1 to 500).

    `sitemap` adds the pages named in the site's sitemap. Raises `BadRequest`.
    """

    depth: int = 1
    pages: int = 50
    sitemap: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.depth <= MAX_DEPTH and 1 <= self.pages <= MAX_PAGES):
            raise BadRequest(f"The limit is {MAX_DEPTH} links deep and {MAX_PAGES} pages.")


@dataclass(frozen=True, slots=True)
class CrawledPage:
    """A crawled page: its content, or why it was not fetched."""

    url: str
    result: FetchResult | SourceRefused


def crawl_site(
    start: str, limits: SiteLimits, get: FetchUrl, stop: Cancellation, progress: ProgressCallback
) -> Iterator[CrawledPage]:
    """Crawl a site and yield its pages, nearest first, each fetched lazily and once. Raises `Stopped`.

    Every URL is on the site of `start` (same scheme, host and port; `www.` is ignored), allowed by its robots.txt, and
    fetched with `get`. A start URL that is a sitemap leads to the pages it names. `progress` counts pages.
    """
    try:
        yield from _Crawl(parse_url(start), limits, get, stop, progress).pages()
    except SourceRefused as refused:  # not a valid URL
        yield CrawledPage(start, refused)


@dataclass(frozen=True, slots=True)
class _QueuedUrl:
    """A queued URL, `depth` links from the start; `sitemap` means that only the URLs it names are wanted."""

    link: ParsedUrl
    depth: int
    sitemap: bool = False


class _Crawl:
    """Breadth-first crawl of one site."""

    def __init__(
        self, start: ParsedUrl, limits: SiteLimits, get: FetchUrl, stop: Cancellation, progress: ProgressCallback
    ) -> None:
        self._limits = limits
        self._get = get
        self._stop = stop
        self._progress = progress
        self._robots = RobotsRules(get)
        self._site = _site_origin(start)
        self._waiting = deque([_QueuedUrl(start, 0)])
        self._known = {_page_key(start)}
        self._arrived: set[str] = set()
        self._visited = self._forbidden = self._sitemaps = 0

    def pages(self) -> Iterator[CrawledPage]:
        """Yield the pages, see `crawl_site`.

        Pages forbidden by robots.txt are reported too. They do not count towards the limit, and at most that many are
        reported.
        """
        while self._waiting and self._visited < self._limits.pages:
            step = self._waiting.popleft()
            self._stop.check()
            self._report()
            try:
                self._robots.check(step.link)
            except SourceRefused as refused:
                self._forbidden += 1
                if self._forbidden <= self._limits.pages:
                    yield CrawledPage(step.link.url, refused)
            else:
                yield from self._visit(step)

    def _report(self) -> None:
        known = min(self._limits.pages, self._visited + 1 + len(self._waiting))
        self._progress(Progress("Reading the site, page", self._visited + 1, known))

    def _visit(self, step: _QueuedUrl) -> Iterator[CrawledPage]:
        """Fetch a URL after the site's crawl delay, queue its links, and yield the page."""
        self._stop.wait(self._robots.delay(step.link))
        self._stop.check()
        try:
            fetched = self._fetch(step)
        except SourceRefused as refused:
            self._visited += 1
            yield CrawledPage(step.link.url, refused)
            return
        if fetched is None:
            return
        outlinks = self._outlinks(step, fetched)
        if outlinks.is_sitemap:
            self._add(outlinks.pages, self._limits.depth)
            self._add(outlinks.sitemaps, self._limits.depth, sitemaps=True)
        elif not step.sitemap:
            self._visited += 1
            self._follow(step, outlinks)
            yield CrawledPage(step.link.url, fetched)

    def _fetch(self, step: _QueuedUrl) -> FetchResult | None:
        """Fetch the URL; return None if it redirects to a page that was already read."""
        extra = _GZIP_TYPES if step.sitemap or step.depth == 0 else frozenset()
        fetched = self._get(step.link.url, extra_types=extra)
        final = parse_url(fetched.url_final)
        if step.depth == 0:  # the site is where redirects from http to https, or to www., end
            self._site = _site_origin(final)
        elif _site_origin(final) != self._site:
            what = f"This address redirects to another site, {final.host}, so it was not added."
            raise SourceRefused("blocked_url", what, "Add it on its own.")
        self._robots.check(final)
        if _page_key(final) in self._arrived:
            return None
        self._arrived.add(_page_key(final))
        return fetched

    def _outlinks(self, step: _QueuedUrl, fetched: FetchResult) -> Outlinks:
        """Read the links of a page if they are still within the depth; else return none."""
        wanted = step.sitemap or step.depth in range(max(1, self._limits.depth))
        if wanted and fetched.content_type in (*_LINK_TYPES, *_GZIP_TYPES):
            return read_outlinks(fetched, self._stop)
        return Outlinks()

    def _follow(self, step: _QueuedUrl, outlinks: Outlinks) -> None:
        """Queue the links of a page, and from the first page the site's sitemaps."""
        if step.depth < self._limits.depth:
            self._add(outlinks.pages, step.depth + 1)
        if step.depth == 0 and self._limits.sitemap:
            named = self._robots.sitemaps(step.link) or [parse_url("/sitemap.xml", step.link.url)]
            self._add(named, self._limits.depth, sitemaps=True)

    def _add(self, links: Iterable[ParsedUrl], depth: int, sitemaps: bool = False) -> None:
        """Queue the URLs that are on the site, may be documents and are not known yet."""
        for link in links:
            key = _page_key(link)
            fits = _site_origin(link) == self._site and (sitemaps or _may_be_document(link))
            if fits and key not in self._known and len(self._waiting) < _MAX_QUEUED:
                if sitemaps and self._sitemaps == _MAX_SITEMAPS:
                    return
                self._sitemaps += sitemaps
                self._known.add(key)
                self._waiting.append(_QueuedUrl(_strip_tracking(link), depth, sitemaps))


def _site_origin(link: ParsedUrl) -> str:
    return f"{link.scheme}://{link.host.removeprefix('www.')}:{link.port}"


def _page_key(link: ParsedUrl) -> str:
    """Return the identity of a page."""
    return _site_origin(link) + _strip_tracking(link).target.decode("ascii")


def _strip_tracking(link: ParsedUrl) -> ParsedUrl:
    address, mark, query = link.url.partition("?")
    kept = _TRACKING_PARAMETERS.sub("", query).rstrip("&")
    return link if kept == query else parse_url(address + (mark + kept if kept else ""))


def _may_be_document(link: ParsedUrl) -> bool:
    return PurePosixPath(urlsplit(link.url).path).suffix.lower() not in _SKIPPED_SUFFIXES
