"""No page, sitemap or robots.txt of a site leads its reader into the machine's own network."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from functools import partial

import pytest

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.addresses import Resolver, resolve_host
from crag.ingest.fetch import fetch
from crag.ingest.site import SiteLimits, crawl_site
from tests.doubles.ledger import ListLedger
from tests.doubles.web import Canary, WebServer, serving

# The site is reached by this address alone, so that the canary beside it, at the same port, stays forbidden.
SERVER = (ipaddress.ip_network("127.0.0.77/32"),)

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.77"])


@pytest.fixture
def web() -> Iterator[WebServer]:
    try:
        with serving(host="127.0.0.77") as server:
            yield server
    except OSError:
        pytest.skip("this system gives loopback one address only")


@pytest.fixture
def canary(web: WebServer) -> Iterator[Canary]:
    listener = Canary(web.port)
    yield listener
    assert listener.hits() == 0
    listener.close()


def visit(start: str, resolver: Resolver = resolve_host, **limits: object) -> dict[str, str]:
    """What became of each address: `read`, or the words of its refusal."""
    get = partial(fetch, allow=SERVER, limit_bytes=100_000, stop=Cancellation(), ledger=ListLedger(), resolver=resolver)
    pages = crawl_site(start, SiteLimits(**limits), get, Cancellation(), lambda _: None)
    results = ((page.url, page.result) for page in pages)
    return {url: result.message if isinstance(result, SourceRefused) else "read" for url, result in results}


def inside(canary: Canary) -> list[str]:
    hosts = ["127.0.0.1", "localhost", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "x.localhost"]
    return [f"http://{host}:{canary.port}/" for host in hosts]


def sitemap(*locations: str, root: str = "urlset", entry: str = "url") -> bytes:
    entries = "".join(f"<{entry}><loc>{location}</loc></{entry}>" for location in locations)
    return f"<{root}>{entries}</{root}>".encode()


def changing_its_mind(times: int) -> Resolver:
    """A name that leads to the site so many times, and inside from then on."""
    answers = iter([["127.0.0.77"]] * times)
    return lambda host, port: next(answers, ["127.0.0.1"])


def test_links_to_inner_addresses_are_not_followed(web: WebServer, canary: Canary) -> None:
    web.page("/", "".join(f'<a href="{url}">x</a>' for url in inside(canary)).encode())
    assert visit(web.url("/"), depth=3) == {web.url("/"): "read"}


def test_a_link_of_the_site_whose_name_leads_inside_meanwhile_is_refused_and_told(
    web: WebServer, canary: Canary
) -> None:
    web.page("/", b'<a href="/a">x</a>')
    start, link = web.url("/", host="pages.test"), web.url("/a", host="pages.test")
    became = visit(start, changing_its_mind(2))
    assert (became[start], "own network" in became[link]) == ("read", True)


def test_a_page_of_the_site_that_is_sent_on_inside_is_refused_and_told(web: WebServer, canary: Canary) -> None:
    web.page("/", b'<a href="/a">x</a><a href="/b">x</a>')
    web.redirect("/a", f"http://127.0.0.1:{canary.port}/")
    web.redirect("/b", "file:///etc/hosts")
    became = visit(web.url("/"))
    assert "own network" in became[web.url("/a")]
    assert "http://" in became[web.url("/b")]


def test_robots_txt_that_is_sent_on_inside_closes_the_site(web: WebServer, canary: Canary) -> None:
    web.page("/", b"words")
    web.redirect("/robots.txt", f"http://127.0.0.1:{canary.port}/robots.txt")
    (words,) = visit(web.url("/")).values()
    assert ("robots.txt" in words, "own network" in words) == (True, True)
    assert [path for _, path in web.seen] == ["/robots.txt"]


def test_sitemaps_that_name_inner_addresses_are_read_without_them(web: WebServer, canary: Canary) -> None:
    named = "".join(f"Sitemap: {url}\n" for url in inside(canary))
    web.page("/robots.txt", f"{named}Sitemap: /index.xml".encode())
    web.page("/", b"words")
    index = sitemap("/pages.xml", *inside(canary), root="sitemapindex", entry="sitemap")
    web.page("/index.xml", index, content_type="text/xml")
    web.page("/pages.xml", sitemap("/a", "/b", *inside(canary)), content_type="text/xml")
    web.page("/a", b"words")
    web.redirect("/b", f"http://127.0.0.1:{canary.port}/")
    became = visit(web.url("/"), sitemap=True)
    assert list(became) == [web.url("/"), web.url("/a"), web.url("/b")]
    assert "own network" in became[web.url("/b")]


@pytest.mark.parametrize("part", ["SYSTEM", "PUBLIC 'x'"])
def test_a_sitemap_fetches_nothing_while_it_is_read(web: WebServer, canary: Canary, part: str) -> None:
    entity = f"<!DOCTYPE urlset {part} 'http://127.0.0.1:{canary.port}/d' [<!ENTITY e {part} '{inside(canary)[0]}'>]>"
    web.page("/s.xml", entity.encode() + sitemap("/a", "&e;"), content_type="text/xml")
    web.page("/a", b"words")
    assert visit(web.url("/s.xml")) == {web.url("/a"): "read"}
