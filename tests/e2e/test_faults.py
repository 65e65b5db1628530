"""A data folder that disappears under the running application, in a real browser."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

from playwright.sync_api import Page, expect
from websockets.sync.client import connect

from crag.server.limits import RequestLimits
from tests.doubles.tcp_proxy import TcpProxy
from tests.e2e.browser import ask, badge, open_page, uploader
from tests.e2e.conftest import QUESTION
from tests.forked import forked
from tests.served import socket_path


def test_a_question_and_an_upload_outlast_a_data_folder_that_is_gone_for_a_while(page: Page, home_with_notes: Path):
    with forked(home_with_notes, OLLAMA_HOST="127.0.0.1:9") as app:
        open_page(page, app)
        away = home_with_notes.rename(home_with_notes.with_name("away"))
        ask(page, QUESTION)
        expect(page.get_by_text("Not sent. The data folder is gone or was replaced")).to_be_visible()
        expect(page.get_by_text(QUESTION)).to_be_visible()
        away.rename(home_with_notes)
        page.get_by_role("button", name="Try again").click()
        expect(badge(page, "from your documents")).to_be_visible()
        expect(page.get_by_text("Not sent.")).to_have_count(0)

        open_page(page, f"{app}/documents")
        away = home_with_notes.rename(home_with_notes.with_name("away"))
        uploader(page).set_input_files([{"name": "a.md", "mimeType": "text/markdown", "buffer": b"# Tea\n\nBlack."}])
        expect(page.get_by_text("The data folder is gone or was replaced").first).to_be_visible()
        assert not home_with_notes.exists(), "nothing may be kept in a folder that takes the place of the home"
        away.rename(home_with_notes)
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("gridcell", name="a.md", exact=True, include_hidden=True)).to_be_attached()


def test_a_page_that_is_drawn_late_says_so_instead_of_staying_blank(page: Page, app_with_notes: str):
    words = "This page appears by itself"
    unanswered = page.context.new_page()
    unanswered.route_web_socket("**/_stcore/stream*", lambda _: None)  # what the browser sends stays without an answer
    unanswered.goto(app_with_notes)
    expect(unanswered.get_by_text(words)).to_be_visible()
    unanswered.close()
    open_page(page, app_with_notes)
    expect(page.get_by_text(words)).to_have_count(0)


def test_a_tab_that_finds_no_room_says_why_and_goes_on_when_there_is_some(page: Page, app: str):
    with TcpProxy(app) as proxy, ExitStack() as others:
        open_page(page, proxy.url)
        proxy.cut()
        document = urlopen(Request(app, headers={"Accept": "text/html"})).read().decode()
        address = app.replace("http", "ws") + socket_path(document)
        room = RequestLimits(lambda _: 0, uploaded_bytes=0).sockets
        opened = [others.enter_context(connect(address, subprotocols=["streamlit"])) for _ in range(room)]
        proxy.restore()
        notice = page.get_by_role("alert").filter(has_text="CRAG Chat is open in too many tabs")
        expect(notice).to_be_in_viewport(ratio=1)
        opened[0].close()
        expect(notice).to_have_count(0)
