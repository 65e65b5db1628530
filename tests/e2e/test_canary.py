"""Hostile text on every page: none of it is run, fetched or opened, live or after a reload.

`test_sharing.py` looks at exported pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.applications import opened_with
from tests.doubles.http_double import DoubleHandler, HttpDouble
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.doubles.tavily import TavilyServer
from tests.e2e.browser import ask, open_page, settled
from tests.forked import forked

UNCOVERED = "Who won the 2024 NBA Finals?"


class _Handler(DoubleHandler):
    def answer(self) -> None:
        self.script.hits.append(self.path)
        self.reply(b"", 204)


@dataclass
class Canary(HttpDouble):
    """A listener that nobody may ever speak to; it can be named in hostile text."""

    handler = _Handler
    hits: list[str] = field(default_factory=list)

    def text(self, where: str) -> str:
        """What tries everything at once."""
        at = f"http://127.0.0.1:{self.port}/{where}"
        return (
            f'![x]({at}/inline) [click]({at}/link) <img src={at}/html onerror="window.pwned=1"> ![r][r] '
            f'<script>window.pwned=1</script> <iframe srcdoc="<script>parent.pwned=1</script>"></iframe> '
            f"<svg onload=window.pwned=1> <style>body{{background:url({at}/css)}}</style> "
            f"<link rel=stylesheet href={at}/sheet> "
            "[a](javascript:window.pwned=1) [b](data:text/html,<script>window.pwned=1</script>) "
            f"$\\includegraphics{{{at}/k}}$ $\\href{{{at}/h}}{{x}}$ "
            "www.canary.example http://canary.example/bare a@canary.example "
            f":material/home: :red[loud] {{{{7777+1}}}} {{0.__class__}} %s [99] "
            f"\u202etxt.exe\u202c\x1b[31m\n\n[r]: {at}/reference\n"
        )


@pytest.fixture
def canary() -> Iterator[Canary]:
    with Canary() as watched:
        yield watched


class Watch:
    """What a page does that it should not."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.host = page, urlsplit(address).netloc
        self.foreign: list[str] = []
        self.dialogs: list[str] = []
        page.on("request", self._asked)
        page.on("dialog", self._opened)

    def _asked(self, request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "file") and parts.netloc != self.host:
            self.foreign.append(request.url)

    def _opened(self, dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check(self, where: str) -> None:
        """Nothing was run or fetched so far, and no link here redirects elsewhere than it says."""
        assert self.foreign == [], where
        assert self.dialogs == [], where
        assert self.page.evaluate("window.pwned") is None, where
        shown = self.page.locator("body").inner_text()
        assert "\u202e" not in shown, where
        assert "7778" not in shown, where
        pictures = self.page.locator("img").evaluate_all("all => all.map(one => one.src)")
        assert not [src for src in pictures if "127.0.0.1" in src and self.host not in src], where
        for text, address in self.page.locator("a[href]").evaluate_all("all => all.map(a => [a.textContent, a.href])"):
            target = urlsplit(address)
            assert target.scheme in ("http", "https", "file"), (where, address)
            assert target.netloc in ("", self.host) or target.netloc in text, (where, text, address)


@contextmanager
def hostile_app(home: Path, canary: Canary) -> Iterator[str]:
    """The application whose model, web and settings are all in the hands of strangers."""

    def script(asked: Asked) -> Say:
        if asked.body.get("logprobs"):
            return Say("No" if UNCOVERED in asked.prompt else "Yes")
        if "<knowledge>" in asked.prompt:
            return Say(f"Every six weeks [1]. {canary.text('model')}", per_token=0.005)
        return Say(answer_like_a_little_model(asked))

    content = f"The Boston Celtics won the 2024 NBA Finals. {canary.text('web')}"
    result = {"title": canary.text("title"), "url": "https://en.example.org/x", "score": 0.9, "content": content}
    with TavilyServer(results=[result]) as web, ScriptedOllama(script=script) as ollama:
        environment = {"TAVILY_API_KEY": "tvly-test", "CRAG_TAVILY_URL": web.url, "CRAG_PEOPLE": "one"}
        with forked(home, OLLAMA_HOST=ollama.url, CRAG_EMBEDDER="builtin", **environment) as address:
            yield address


def test_text_of_strangers_is_shown_and_never_obeyed(page: Page, tmp_path: Path, canary: Canary):
    home = tmp_path / "home"
    notes = f"# Notes {canary.text('heading')}\n\nThe espresso machine is descaled with acid. {canary.text('document')}"
    name = f"<img src=x onerror=window.pwned=1>![x](http:127.0.0.1:{canary.port}) :red[n].md"
    with opened_with(home) as application:
        assert application.library.pipeline.add_bytes(name, notes.encode()).error is None
    with hostile_app(home, canary) as address:
        watch = Watch(page, address)
        open_page(page, address)
        ask(page, f"What is the espresso machine descaled with? {canary.text('question')}")
        _walk_through_chat(page, watch)
        conversation = page.url
        page.get_by_role("button", name="Open in Inspect").locator("visible=true").last.click()
        expect(page.get_by_role("heading", name="Verdicts")).to_be_visible()
        _check(page, watch, "the run")
        _press(page, "Compare")
        page.get_by_role("dialog").get_by_role("button", name="espresso").first.click()
        expect(page.get_by_role("heading", name="What differs")).to_be_visible()
        _check(page, watch, "two runs")
        page.get_by_test_id("stTopNavLink").filter(has_text="Documents").click()
        expect(page.get_by_test_id("stDataFrame")).to_be_visible()
        _check(page, watch, "the documents")
        _press(page, "Coverage gaps")
        expect(page.get_by_role("heading", name=UNCOVERED)).to_be_visible()
        _check(page, watch, "the gaps")
        open_page(page, conversation)
        expect(page.get_by_test_id("stChatMessage").nth(1)).to_contain_text("{{7777+1}}")
        watch.check("the conversation after a reload")
    assert canary.hits == []


def _check(page: Page, watch: Watch, where: str) -> None:
    settled(page)
    watch.check(where)


def _press(page: Page, name: str) -> None:
    settled(page)  # a click during a redraw is lost
    page.get_by_role("button", name=name).locator("visible=true").first.click()


def _walk_through_chat(page: Page, watch: Watch) -> None:
    """Live, the source drawer, the list of conversations, and a question that the web answers."""
    answer = page.get_by_test_id("stChatMessage").last
    expect(answer).to_contain_text("Every six weeks")
    watch.check("while it is written")
    expect(answer.get_by_role("button", name="Copy")).to_be_visible()
    expect(answer).not_to_contain_text("[99]")
    _check(page, watch, "answered")
    answer.locator('a[href^="#cite-"]').first.click()
    expect(page.get_by_role("dialog")).to_contain_text("descaled with acid")
    watch.check("the source drawer")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_test_id("stSidebar").get_by_text("History", exact=True).click()
    _check(page, watch, "the conversations")
    page.get_by_test_id("stSidebar").get_by_text("Trace", exact=True).click()
    ask(page, UNCOVERED)
    page.get_by_role("button", name="Allow", exact=True).click()  # not the one for a sentence without a source
    expect(answer).to_contain_text("Sent to Tavily")
    expect(answer.get_by_role("button", name="Copy")).to_be_visible()
    _check(page, watch, "the web's answer")
