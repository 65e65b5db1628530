"""`make eval-seed`: downloads the posts once, and says what to do if they cannot be downloaded."""

from ipaddress import ip_network

import pytest

from benchmarks import seed
from tests.applications import opened_with
from tests.doubles.web import serving

POST = b"<html><body><article><p>Agents plan, remember and use tools. They reflect on it.</p></article></body></html>"


@pytest.fixture
def library(tmp_path):
    loopback = (ip_network("127.0.0.0/8"),)
    with opened_with(tmp_path / "home", allow_private_urls=loopback) as application:
        yield application.library


def test_posts_are_fetched_once_and_what_is_missing_is_named(library):
    with serving() as server:
        server.scripts["/agents"] = lambda handler: handler.reply(POST)
        addresses = [server.url("/agents"), server.url("/gone")]
        (missing,) = seed.fetch_posts(library, addresses)
        assert missing.startswith(server.url("/gone: "))
        assert len(seed.fetch_posts(library, addresses)) == 1
        assert [path for _, path in server.seen].count("/agents") == 1
    assert [source.collection for source in library.sources()] == [seed.COLLECTION]


def test_missing_posts_stop_the_evaluation_with_a_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(seed, "EXAMPLE_URLS", ("http://127.0.0.1:9/agents",))
    monkeypatch.setenv("CRAG_EMBEDDER", "builtin")
    assert seed.main(["--home", str(tmp_path / "home")]) == 1
    said = capsys.readouterr()
    assert "nothing was asked" in said.err
    assert "make eval-seed DOCUMENTS=folder" in said.err
    assert said.out == ""
