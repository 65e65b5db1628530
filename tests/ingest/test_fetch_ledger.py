"""Every request of the fetcher is written down before it is sent, and addresses of strangers are judged as links."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

import pytest

from crag.cancellation import Cancellation
from crag.errors import HomeFault, SourceRefused
from crag.ingest.addresses import is_safe_link
from crag.ingest.fetch import fetch
from crag.ingest.site import SiteLimits
from crag.library.library import Library
from crag.settings import Settings
from crag.storage.engine import Database
from crag.storage.outbound_ledger import OutboundLog
from tests.doubles.ledger import ListLedger
from tests.doubles.library import HashEmbedder, Shelf
from tests.doubles.web import WebServer, serving

LOOPBACK = (ipaddress.ip_network("127.0.0.1/32"),)


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serving() as server:
        yield server


def get(url: str, ledger: ListLedger) -> None:
    fetch(url, allow=LOOPBACK, limit_bytes=10_000, stop=Cancellation(), ledger=ledger)


def test_each_hop_is_written_down_with_its_host_and_its_address(web: WebServer) -> None:
    ledger, host = ListLedger(), f"127.0.0.1:{web.port}"
    web.page("/new", b"<p>here</p>")
    web.redirect("/old", web.url("/new"))
    get(web.url("/old?q=a%20b#part"), ledger)
    assert ledger.entries == [
        (host, "web page", web.url("/old?q=a%20b")),
        (host, "web page", web.url("/new")),
    ]


@pytest.mark.parametrize("to", ["http://10.0.0.1/", "http://user:secret@example.org/", "file:///etc/passwd"])
def test_what_is_refused_is_not_written_down_for_it_was_not_sent(web: WebServer, to: str) -> None:
    ledger = ListLedger()
    with pytest.raises(SourceRefused):
        get(web.redirect("/away", to), ledger)
    assert [what for _, _, what in ledger.entries] == [web.url("/away")]


def test_what_cannot_be_written_down_is_not_sent(web: WebServer) -> None:
    with pytest.raises(HomeFault, match="full"):
        get(web.page("/a", b"hello"), ListLedger(HomeFault("The disk is full.")))
    assert web.seen == []


def test_a_site_leaves_one_row_for_every_request_robots_and_sitemap_too(web: WebServer, tmp_path) -> None:
    web.page("/", b'<p>Start here.</p><a href="/cats">cats</a><a href="/private">x</a>')
    web.page("/cats", b"<p>The cat sleeps on the warm roof.</p>")
    web.page("/robots.txt", b"User-agent: *\nDisallow: /private", content_type="text/plain")
    database = Database(tmp_path)
    settings = Settings(home=tmp_path, allow_private_urls=LOOPBACK)
    library = Library(database, Shelf(HashEmbedder()), lambda text: len(text.split()), settings, counter_name="words")
    list(library.add_site(web.url("/"), SiteLimits(depth=1, sitemap=True)))
    rows = OutboundLog(database).entries()
    library.close()
    database.close()
    assert sorted(row.what for row in rows) == sorted(web.url(path) for _, path in web.seen)
    assert {row.what for row in rows} >= {web.url(path) for path in ("/robots.txt", "/", "/cats", "/sitemap.xml")}
    assert web.url("/private") not in {row.what for row in rows}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost:8501/", "http://10.0.0.5/admin", "http://[::1]/", "http://127.1/",
        "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://router/", "http://wiki.corp/",
        "http://[::ffff:10.0.0.1]/", "http://169.254.169.254/latest", "http://u:p@example.org/", "file:///etc/passwd",
        "javascript:alert(1)", "//example.org/", "not an address", "", "http://exa mple.org/", "http:\\\\example.org",
    ],
)  # fmt: skip
def test_addresses_that_lead_inside_are_no_links(url: str) -> None:
    assert not is_safe_link(url, ())


@pytest.mark.parametrize(
    "url", ["https://example.org/a?b=c", "http://93.184.215.14/", "https://youtu.be/x", "https://bücher.example/"]
)
def test_public_addresses_are_links(url: str) -> None:
    assert is_safe_link(url, ())


def test_an_allowed_network_may_be_linked_to() -> None:
    assert is_safe_link("http://127.0.0.1:8000/", LOOPBACK)
    assert not is_safe_link("http://127.0.0.2:8000/", LOOPBACK)
