"""No address leads the fetcher into the machine's own network; a canary there counts connections."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

import pytest

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.addresses import may_reach, parse_url
from crag.ingest.fetch import FetchTimeouts, fetch
from tests.doubles.outbound_log import ListOutboundLog
from tests.doubles.web import Canary

# The server that redirects is reached by this address alone, so that the canary beside it stays forbidden.
SERVER = (ipaddress.ip_network("127.0.0.77/32"),)
INNER_ADDRESSES = (
    "10.0.0.1 172.16.3.4 192.168.1.1 100.64.0.1 169.254.169.254 198.18.0.1 192.0.0.1 192.0.2.1 198.51.100.1 "
    "203.0.113.1 240.0.0.1 255.255.255.255 224.0.0.1 0.0.0.0 127.255.255.254 ::ffff:10.0.0.1 64:ff9b::a00:1 "
    "2002:a00:1::1 2002:5db8:d70e::1 ::5db8:d70e 2001:db8::1 fd00:ec2::254 fe80::1%eth0 nonsense"
)
SERVICE_PORTS = (
    "22 23 25 53 110 139 143 445 465 631 873 993 1433 1521 2375 2379 3306 3389 5432 5672 5900 5984 6000 6379 6443 6667 "
    "8501 9042 9092 9200 10250 11211 11434 27017"
)

OUTBOUND_LOG = ListOutboundLog()

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.77"])


@pytest.fixture
def canary():
    listener = Canary()
    yield listener
    assert listener.hits() == 0
    listener.close()


def code(url: str, resolver: Callable[[str, int], list[str]] | None = None) -> str:
    options = {"resolver": resolver} if resolver else {}
    with pytest.raises(SourceRefused) as caught:
        fetch(url, allow=SERVER, limit_bytes=1000, stop=Cancellation(), outbound_log=OUTBOUND_LOG, **options)
    assert re.fullmatch(r"[A-Z][^_{}]+ [^_{}]+\.", caught.value.message)  # a sentence
    return caught.value.code


LOOPBACK_SPELLINGS = [
    "127.0.0.1",
    "127.1",
    "0",
    "0.0.0.0",  # noqa: S104
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "①②⑦.⓪.⓪.①",
    "１２７.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "app.localhost",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::1%25lo]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[ff02::1]",
]


@pytest.mark.parametrize("host", LOOPBACK_SPELLINGS)
def test_no_spelling_of_an_inner_address_is_fetched(canary, host):
    assert code(f"http://{host}:{canary.port}/") == "blocked_url"


@pytest.mark.parametrize(
    "template",
    [
        "http://user@127.0.0.77:{port}/",
        "http://user:secret@example.com:{port}/",
        "http://127.0.0.1:{port}\\@example.com/",
        "http://example.com\\@127.0.0.1:{port}/",
        "http://example.com:80:{port}/",
        "http://127.0.0.77:{port}\t/",
        "http://127.0.0\n.77:{port}/",
        "http://127.0.0.77 :{port}/",
        "http://127.0.0.77:{port}/a b",
        "http://127.0.0.77:{port}/a\\b",
        "http://127.0.0.77:99999/",
        "http://127.0.0.77:0/",
        "http://127.0.0.1:{port}#@example.com/",
        "http://127.0.0.1:{port}?@example.com/",
        "http://",
        "http:///path",
        "//127.0.0.77:{port}/",
        "file:///etc/hosts",
        "data:text/html,hello",
        "gopher://127.0.0.1:{port}/",
        "ftp://127.0.0.1:{port}/",
        "jar:http://127.0.0.1:{port}!/",
        "javascript:alert(1)",
        "127.0.0.77:{port}",
        "",
        " ",
        "http://127.0.0.77:{port}/" + "a" * 10_000,
    ],
)
def test_what_is_no_plain_web_address_is_refused(canary, template):
    assert code(template.replace("{port}", str(canary.port))) == "blocked_url"


def test_an_address_with_a_zone_is_no_web_address():
    with pytest.raises(SourceRefused, match="not a valid web address"):
        parse_url("http://[2606:2800:21f:cb07::1%25eth0]/")
    assert parse_url("http://[2606:2800:21f:cb07::1]/").host == "2606:2800:21f:cb07::1"


@pytest.mark.parametrize("address", INNER_ADDRESSES.split())
def test_a_name_that_leads_inside_is_refused(address):
    assert not may_reach([address], 80, ())
    assert code("http://pages.test/", lambda host, port: [address]) == "blocked_url"


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07::1", "64:ff9b::5db8:d70e"])
def test_public_addresses_may_be_reached(address):
    assert may_reach([address], 443, ())


@pytest.mark.parametrize("addresses", [["93.184.215.14", "127.0.0.1"], ["93.184.215.14", "::1"], []])
def test_one_inner_address_among_public_ones_is_enough(addresses):
    assert code("http://pages.test/", lambda host, port: addresses) == "blocked_url"


@pytest.mark.parametrize(("port", "is_service"), [(22, True), (80, False), (443, False), (1023, True), (8080, False)])
def test_of_the_system_ports_only_those_of_web_servers_are_reached(port, is_service):
    assert may_reach(["93.184.216.34"], port, ()) != is_service


@pytest.mark.parametrize("port", [int(port) for port in SERVICE_PORTS.split()])
def test_service_ports_are_for_allowed_networks_only(port):
    with pytest.raises(SourceRefused, match=f"Port {port} ") as caught:
        fetch(
            f"http://pages.test:{port}/",
            limit_bytes=1000,
            stop=Cancellation(),
            outbound_log=OUTBOUND_LOG,
            resolver=lambda host, port: ["93.184.215.14"],
            timeouts=FetchTimeouts(total=0.5),
        )
    assert caught.value.code == "blocked_url"
    assert code(f"http://pages.test:{port}/", lambda host, port: ["127.0.0.1"]) == "blocked_url"
    assert may_reach(["10.1.2.3"], port, (ipaddress.ip_network("10.0.0.0/8"),))


def test_this_machines_own_public_address_is_refused(monkeypatch):
    monkeypatch.setattr("crag.ingest.addresses._own_addresses", lambda: {"93.184.215.14"})
    assert not may_reach(["93.184.215.14"], 80, ())


@pytest.mark.parametrize("name", ["metadata.google.internal", "printer.local", "router", "wiki.corp"])
def test_internal_names_are_refused_even_if_unknown(name):
    def unknown(host: str, port: int) -> list[str]:
        raise OSError

    assert code(f"http://{name}/", unknown) == "blocked_url"


@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "//127.1:{port}/"])
def test_a_redirect_inside_is_not_followed_at_any_hop(guarded_web, canary, target):
    guarded_web.redirect("/1", target.replace("{port}", str(canary.port)))
    for n in range(2, 6):
        guarded_web.redirect(f"/{n}", f"/{n - 1}")
    assert code(guarded_web.url("/1")) == "blocked_url"
    assert code(guarded_web.url("/5")) == "blocked_url"
    assert guarded_web.seen[-1][1] == "/1"


@pytest.mark.parametrize(
    "target", ["file:///etc/hosts", "ftp://example.com/", "data:text/html,x", "http://u@pages.test/"]
)
def test_a_redirect_to_what_is_no_web_address_is_refused(guarded_web, target):
    assert code(guarded_web.redirect("/a", target)) == "blocked_url"


def test_a_rebinding_name_is_resolved_once(guarded_web, canary):
    answers = [["127.0.0.77"], ["127.0.0.1"]]
    guarded_web.page("/a", b"first")
    url = guarded_web.url("/a", host="pages.test")
    got = fetch(
        url,
        allow=SERVER,
        limit_bytes=1000,
        stop=Cancellation(),
        outbound_log=OUTBOUND_LOG,
        resolver=lambda *_: answers.pop(0),
    )
    assert (got.body, len(answers)) == (b"first", 1)


def test_a_redirect_resolves_the_name_anew(guarded_web, canary):
    answers = [["127.0.0.77"], ["127.0.0.1"]]
    guarded_web.redirect("/a", f"http://pages.test:{canary.port}/")
    assert code(guarded_web.url("/a", host="pages.test"), lambda host, port: answers.pop(0)) == "blocked_url"


@pytest.mark.parametrize(
    "host", ["www.youtube.com", "m.YouTube.com.", "youtu.be", "vimeo.com", "player.vimeo.com", "dai.ly", "b23.tv"]
)
def test_videos_are_refused_before_any_lookup(host):
    asked: list[str] = []
    with pytest.raises(SourceRefused, match="video") as caught:
        fetch(
            f"https://{host}/watch?v=1",
            limit_bytes=1000,
            stop=Cancellation(),
            outbound_log=OUTBOUND_LOG,
            resolver=lambda host, _: asked.append(host) or [],
        )
    assert asked == []
    assert caught.value.code == "unsupported"


def test_hosts_that_only_sound_like_videos_are_not_refused():
    assert parse_url("https://notyoutube.com/").host == "notyoutube.com"
    assert parse_url("https://youtube.com.example/").host == "youtube.com.example"


def test_a_redirect_to_a_video_is_refused_in_words(guarded_web):
    with pytest.raises(SourceRefused, match="video"):
        fetch(
            guarded_web.redirect("/v", "https://youtu.be/x"),
            allow=SERVER,
            limit_bytes=1000,
            stop=Cancellation(),
            outbound_log=OUTBOUND_LOG,
            timeouts=FetchTimeouts(total=2),
        )


def test_names_in_other_scripts_are_requested_in_ascii():
    link = parse_url("HTTPS://Bücher.example/ü?q=é#x")
    assert (link.host, link.port, link.target) == ("xn--bcher-kva.example", 443, b"/%C3%BC?q=%C3%A9")
    assert (link.authority, link.url) == ("xn--bcher-kva.example", "https://xn--bcher-kva.example/%C3%BC?q=%C3%A9")
