"""Addresses through the real fetcher, parser and splitter: the final one names the source, what changed is replaced."""

import ipaddress

import pytest

from crag.database import Database
from crag.library import Library
from crag.settings import Settings
from tests.doubles.library import HashEmbedder
from tests.doubles.web import serving

PAGE = "<html><head><title>{0}</title></head><body><article><h1>{0}</h1><p>{1}</p></article></body></html>"
CATS = PAGE.format("All about cats", "The cat sleeps on the warm roof for most of the day. " * 5).encode()
DOGS = PAGE.format("All about dogs", "The dog barks at the mailman every single morning. " * 5).encode()


@pytest.fixture
def web():
    with serving() as server:
        yield server


@pytest.fixture
def library(tmp_path):
    settings = Settings(home=tmp_path / "home", allow_private_urls=(ipaddress.ip_network("127.0.0.1/32"),))
    database = Database(settings.home)
    yield Library(database, HashEmbedder(), lambda text: len(text.split()), settings, counter_name="words")
    database.close()


def test_a_page_is_known_by_its_final_address(library, web):
    final = web.page("/cats", CATS)
    result = library.add_url(web.redirect("/old", final))
    assert (result.status, result.title) == ("added", "All about cats")
    (source,) = library.sources()
    assert (source.location, source.kind) == (final, "html")
    assert library.search("Where does the cat sleep?", k=1)[0].location == final
    assert library.add_url(final).status == "unchanged"


def test_a_page_that_changed_is_replaced_and_keeps_its_id(library, web):
    url = web.page("/page", CATS)
    first = library.add_url(url)
    assert library.refresh()[0].status == "unchanged"
    web.page("/page", DOGS)
    (again,) = library.refresh([first.id])
    assert (again.status, again.id, again.title) == ("replaced", first.id, "All about dogs")
    assert {passage.title for passage in library.search("cat dog")} == {"All about dogs"}
    web.page("/page", CATS)
    assert library.add_url(url).status == "replaced"


def test_a_page_that_moved_is_refreshed_under_its_old_address(library, web):
    url = web.page("/page", CATS)
    first = library.add_url(url)
    web.redirect("/page", web.page("/moved", DOGS))
    assert [(result.status, result.id) for result in library.refresh()] == [("replaced", first.id)]
    assert [source.location for source in library.sources()] == [url]


def test_a_page_that_is_gone_keeps_what_was_added(library, web):
    library.add_url(web.page("/page", CATS))
    web.page("/page", b"gone", status=404)
    (result,) = library.refresh()
    assert (result.status, result.error.code) == ("failed", "http_error")
    assert library.search("cat", k=1)[0].title == "All about cats"


def test_two_pages_with_one_text_are_kept_once(library, web):
    first = library.add_url(web.page("/a", CATS))
    second = library.add_url(web.page("/b", CATS))
    assert (second.status, second.id) == ("unchanged", first.id)


@pytest.mark.parametrize("address", ["data:text/plain,hello", "javascript:alert(1)", "jar:x!/y", "FILE:/etc/passwd"])
def test_what_is_no_web_address_is_refused_as_one(library, address):
    (result,) = library.add(address)
    assert result.error.code == "blocked_url"


def test_a_password_in_an_address_is_not_repeated(library):
    (result,) = library.add("http://me:secret@example.com/")
    assert result.error.code == "blocked_url"
    assert "secret" not in str(result)
    assert (result.source, result.title) == ("http://example.com/", "example.com")
