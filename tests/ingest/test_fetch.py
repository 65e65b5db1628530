"""The fetcher against a real server: what it returns, what it refuses, and what it logs."""

from __future__ import annotations

import gzip
import ipaddress
import ssl
import threading
import tracemalloc
from collections.abc import Callable

import pytest

from crag.cancellation import Cancellation
from crag.errors import HomeFault, SourceRefused, Stopped
from crag.ingest.addresses import is_safe_link
from crag.ingest.fetch import FetchTimeouts, fetch
from crag.ingest.http_response import FetchResult
from crag.ingest.site import SiteLimits
from crag.library.library import Library
from crag.settings import Settings
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.types import Progress
from tests.doubles.library import HashEmbedder, Shelf
from tests.doubles.outbound_log import ListOutboundLog
from tests.doubles.web import CERTIFICATE, EXPIRED, Canary, serving

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
LIMIT = 200_000

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "127.9.9.9"])

THIS_MACHINE = (ipaddress.ip_network("127.0.0.1/32"),)


def get(url: str, **options: object) -> FetchResult:
    settings = {
        "allow": LOOPBACK,
        "limit_bytes": LIMIT,
        "stop": Cancellation(),
        "outbound_log": ListOutboundLog(),
    } | options
    return fetch(url, **settings)


def refusal(url: str, **options: object) -> SourceRefused:
    with pytest.raises(SourceRefused) as caught:
        get(url, **options)
    return caught.value


def named(addresses: dict[str, list[str]]) -> Callable[[str, int], list[str]]:
    def resolver(host: str, port: int) -> list[str]:
        return addresses[host]

    return resolver


def test_a_request_says_who_asks_and_what_can_be_read(web):
    web.scripts["/a"] = lambda handler: handler.reply(b"<p>tea</p>")
    get(web.url("/a"))
    (sent,) = web.headers
    assert {*sent} == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"}
    assert sent["Accept-Encoding"] == "gzip"
    assert sent["User-Agent"].lower().startswith("crag")
    assert {"text/html", "application/pdf"} < {*sent["Accept"].split(",")}


def test_a_page_comes_with_its_type_charset_and_progress(web):
    steps: list[Progress] = []
    url = web.page("/a", b"<p>hello</p>", content_type="Text/HTML; charset=EUC-KR")
    assert get(url, progress=steps.append) == FetchResult(url, "text/html", "euc-kr", b"<p>hello</p>")
    assert steps[-1] == Progress("Fetching", 12, 12)


def test_the_host_name_is_sent_to_the_pinned_address(web):
    web.page("/a", b"hello")
    got = get(web.url("/a?q=1#part", host="pages.test"), resolver=named({"pages.test": ["127.0.0.1"]}))
    assert web.seen == [(f"pages.test:{web.port}", "/a?q=1")]
    assert got.url_final == web.url("/a?q=1", host="pages.test")


def test_the_next_address_is_tried_if_the_first_is_silent(web):
    url = web.page("/a", b"hello").replace("127.0.0.1", "pages.test")
    assert get(url, resolver=named({"pages.test": ["127.9.9.9", "127.0.0.1"]})).body == b"hello"


def test_proxies_of_the_environment_are_not_used(web, monkeypatch):
    proxy = Canary()
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{proxy.port}")
    assert get(web.page("/a", b"hello")).body == b"hello"
    with serving(CERTIFICATE) as secure:
        url = secure.page("/a", b"secret").replace("127.0.0.1", "pages.test")
        ssl_context = ssl.create_default_context(cafile=CERTIFICATE)
        assert get(url, resolver=named({"pages.test": ["127.0.0.1"]}), ssl_context=ssl_context).body == b"secret"
    assert proxy.hits() == 0
    proxy.close()


def test_redirects_are_followed_relative_ones_too(web):
    web.page("/end/page", b"here")
    web.redirect("/end/one", "page", status=308)
    assert get(web.redirect("/start", "/end/one")).url_final == web.url("/end/page")


def test_five_redirects_are_followed_and_six_are_not(web):
    web.page("/0", b"here")
    for n in range(1, 7):
        web.redirect(f"/{n}", f"/{n - 1}")
    assert get(web.url("/5")).body == b"here"
    assert refusal(web.url("/6")).code == "http_error"


def test_a_redirect_loop_and_a_redirect_to_nowhere_are_refused(web):
    assert refusal(web.redirect("/loop", "/loop")).code == "http_error"
    assert str(refusal(web.page("/lost", b"", status=302))).endswith("without an address.")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_kind_of_redirect_is_followed(web, status):
    web.page("/end", b"here")
    assert get(web.redirect("/start", "/end", status=status)).body == b"here"


def test_a_meta_refresh_is_not_followed(web):
    body = b'<meta http-equiv="refresh" content="0;url=/other">'
    assert get(web.page("/a", body)).body == body
    assert [path for _, path in web.seen] == ["/a"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 500, 503, 299 + 400])
def test_an_error_page_is_refused_with_its_status(web, status):
    refused = refusal(web.page("/a", b"some words", status=status))
    assert refused.code == "http_error"
    assert str(status) in refused.message


@pytest.mark.parametrize("content_type", ["image/png", "video/mp4", "application/zip", "font/woff2", "audio/mpeg"])
def test_what_is_no_text_is_refused_by_its_type(web, content_type):
    refused = refusal(web.page("/a", b"x", content_type=content_type))
    assert (refused.code, content_type in refused.message) == ("unsupported", True)


def test_a_page_without_a_type_is_left_to_the_parser(web):
    assert get(web.page("/a", b"x", content_type="")).content_type == ""


def test_the_limit_is_exact_and_a_stated_length_is_trusted(web):
    assert len(get(web.page("/a", b"x" * LIMIT)).body) == LIMIT
    assert refusal(web.page("/b", b"x" * (LIMIT + 1))).code == "too_large"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10737418240\r\n\r\n"
    assert refusal(web.drip("/c", b"x", 0.5, head)).code == "too_large"


def test_an_endless_body_ends_at_the_limit(web):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    assert refusal(web.drip("/a", b"x" * 50_000, 0.001, head)).code == "too_large"


def test_gzip_is_read_and_a_bomb_ends_at_the_limit(web):
    assert get(web.page("/a", gzip.compress(b"hello" * 99), Content_Encoding="gzip")).body == b"hello" * 99
    bomb = gzip.compress(bytes(100_000_000), compresslevel=9)
    assert len(bomb) < LIMIT
    tracemalloc.start()
    assert refusal(web.page("/b", bomb, Content_Encoding="gzip")).code == "too_large"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "zstd"])
def test_compression_that_was_not_asked_for_is_refused(web, encoding):
    assert refusal(web.page("/a", b"x", Content_Encoding=encoding)).code == "unsupported"


def test_damaged_gzip_is_refused(web):
    assert refusal(web.page("/a", b"no gzip at all", Content_Encoding="gzip")).code == "corrupt"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: ",
        b"",
    ],
    ids=["body", "body without length", "headers", "status line"],
)
def test_one_byte_at_a_time_ends_at_the_deadline(web, head):
    assert refusal(web.drip("/a", b"x", 0.05, head), timeouts=FetchTimeouts(total=0.5)).code == "too_slow"


def test_a_silent_server_is_given_up(web):
    assert refusal(web.drip("/a", b"", 0.05), timeouts=FetchTimeouts(read=0.3, total=3600)).code == "too_slow"


def test_endless_headers_are_refused(web):
    url = web.drip("/a", b"X-More: " + b"y" * 9000 + b"\r\n", 0.001, b"HTTP/1.1 200 OK\r\n")
    assert refusal(url).code == "unreachable"


def test_a_body_that_breaks_off_is_refused(web):
    assert refusal(web.page("/a", b"half", Content_Length="1000")).code == "unreachable"


def test_stop_ends_a_slow_fetch_at_once(web):
    stop = Cancellation()
    threading.Timer(0.2, stop.cancel).start()
    slow = web.drip("/a", b"x", 0.05, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    with pytest.raises(Stopped):
        get(slow, stop=stop, timeouts=FetchTimeouts(total=3600))


def test_a_stopped_fetch_of_a_known_length_is_not_called_a_fault(web):
    stop = Cancellation()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n"
    threading.Timer(0.2, stop.cancel).start()
    with pytest.raises(Stopped):
        get(web.drip("/a", b"x", 0.05, head), stop=stop, timeouts=FetchTimeouts(total=3600))


def test_stop_and_deadline_end_a_resolver_that_hangs():
    never = threading.Event()

    def hang(host: str, port: int) -> list[str]:
        never.wait(20)
        return []

    assert refusal("http://pages.test/", resolver=hang, timeouts=FetchTimeouts(total=0.2)).code == "too_slow"
    stop = Cancellation()
    threading.Timer(0.2, stop.cancel).start()
    with pytest.raises(Stopped):
        get("http://pages.test/", resolver=hang, stop=stop)
    never.set()


def test_a_dead_port_and_an_unknown_name_are_unreachable():
    with serving() as gone:
        url = gone.url()
    assert refusal(url).code == "unreachable"

    def unknown(host: str, port: int) -> list[str]:
        raise OSError

    assert refusal("http://nowhere.example/", resolver=unknown).code == "unreachable"


def test_certificates_are_checked_against_the_requested_name():
    ssl_context = ssl.create_default_context(cafile=CERTIFICATE)
    resolver = named({"pages.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]})
    with serving(CERTIFICATE) as web:
        web.page("/a", b"secret")
        right, wrong = web.url("/a", host="pages.test"), web.url("/a", host="other.test")
        assert get(right, resolver=resolver, ssl_context=ssl_context).body == b"secret"
        for refused in (refusal(wrong, resolver=resolver, ssl_context=ssl_context), refusal(right, resolver=resolver)):
            assert (refused.code, "certificate" in refused.message) == ("unreachable", True)
        assert len(web.seen) == 1


def test_an_expired_certificate_is_refused_though_it_is_trusted():
    ssl_context = ssl.create_default_context(cafile=EXPIRED)
    with serving(EXPIRED) as web:
        web.page("/a", b"secret")
        refused = refusal(
            web.url("/a", host="pages.test"), resolver=named({"pages.test": ["127.0.0.1"]}), ssl_context=ssl_context
        )
        assert (refused.code, "certificate" in refused.message) == ("unreachable", True)
        assert web.seen == []


def get_logged(url: str, outbound_log: ListOutboundLog) -> None:
    fetch(url, allow=THIS_MACHINE, limit_bytes=10_000, stop=Cancellation(), outbound_log=outbound_log)


def test_each_hop_is_written_down_with_its_host_and_its_address(web):
    outbound_log, host = ListOutboundLog(), f"127.0.0.1:{web.port}"
    web.page("/new", b"<p>here</p>")
    web.redirect("/old", web.url("/new"))
    get_logged(web.url("/old?q=a%20b#part"), outbound_log)
    assert outbound_log.entries == [
        (host, "web page", web.url("/old?q=a%20b")),
        (host, "web page", web.url("/new")),
    ]


@pytest.mark.parametrize("to", ["http://10.0.0.1/", "http://user:secret@example.org/", "file:///etc/passwd"])
def test_what_is_refused_is_not_written_down_for_it_was_not_sent(web, to):
    outbound_log = ListOutboundLog()
    with pytest.raises(SourceRefused):
        get_logged(web.redirect("/away", to), outbound_log)
    assert [what for _, _, what in outbound_log.entries] == [web.url("/away")]


def test_what_cannot_be_written_down_is_not_sent(web):
    with pytest.raises(HomeFault, match="full"):
        get_logged(web.page("/a", b"hello"), ListOutboundLog(HomeFault("The disk is full.")))
    assert web.seen == []


def test_a_site_logs_every_request_robots_and_sitemap_included(web, tmp_path):
    web.page("/", b'<p>Start here.</p><a href="/cats">cats</a><a href="/private">x</a>')
    web.page("/cats", b"<p>The cat sleeps on the warm roof.</p>")
    web.page("/robots.txt", b"User-agent: *\nDisallow: /private", content_type="text/plain")
    database = Database(tmp_path)
    settings = Settings(home=tmp_path, allow_private_urls=THIS_MACHINE)
    library = Library(database, Shelf(HashEmbedder()), lambda text: len(text.split()), settings, counter_name="words")
    list(library.pipeline.add_site(web.url("/"), SiteLimits(depth=1, sitemap=True)))
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
def test_addresses_that_lead_inside_are_no_links(url):
    assert not is_safe_link(url, ())


@pytest.mark.parametrize(
    "url", ["https://example.org/a?b=c", "http://93.184.215.14/", "https://youtu.be/x", "https://bücher.example/"]
)
def test_public_addresses_are_links(url):
    assert is_safe_link(url, ())


def test_an_allowed_network_may_be_linked_to():
    assert is_safe_link("http://127.0.0.1:8000/", THIS_MACHINE)
    assert not is_safe_link("http://127.0.0.2:8000/", THIS_MACHINE)
