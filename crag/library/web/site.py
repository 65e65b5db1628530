"""Site crawler: a page and the pages it links to on its site, or the pages of a sitemap."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from crag.errors import BadRequest, SourceRefused
from crag.library.web.links import Link, read_link
from crag.library.web.outlinks import Outlinks, read_outlinks
from crag.library.web.response import Fetched
from crag.library.web.robots import Get, Robots
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress

MAX_DEPTH, MAX_PAGES = 3, 500
_MOST_SITEMAPS = 20
_MOST_WAITING = 10_000
_WITH_LINKS = ("", "text/html", "text/xml", "application/xhtml+xml", "application/xml")
_COMPRESSED = frozenset({"application/gzip", "application/x-gzip"})  # sitemaps may be compressed
_NO_DOCUMENTS = frozenset(
    """
    .7z .apk .avi .bin .bmp .bz2 .css .deb .dmg .eot .exe .flac .gif .gz .ico .iso .jar .jpeg .jpg .m4a .m4v .mkv .mov
    .mp3 .mp4 .mpeg .msi .ogg .otf .png .rar .rpm .svg .tar .tgz .tif .tiff .ttf .wasm .wav .webm .webp .wmv .woff
    .woff2 .xz .zip
    """.split()  # noqa: SIM905 — a list literal of this length would be unreadable
)
# Parameters that advertisers append to identify visitors; the page is the same without them.
_TRACKING = re.compile(r"\b(?:utm_\w+|fbclid|gclid|msclkid|mc_[ce]id|igshid)=[^&]*(?:&|$)")


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
            raise BadRequest(f"A site is read at most {MAX_DEPTH} links deep and {MAX_PAGES} pages wide.")


@dataclass(frozen=True, slots=True)
class Found:
    """A crawled page: its content, or why it was not fetched."""

    url: str
    result: Fetched | SourceRefused


def read_site(start: str, limits: SiteLimits, get: Get, stop: Stop, progress: Report) -> Iterator[Found]:
    """Crawl a site and yield its pages, nearest first, each fetched lazily and once. Raises `Stopped`.

    Every URL is on the site of `start` (same scheme, host and port; `www.` is ignored), allowed by its robots.txt, and
    fetched with `get`. A start URL that is a sitemap leads to the pages it names. `progress` counts pages.
    """
    try:
        yield from _Crawl(read_link(start), limits, get, stop, progress).pages()
    except SourceRefused as refused:  # not a valid URL
        yield Found(start, refused)


@dataclass(frozen=True, slots=True)
class _Step:
    """A queued URL, `depth` links from the start; `sitemap` means that only the URLs it names are wanted."""

    link: Link
    depth: int
    sitemap: bool = False


class _Crawl:
    """Breadth-first crawl of one site."""

    def __init__(self, start: Link, limits: SiteLimits, get: Get, stop: Stop, progress: Report) -> None:
        self._limits = limits
        self._get = get
        self._stop = stop
        self._progress = progress
        self._robots = Robots(get)
        self._site = _origin(start)
        self._waiting = deque([_Step(start, 0)])
        self._known = {_key(start)}
        self._arrived: set[str] = set()
        self._visited = self._forbidden = self._sitemaps = 0

    def pages(self) -> Iterator[Found]:
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
                    yield Found(step.link.url, refused)
            else:
                yield from self._visit(step)

    def _report(self) -> None:
        known = min(self._limits.pages, self._visited + 1 + len(self._waiting))
        self._progress(Progress("Reading the site, page", self._visited + 1, known))

    def _visit(self, step: _Step) -> Iterator[Found]:
        """Fetch a URL after the site's crawl delay, queue its links, and yield the page."""
        self._stop.wait(self._robots.delay(step.link))
        self._stop.check()
        try:
            fetched = self._fetch(step)
        except SourceRefused as refused:
            self._visited += 1
            yield Found(step.link.url, refused)
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
            yield Found(step.link.url, fetched)

    def _fetch(self, step: _Step) -> Fetched | None:
        """Fetch the URL; return None if it redirects to a page that was already read."""
        extra = _COMPRESSED if step.sitemap or step.depth == 0 else frozenset()
        fetched = self._get(step.link.url, extra_types=extra)
        final = read_link(fetched.url_final)
        if step.depth == 0:  # the site is where redirects from http to https, or to www., end
            self._site = _origin(final)
        elif _origin(final) != self._site:
            what = f"This address leads to another site, {final.host}, and was not added."
            raise SourceRefused("blocked_url", what, "Add it by itself.")
        self._robots.check(final)
        if _key(final) in self._arrived:
            return None
        self._arrived.add(_key(final))
        return fetched

    def _outlinks(self, step: _Step, fetched: Fetched) -> Outlinks:
        """Read the links of a page if they are still within the depth; else return none."""
        wanted = step.sitemap or step.depth in range(max(1, self._limits.depth))
        if wanted and fetched.content_type in (*_WITH_LINKS, *_COMPRESSED):
            return read_outlinks(fetched, self._stop)
        return Outlinks()

    def _follow(self, step: _Step, outlinks: Outlinks) -> None:
        """Queue the links of a page, and from the first page the site's sitemaps."""
        if step.depth < self._limits.depth:
            self._add(outlinks.pages, step.depth + 1)
        if step.depth == 0 and self._limits.sitemap:
            named = self._robots.sitemaps(step.link) or [read_link("/sitemap.xml", step.link.url)]
            self._add(named, self._limits.depth, sitemaps=True)

    def _add(self, links: Iterable[Link], depth: int, sitemaps: bool = False) -> None:
        """Queue the URLs that are on the site, may be documents and are not known yet."""
        for link in links:
            key = _key(link)
            fits = _origin(link) == self._site and (sitemaps or _may_be_document(link))
            if fits and key not in self._known and len(self._waiting) < _MOST_WAITING:
                if sitemaps and self._sitemaps == _MOST_SITEMAPS:
                    return
                self._sitemaps += sitemaps
                self._known.add(key)
                self._waiting.append(_Step(_without_tracking(link), depth, sitemaps))


def _origin(link: Link) -> str:
    return f"{link.scheme}://{link.host.removeprefix('www.')}:{link.port}"


def _key(link: Link) -> str:
    """Return the identity of a page."""
    return _origin(link) + _without_tracking(link).target.decode("ascii")


def _without_tracking(link: Link) -> Link:
    address, mark, query = link.url.partition("?")
    kept = _TRACKING.sub("", query).rstrip("&")
    return link if kept == query else read_link(address + (mark + kept if kept else ""))


def _may_be_document(link: Link) -> bool:
    return PurePosixPath(urlsplit(link.url).path).suffix.lower() not in _NO_DOCUMENTS
