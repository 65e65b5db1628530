"""A slow, a cut and a refused connection in a real browser: each is described in the application's own words."""

from __future__ import annotations

from contextlib import ExitStack
from urllib.request import Request, urlopen

from playwright.sync_api import Page, expect
from websockets.sync.client import connect

from crag.server.limits import RequestLimits
from tests.doubles.tcp_proxy import TcpProxy
from tests.e2e.browser import open_page
from tests.served import socket_path

LATE = "This page appears by itself"


def test_a_page_that_is_drawn_late_says_so_instead_of_staying_blank(page: Page, notes_address: str):
    page.route_web_socket("**/_stcore/stream*", lambda _: None)  # what the browser sends stays without an answer
    page.goto(notes_address)
    expect(page.get_by_text(LATE)).to_be_visible()


def test_a_connection_that_is_cut_or_finds_no_room_is_described_and_comes_back(page: Page, app_with_notes: str):
    with TcpProxy(app_with_notes) as proxy, ExitStack() as others:
        open_page(page, proxy.url)
        expect(page.get_by_text(LATE)).to_have_count(0)
        box = page.get_by_test_id("stChatInputTextArea")
        box.fill("Half a question")
        proxy.cut()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading")).to_have_text("CRAG Chat does not answer")
        expect(dialog).to_contain_text("This page continues as soon as")
        expect(dialog).not_to_contain_text("Streamlit")
        page.keyboard.press("Escape")
        page.get_by_test_id("stConnectionStatus").hover()
        expect(page.get_by_role("tooltip")).to_contain_text("CRAG Chat")
        expect(page.get_by_role("tooltip")).not_to_contain_text("Streamlit")

        document = urlopen(Request(app_with_notes, headers={"Accept": "text/html"})).read().decode()
        address = app_with_notes.replace("http", "ws") + socket_path(document)
        room = RequestLimits(lambda _: 0, uploaded_bytes=0).sockets
        opened = [others.enter_context(connect(address, subprotocols=["streamlit"])) for _ in range(room)]
        proxy.restore()
        notice = page.get_by_role("alert").filter(has_text="CRAG Chat is open in too many tabs")
        expect(notice).to_be_in_viewport(ratio=1)
        opened[0].close()
        expect(notice).to_have_count(0)
        expect(dialog).to_have_count(0)
        expect(box).to_have_value("Half a question")
