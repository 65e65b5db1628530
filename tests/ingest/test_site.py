"""Crawling a site: which pages are visited, in which order, and none in the machine's own network."""

from __future__ import annotations

import gzip
import ipaddress
import threading
from collections.abc import Iterable, Iterator
from functools import partial

import pytest

from crag.cancellation import Cancellation
from crag.errors import BadRequest, SourceRefused, Stopped
from crag.ingest.addresses import Resolver, resolve_host
from crag.ingest.fetch import fetch
from crag.ingest.site import CrawledPage, SiteLimits, crawl_site
from crag.types import Progress
from tests.doubles.outbound_log import ListOutboundLog
from tests.doubles.web import Canary, Handler, WebServer

LOOPBACK = (ipaddress.ip_network("127.0.0.1/32"),)
USUAL = SiteLimits()
HERE = {"resolver": lambda host, port: ["127.0.0.1"]}

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.77"])

# The site is reached by this address alone, so that the canary beside it, at the same port, stays forbidden.
SERVER = (ipaddress.ip_network("127.0.0.77/32"),)


def links(*targets: str) -> bytes:
    return "".join(f'<p>words</p><a href="{target}">there</a>' for target in targets).encode()


def visit(
    start: str,
    limits: SiteLimits = USUAL,
    stop: Cancellation | None = None,
    seen: list[Progress] | None = None,
    **options: object,
) -> Iterator[CrawledPage]:
    stop = stop or Cancellation()
    given = {"allow": LOOPBACK, "limit_bytes": 200_000, "stop": stop, "outbound_log": ListOutboundLog()}
    get = partial(fetch, **(given | options))
    return crawl_site(start, limits, get, stop, [].append if seen is None else seen.append)


def paths(pages: Iterable[CrawledPage]) -> list[str]:
    """Where each page is, one that was refused in brackets."""
    found = [(page.result, "/" + page.url.split("/", 3)[-1]) for page in pages]
    return [f"({path})" if isinstance(result, SourceRefused) else path for result, path in found]


def refusals(pages: Iterable[CrawledPage]) -> list[SourceRefused]:
    return [page.result for page in pages if isinstance(page.result, SourceRefused)]


def asked(web: WebServer) -> list[str]:
    return [path for _, path in web.seen if path != "/robots.txt"]


def sitemap(*locations: str, tag: str = "url") -> bytes:
    root = {"url": "urlset", "sitemap": "sitemapindex"}[tag]
    body = "".join(f"<{tag}><loc>\n {location} </loc></{tag}>" for location in locations)
    return f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{body}</{root}>'.encode()


def test_a_page_and_what_it_links_to_nearest_first_each_once(web):
    web.page("/", links("a", "/b?x=1#part", "/b?x=1", "a#top", "/"))
    web.page("/a", links("/c", "/"))
    web.page("/b", links("/c", "/d"))
    for path in ("/c", "/d"):
        web.page(path, b"words")
    assert paths(visit(web.url("/"))) == ["/", "/a", "/b?x=1"]
    web.seen.clear()
    assert paths(visit(web.url("/"), SiteLimits(depth=2))) == ["/", "/a", "/b?x=1", "/c", "/d"]
    assert asked(web) == ["/", "/a", "/b?x=1", "/c", "/d"]
    assert paths(visit(web.url("/"), SiteLimits(depth=0))) == ["/"]


def test_pages_are_fetched_only_as_they_are_taken_and_handed_on(web):
    web.page("/", links("/a"))
    web.page("/a", b"the page")
    pages = visit(web.url("/"))
    next(pages)
    assert asked(web) == ["/"]
    found = next(pages)
    assert (found.url, found.result.body) == (web.url("/a"), b"the page")
    assert asked(web) == ["/", "/a"]


def test_the_count_ends_it_and_is_told(web):
    seen: list[Progress] = []
    web.page("/", links(*(f"/{n}" for n in range(100))))
    assert len(list(visit(web.url("/"), SiteLimits(pages=7), seen=seen))) == 7
    assert len(asked(web)) == 7
    assert [(step.done, step.total) for step in seen] == [(1, 1), *((n, 7) for n in range(2, 8))]


@pytest.mark.parametrize(("depth", "pages"), [(4, 50), (-1, 50), (1, 0), (1, 501)])
def test_limits_beyond_the_greatest_are_refused(depth, pages):
    with pytest.raises(BadRequest):
        SiteLimits(depth, pages)


def test_only_this_site_and_only_what_may_be_a_document(web):
    elsewhere = ["http://127.0.0.1:9/", "https://127.0.0.1/", "http://other.test/", "mailto:a@b.c", "javascript:x()"]
    files = ["/a.png", "/b.ZIP?x=1", "/c.css", "https://youtu.be/x", "//[bad", "/d e", "\t/f\n", "/paper.pdf"]
    web.page("/", links(*elsewhere, *files))
    assert paths(visit(web.url("/"))) == ["/", "(/d%20e)", "(/f)", "(/paper.pdf)"]


def test_www_makes_no_other_site_and_another_port_does(web):
    web.page("/", links(web.url("/a", host="www.pages.test"), "http://pages.test/b", web.url("/", "www.pages.test")))
    web.page("/a", b"words")
    assert paths(visit(web.url("/", host="pages.test"), **HERE)) == ["/", "/a"]


def test_what_only_tells_visitors_apart_is_dropped(web):
    web.page("/", links("/a?utm_source=x&utm_medium=y", "/a?fbclid=1#z", "/a?id=2&gclid=3", "/a?id=2"))
    web.page("/a", b"words")
    assert paths(visit(web.url("/"))) == ["/", "/a", "/a?id=2"]


def test_links_resolve_against_base_and_redirect(web):
    web.redirect("/old", "/deep/er/page")
    web.page("/deep/er/page", b'<base href="../up/">' + links("a"))
    web.page("/deep/up/a", b"words")
    assert paths(visit(web.url("/old"))) == ["/old", "/deep/up/a"]


def test_a_page_that_two_addresses_lead_to_is_read_once(web):
    web.page("/", links("/old", "/older", "/new", "/home"))
    for path, target in (("/old", "/new"), ("/older", "/new"), ("/home", "/")):
        web.redirect(path, target)
    web.page("/new", b"words")
    assert paths(visit(web.url("/"))) == ["/", "/old"]


def test_a_page_that_fails_is_told_and_the_rest_goes_on(web):
    web.page("/", links("/gone", "/film", "/a"))
    web.page("/film", b"x", content_type="video/mp4")
    web.page("/a", b"words")
    pages = list(visit(web.url("/")))
    assert paths(pages) == ["/", "(/gone)", "(/film)", "/a"]
    assert [refused.code for refused in refusals(pages)] == ["http_error", "unsupported"]
    (only,) = refusals(visit("http://user@example.com/"))
    assert only.code == "blocked_url"


def test_a_link_that_is_sent_on_to_another_site_is_not_added(web):
    web.page("/", links("/away"))
    web.redirect("/away", web.url("/", host="other.test"))
    (away,) = refusals(visit(web.url("/", host="pages.test"), **HERE))
    assert (away.code, "other.test" in away.message) == ("blocked_url", True)


def test_the_site_is_where_the_first_page_leads(web):
    web.redirect("/start", web.url("/home", host="pages.test"))
    web.page("/home", links("/a"))
    web.page("/a", b"words")
    assert paths(visit(web.url("/start", host="short.test"), **HERE)) == ["/start", "/a"]


def test_robots_txt_is_asked_once_obeyed_and_named(web):
    web.page("/robots.txt", b"User-agent: *\nDisallow: /\n\nUser-agent: crag-chat\nDisallow: /private/*.html$\n")
    web.page("/", links("/private/a.html", "/private/b", "/c"))
    web.page("/private/b", b"words")
    web.redirect("/c", "/private/d.html")
    web.page("/private/d.html", b"words")
    pages = list(visit(web.url("/")))
    assert paths(pages) == ["/", "(/private/a.html)", "/private/b", "(/c)"]
    assert all("robots.txt" in refused.message for refused in refusals(pages))
    assert [path for _, path in web.seen].count("/robots.txt") == 1
    assert "/private/a.html" not in asked(web)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_site_without_robots_txt_allows_all(web, status):
    web.page("/robots.txt", b"User-agent: *\nDisallow: /", status=status)
    web.page("/", b"words")
    assert paths(visit(web.url("/"))) == ["/"]


def test_a_site_that_cannot_tell_its_rules_is_left_alone(web):
    web.page("/robots.txt", b"", status=503)
    web.page("/", b"words")
    (found,) = refusals(visit(web.url("/")))
    assert ("503" in found.message, asked(web)) == (True, [])


def test_robots_txt_may_ask_for_pauses_of_at_most_five_seconds(web):
    web.page("/robots.txt", b"User-agent: *\nCrawl-delay: 86400")
    web.page("/", b"words")
    waited: list[float] = []
    stop = Cancellation()
    stop.wait = lambda seconds: bool(waited.append(seconds))
    assert paths(visit(web.url("/"), stop=stop)) == ["/"]
    assert waited == [5.0]


def test_stop_ends_a_pause_at_once(web, monkeypatch):
    monkeypatch.setattr("crag.ingest.site._MAX_DELAY_SECONDS", 3600.0)
    web.page("/robots.txt", b"User-agent: *\nCrawl-delay: 3600")
    stop = Cancellation()
    threading.Timer(0.2, stop.cancel).start()
    with pytest.raises(Stopped):
        list(visit(web.url("/"), stop=stop))


def test_a_sitemap_leads_to_its_pages_and_is_not_added(web):
    web.page("/sitemap.xml", sitemap(web.url("/a"), web.url("/b"), "http://other.test/"), content_type="text/xml")
    web.page("/a", links("/c"))
    web.page("/b", b"words")
    assert paths(visit(web.url("/sitemap.xml"))) == ["/a", "/b"]


def test_an_index_of_compressed_sitemaps_is_followed(web):
    web.page("/index.xml", sitemap(web.url("/1.xml.gz"), web.url("/2.xml"), tag="sitemap"), content_type="text/xml")
    web.page("/1.xml.gz", gzip.compress(sitemap(web.url("/a"))), content_type="application/x-gzip")
    web.page("/2.xml", sitemap(web.url("/b")), content_type="application/xml")
    for path in ("/a", "/b"):
        web.page(path, b"words")
    assert paths(visit(web.url("/index.xml"))) == ["/a", "/b"]


def test_the_sitemap_of_the_site_is_read_where_that_is_wanted(web):
    web.page("/robots.txt", f"Sitemap: {web.url('/s.xml')}\nSitemap: nonsense://x".encode())
    web.page("/s.xml", sitemap(web.url("/b"), web.url("/c")), content_type="text/xml")
    web.page("/", links("/a", "/b"))
    for path in ("/a", "/b", "/c"):
        web.page(path, b"words")
    assert paths(visit(web.url("/"))) == ["/", "/a", "/b"]
    assert paths(visit(web.url("/"), SiteLimits(sitemap=True))) == ["/", "/a", "/b", "/c"]
    assert paths(visit(web.url("/"), SiteLimits(depth=0, sitemap=True))) == ["/", "/b", "/c"]


def test_an_undeclared_sitemap_is_sought_in_the_usual_place(web):
    web.page("/deep/page", b"words")
    pages = list(visit(web.url("/deep/page"), SiteLimits(sitemap=True)))
    assert paths(pages) == ["/deep/page", "(/sitemap.xml)"]


def test_endless_sitemaps_and_bombs_come_to_an_end(web):
    def more(handler: Handler) -> None:
        names = (web.url(f"{handler.path}{n}") for n in range(50))
        handler.reply(sitemap(*names, tag="sitemap"), content_type="text/xml")

    web.scripts["/s"] = more
    for n in range(50):
        web.scripts[f"/s{n}"] = more
    assert list(visit(web.url("/s"))) == []
    assert len(asked(web)) <= 21
    bomb = sitemap(web.url("/a")).replace(b"</urlset>", b" " * 60_000_000)
    web.page("/bomb.xml.gz", gzip.compress(bomb), content_type="application/gzip")
    web.page("/a", b"words")
    assert paths(visit(web.url("/bomb.xml.gz"), limit_bytes=1_000_000)) == ["/a"]


def test_entities_of_a_sitemap_are_not_expanded(web):
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    declared = f'<!DOCTYPE x [<!ENTITY a0 "{web.url("/a")}">{entities}<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    body = sitemap(web.url("/b"), "&a0;", "&f;", "&a9;").replace(b"?>", b"?>" + declared.encode(), 1)
    web.page("/s.xml", body, content_type="text/xml")
    web.page("/b", b"words")
    assert paths(visit(web.url("/s.xml"))) == ["/b"]


@pytest.fixture
def canary(guarded_web):
    listener = Canary(guarded_web.port)
    yield listener
    assert listener.hits() == 0
    listener.close()


def outcomes(start: str, resolver: Resolver = resolve_host, **limits: object) -> dict[str, str]:
    """The result for each address: `read`, or the message of its refusal."""
    get = partial(
        fetch, allow=SERVER, limit_bytes=100_000, stop=Cancellation(), outbound_log=ListOutboundLog(), resolver=resolver
    )
    pages = crawl_site(start, SiteLimits(**limits), get, Cancellation(), lambda _: None)
    results = ((page.url, page.result) for page in pages)
    return {url: result.message if isinstance(result, SourceRefused) else "read" for url, result in results}


def inside(canary: Canary) -> list[str]:
    hosts = ["127.0.0.1", "localhost", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "x.localhost"]
    return [f"http://{host}:{canary.port}/" for host in hosts]


def bare_sitemap(*locations: str, root: str = "urlset", entry: str = "url") -> bytes:
    entries = "".join(f"<{entry}><loc>{location}</loc></{entry}>" for location in locations)
    return f"<{root}>{entries}</{root}>".encode()


def changing_its_mind(times: int) -> Resolver:
    """A name that leads to the site so many times, and inside from then on."""
    answers = iter([["127.0.0.77"]] * times)
    return lambda host, port: next(answers, ["127.0.0.1"])


def test_links_to_inner_addresses_are_not_followed(guarded_web, canary):
    guarded_web.page("/", "".join(f'<a href="{url}">x</a>' for url in inside(canary)).encode())
    assert outcomes(guarded_web.url("/"), depth=3) == {guarded_web.url("/"): "read"}


def test_a_link_that_now_resolves_inside_is_refused(guarded_web, canary):
    guarded_web.page("/", b'<a href="/a">x</a>')
    start, link = guarded_web.url("/", host="pages.test"), guarded_web.url("/a", host="pages.test")
    became = outcomes(start, changing_its_mind(2))
    assert (became[start], "own network" in became[link]) == ("read", True)


def test_a_page_that_redirects_inside_is_refused(guarded_web, canary):
    guarded_web.page("/", b'<a href="/a">x</a><a href="/b">x</a>')
    guarded_web.redirect("/a", f"http://127.0.0.1:{canary.port}/")
    guarded_web.redirect("/b", "file:///etc/hosts")
    became = outcomes(guarded_web.url("/"))
    assert "own network" in became[guarded_web.url("/a")]
    assert "http://" in became[guarded_web.url("/b")]


def test_robots_txt_that_is_sent_on_inside_closes_the_site(guarded_web, canary):
    guarded_web.page("/", b"words")
    guarded_web.redirect("/robots.txt", f"http://127.0.0.1:{canary.port}/robots.txt")
    (words,) = outcomes(guarded_web.url("/")).values()
    assert ("robots.txt" in words, "own network" in words) == (True, True)
    assert [path for _, path in guarded_web.seen] == ["/robots.txt"]


def test_private_addresses_in_sitemaps_are_skipped(guarded_web, canary):
    named = "".join(f"Sitemap: {url}\n" for url in inside(canary))
    guarded_web.page("/robots.txt", f"{named}Sitemap: /index.xml".encode())
    guarded_web.page("/", b"words")
    index = bare_sitemap("/pages.xml", *inside(canary), root="sitemapindex", entry="sitemap")
    guarded_web.page("/index.xml", index, content_type="text/xml")
    guarded_web.page("/pages.xml", bare_sitemap("/a", "/b", *inside(canary)), content_type="text/xml")
    guarded_web.page("/a", b"words")
    guarded_web.redirect("/b", f"http://127.0.0.1:{canary.port}/")
    became = outcomes(guarded_web.url("/"), sitemap=True)
    assert list(became) == [guarded_web.url("/"), guarded_web.url("/a"), guarded_web.url("/b")]
    assert "own network" in became[guarded_web.url("/b")]


@pytest.mark.parametrize("part", ["SYSTEM", "PUBLIC 'x'"])
def test_a_sitemap_fetches_nothing_while_it_is_read(guarded_web, canary, part):
    entity = f"<!DOCTYPE urlset {part} 'http://127.0.0.1:{canary.port}/d' [<!ENTITY e {part} '{inside(canary)[0]}'>]>"
    guarded_web.page("/s.xml", entity.encode() + bare_sitemap("/a", "&e;"), content_type="text/xml")
    guarded_web.page("/a", b"words")
    assert outcomes(guarded_web.url("/s.xml")) == {guarded_web.url("/a"): "read"}
