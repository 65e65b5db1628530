"""Exported pages in a real browser: hostile content loads and runs nothing; citations lead to their sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, Page, expect

from tests.doubles.web import Canary
from tests.e2e.browser import new_context
from tests.runs.conftest import house  # noqa: F401 — fixtures
from tests.sharing.conftest import Shared, bare, original, shown  # noqa: F401 — fixtures
from tests.sharing.hostile import hostile, payloads

_POLICY = re.compile(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>")
_ACTIVE = "script, iframe, img, object, embed, link, base, form, input, video, audio, meta[http-equiv=refresh]"
_HANDLERS = (
    "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/i.test(a.name)).length"
)


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    context = new_context(browser, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    yield page
    context.close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    with closing(Canary()) as listener:
        yield listener


def show(page: Page, folder: Path, text: str) -> Page:
    """Opens a page from a file, as somebody would who was sent it."""
    file = folder / "sent.html"
    file.write_text(text, encoding="utf-8")
    page.goto(file.as_uri())
    page.wait_for_timeout(150)
    return page


def test_hostile_text_stays_text_in_every_field_of_an_export(opened, tmp_path, bare, original, canary):  # noqa: F811
    said: list[str] = []
    opened.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    address = f"http://127.0.0.1:{canary.port}"
    evil = bare.again(bare.take_in(hostile(original.json(), payloads(address))))
    pages = [evil.sharing.html(evil.conversation), evil.sharing.export_run_html(shown(evil, 1))]
    for made in [page for whole in pages for page in (whole, _POLICY.sub("", whole))]:  # also without its last guard
        show(opened, tmp_path, made)
        assert opened.locator(_ACTIVE).count() == 0
        assert opened.evaluate(_HANDLERS) == 0
        assert all(link.startswith("#a") for link in links(opened))
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
        assert "1234321" not in opened.content()
    written = MarkdownIt("js-default", {"html": True}).render(evil.sharing.markdown(evil.conversation))
    show(opened, tmp_path, written)
    assert opened.locator(f"{_ACTIVE}, a, svg, style").count() == 0
    expect(opened.get_by_role("heading", level=2)).to_have_count(2)  # no code that was not closed swallowed one
    assert canary.hits() == 0
    assert said == []
    opened.set_content(f"<img src='{address}/control'>", wait_until="commit")
    opened.wait_for_timeout(300)
    assert canary.hits(), "the listener hears"


def links(page: Page) -> list[str]:
    return page.eval_on_selector_all("a", "all => all.map(one => one.getAttribute('href'))")


def test_citations_lead_to_the_marked_quote_and_the_trace_opens(opened, tmp_path, original):  # noqa: F811
    page = show(opened, tmp_path, original.sharing.html(original.conversation))
    cited = page.get_by_role("link", name="[1]").first
    cited.focus()
    page.keyboard.press("Enter")
    expect(page.locator("li:target mark")).to_have_text("Passage 2 says that fact2 holds.")
    expect(page.locator("li:target")).to_contain_text("Paper 2.pdf · p. 2")
    page.get_by_text("how this answer was made").first.click()
    expect(page.get_by_text("left out by you 0.90")).to_be_visible()
    expect(page.get_by_text("1 of 2 passages is relevant").first).to_be_visible()
    expect(page.get_by_text("And on the web?", exact=True)).to_be_visible()
    page.get_by_text("how this answer was made").nth(1).click()
    expect(page.get_by_text("Sent to Tavily").first).to_be_visible()
    expect(page.get_by_role("link", name="https://example.org/9")).to_have_attribute(
        "rel", "noopener noreferrer nofollow"
    )
