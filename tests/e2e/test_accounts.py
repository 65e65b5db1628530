"""Two people who log in with a provider, in browsers of their own: one shares a collection with the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.accessibility import choose, dialog_violations, violations
from tests.e2e.browser import ask, badge, new_context, open_page, settled, uploader
from tests.e2e.conftest import NOTES, QUESTION
from tests.forked import forked
from tests.served import free_port

with warnings.catch_warnings():
    # Imported first: the module puts a filter that shows these warnings before all others.
    from authlib.deprecate import AuthlibDeprecationWarning

    warnings.simplefilter("ignore", AuthlibDeprecationWarning)
    from oidc_provider_mock import User, run_server_in_thread

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the provider's own
PEOPLE = ("ann", "ben", "eve")
LOGIN = """
[auth]
redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
cookie_secret = "a secret of this test that is long enough"
client_id = "crag"
client_secret = "secret"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


@pytest.fixture
def provider() -> Iterator[str]:
    users = [
        User(sub=one, claims={"email": f"{one}@example.org", "name": one.title(), "email_verified": True})
        for one in PEOPLE
    ]
    with run_server_in_thread(user_claims=users) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def address(tmp_path: Path, provider: str) -> Iterator[str]:
    port = free_port()
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(LOGIN.format(port=port, provider=provider))
    people = {"CRAG_PEOPLE": "accounts", "CRAG_ADMINS": "root@example.org", "OLLAMA_HOST": "127.0.0.1:9"}
    with forked(
        tmp_path / "home", port, folder=tmp_path, CRAG_CHAT_MODEL="builtin", CRAG_EMBEDDER="builtin", **people
    ) as one:
        yield one


@pytest.fixture
def new_person(browser: Browser) -> Iterator[Callable[[], Page]]:
    """Opens a page in the browser of one more person."""
    with ExitStack() as opened:

        def open_browser() -> Page:
            context = new_context(browser, viewport={"width": 1440, "height": 900})
            opened.callback(context.close)
            return context.new_page()

        yield open_browser


def log_in(page: Page, who: str) -> None:
    """From the page to log in back to the address that was asked for."""
    asked = page.url
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name=who, exact=True).first.click()
    page.wait_for_url(asked)


def log_out(page: Page, address: str) -> None:
    open_page(page, f"{address}/settings?section=account")
    expect(page.get_by_text("example.org · Member")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/end_session**")


def download_shared_answer(page: Page) -> str:
    """The address of the file that a button of the open dialog downloads."""
    with page.expect_download() as handed:
        page.get_by_role("dialog").get_by_role("button", name="Markdown").locator("visible=true").click()
    return handed.value.url


def follow(page: Page, name: str) -> None:
    settled(page)
    page.get_by_test_id("stTopNavLink").filter(has_text=name).click()


def test_people_log_in_share_a_collection_and_log_out(new_person: Callable[[], Page], address: str):
    ann, ben, eve = new_person(), new_person(), new_person()
    ann.goto(f"{address}/documents")
    expect(ann.get_by_text("Log in to ask your documents")).to_be_visible()
    expect(ann.get_by_text("Collections")).to_have_count(0)
    assert violations(ann) == []
    log_in(ann, "ann")  # which leads back there
    ann.get_by_role("button", name="New collection", exact=True).click()
    ann.get_by_label("Name").fill("Brewing")
    ann.get_by_role("button", name="Create").click()
    expect(ann.get_by_role("button", name="ann/Brewing")).to_be_visible()
    settled(ann)
    uploader(ann).set_input_files({"name": "brewing.md", "mimeType": "text/markdown", "buffer": NOTES.encode()})
    expect(ann.get_by_text("Added: 1 passage")).to_be_visible()
    for option in ("Rename", "Delete"):
        choose(ann, "Edit", option)
        assert dialog_violations(ann) == [], option
    choose(ann, "Edit", "Share")
    ann.get_by_label("May read: e-mail addresses, one per line").fill("ben@example.org")
    assert violations(ann) == []
    ann.get_by_role("dialog").get_by_role("button", name="Share").click()
    expect(ann.get_by_role("dialog")).to_have_count(0)

    ben.goto(f"{address}/documents")
    ben.get_by_role("button", name="Log in").click()
    ben.get_by_role("button", name="Deny").click()
    expect(ben.get_by_text("The login service did not confirm who you are")).to_be_visible()
    log_in(ben, "ben")
    follow(ben, "Documents")
    ben.get_by_role("button", name="ann/Brewing").click()
    expect(ben.get_by_text("You may only read this collection.")).to_be_visible()
    expect(ben.get_by_role("button", name="Edit")).to_have_count(0)
    follow(ben, "Chat")
    ask(ben, QUESTION)
    expect(badge(ben, "from your documents")).to_be_visible()
    ben.get_by_role("button", name="More").last.click()
    ben.get_by_role("menuitem", name="Share this answer").click()
    ben.get_by_role("button", name="Create a link").click()
    link = ben.get_by_role("dialog").get_by_text(f"{address}/shared?link=").inner_text()
    assert violations(ben) == []
    file = download_shared_answer(ben)
    assert [one.request.get(file).status for one in (ann, eve, ben)] == [404, 404, 200]
    later = ben.context.new_page()
    log_out(later, address)
    later.goto(address)
    expect(later.get_by_role("button", name="Log in")).to_be_visible()
    file = download_shared_answer(ben)
    assert ben.request.get(file).status == 404, "the page stays, but nobody is logged in"
    log_in(later, "ben")
    follow(later, "Documents")
    expect(later.get_by_role("button", name="ann/Brewing")).to_be_visible()
    file = download_shared_answer(ben)
    assert [one.request.get(file).status for one in (ann, eve, ben)] == [404, 404, 200]
    later.close()

    eve.context.add_cookies(ann.context.cookies())  # as a program behind another port gets and sets them
    eve.goto(link)
    expect(eve.get_by_text("Log in to ask your documents")).to_be_visible()
    log_in(eve, "eve")
    expect(eve.get_by_text("every six weeks").first).to_be_visible()
    expect(eve.get_by_role("button", name="More")).to_have_count(0)

    log_out(ben, address)
    ben.goto(address)
    expect(ben.get_by_role("button", name="Log in")).to_be_visible()
