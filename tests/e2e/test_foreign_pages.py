"""Pages of other ports, names and origins in the same browser: they read nothing and change nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.cookies import SimpleCookie

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.doubles.http_double import DoubleHandler, HttpDouble
from tests.e2e.browser import ask, badge, open_page, settled
from tests.e2e.conftest import QUESTION
from tests.endurance.tab import opened_tab

ATTACK = """
const results = {}
const attempt = async (name, deed) => { try { results[name] = await deed() } catch { results[name] = "refused" } }
const socket = (address, protocols) => new Promise((resolve) => {
  const opened = new WebSocket(address, protocols)
  opened.onmessage = () => resolve("read")
  opened.onopen = () => setTimeout(resolve, 1000, "opened")
  opened.onerror = () => resolve("refused")
})
const request = async (path, options) => {
  const response = await fetch(TARGET + path, {credentials: "include", ...options})
  return response.type === "opaque" ? "sent" : `read ${(await response.text()).length}`
}
const picture = (path) => new Promise((resolve) => {
  const image = new Image()
  image.onload = () => resolve("read")
  image.onerror = () => resolve("refused")
  image.src = TARGET + path
})
const run = async () => {
  const stream = TARGET.replace("http", "ws") + "/_stcore/stream"
  let cookie = "none"
  try { cookie = document.cookie.match(/_streamlit_xsrf=([^;]*)/)[1] } catch { /* not for a sandboxed frame */ }
  await attempt("socket", () => socket(stream, ["streamlit", cookie]))
  await attempt("socket with a guess", () => socket(stream + "?page=guess", ["streamlit", cookie]))
  for (const path of ["/", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics", "/media/a.png"])
    await attempt("read " + path, () => request(path))
  await attempt("upload", () => request("/_stcore/upload_file/a/b", {method: "PUT", body: "x"}))
  await attempt("remove", () => request("/_stcore/upload_file/a/b", {method: "DELETE"}))
  await attempt("picture", () => picture("/favicon.png"))
  const delivered = document.createElement("pre")
  delivered.id = "results"
  delivered.textContent = JSON.stringify(results)
  document.body.append(delivered)
}
run()
"""


class _Handler(DoubleHandler):
    def answer(self) -> None:
        self.script.cookies = self.headers.get("Cookie", "")
        target = "http://" + self.path.partition("?")[2]
        script = f"<body><script>const TARGET = {json.dumps(target)};{ATTACK}</script>"
        if self.path.startswith("/sandboxed"):
            quoted = script.replace("&", "&amp;").replace('"', "&quot;")
            script = f'<body><iframe sandbox="allow-scripts" srcdoc="{quoted}"></iframe>'
        self.reply(script.encode(), headers={"Content-Type": "text/html"})


@dataclass
class ForeignServer(HttpDouble):
    """The other program; it keeps the cookies that the browser sends to it."""

    handler = _Handler
    cookies: str = ""


@pytest.fixture(scope="module")
def foreign_server() -> Iterator[ForeignServer]:
    with ForeignServer() as server:
        yield server


@pytest.fixture
def foreign_port(foreign_server: ForeignServer) -> int:
    return foreign_server.port


OTHER_PAGES = {
    "another port": ("attack", "127.0.0.1", "127.0.0.1"),
    "localhost against 127.0.0.1": ("attack", "localhost", "127.0.0.1"),
    "127.0.0.1 against localhost": ("attack", "127.0.0.1", "localhost"),
    "sandboxed frame": ("sandboxed", "127.0.0.1", "127.0.0.1"),
}


async def _list_conversations(address: str, cookies: Mapping[str, str], secret: str = "") -> set[str]:
    """Return what a program without a browser finds in the list of conversations with these cookies."""
    kept = httpx.Cookies()
    for name, value in cookies.items():
        kept.set(name, value, domain="127.0.0.1")
    async with opened_tab(address, cookies=kept, secret=secret) as tab:
        await tab.choose("History")

        def find() -> set[str]:
            return {one for one in (QUESTION, "Your conversations appear here.") if tab.shows(one)}

        await tab.until(find)  # the list is drawn after the field above it
        return find()


def test_another_page_reads_and_does_nothing_and_a_program_that_gets_the_cookies_is_somebody_else(
    page: Page, app_with_notes: str, foreign_server: ForeignServer
):
    open_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    settled(page)
    secret = page.evaluate("localStorage.getItem('crag-secret')")
    port = app_with_notes.rpartition(":")[2]
    for other, (path, name, target) in OTHER_PAGES.items():
        page.goto(f"http://{name}:{foreign_server.port}/{path}?{target}:{port}")
        attacked = page.frame_locator("iframe") if path == "sandboxed" else page
        results = json.loads(attacked.locator("#results").inner_text())
        assert len(results) == 10, other
        assert set(results.values()) == {"refused"}, (other, results)

    page.goto(f"http://127.0.0.1:{foreign_server.port}/attack?127.0.0.1:1")
    cookies = {name: one.value for name, one in SimpleCookie(foreign_server.cookies).items()}
    assert "_streamlit_xsrf" in cookies, "cookies are sent to every port"
    with ThreadPoolExecutor(1) as programs:

        def find(secret: str = "") -> set[str]:
            return programs.submit(asyncio.run, _list_conversations(app_with_notes, cookies, secret)).result()

        assert find() == {"Your conversations appear here."}
        assert find(secret) == {QUESTION}, "what only the page of this origin can read opens them"


def test_another_page_cannot_frame_the_application(context: BrowserContext, notes_address: str, foreign_port: int):
    foreign = context.new_page()  # the browser reports the refusal as a violation, which other tests must not have
    foreign.goto(f"http://127.0.0.1:{foreign_port}/attack?{notes_address.removeprefix('http://')}")
    foreign.locator("#results").wait_for(state="attached")
    with foreign.expect_response(f"{notes_address}/") as framed:
        foreign.evaluate(
            """(target) => {
                const frame = document.createElement("iframe")
                frame.src = target
                document.body.append(frame)
            }""",
            f"{notes_address}/",
        )
    assert framed.value.status == 403
    foreign.close()


def test_a_link_on_another_page_leads_in(page: Page, app_with_notes: str, foreign_port: int):
    page.goto(f"http://localhost:{foreign_port}/attack?{app_with_notes.removeprefix('http://')}")
    page.evaluate("(target) => { location.href = target }", f"{app_with_notes}/documents")
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
