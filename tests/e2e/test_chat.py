"""Asking in a real browser: an answer outlasts a reload and a cut connection, Esc stops it, two tabs ask at once."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page, expect

from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say
from tests.doubles.tcp_proxy import TcpProxy
from tests.e2e.browser import ask, badge, open_page, settled
from tests.e2e.conftest import QUESTION

LONG = " ".join(["The machine is descaled every six weeks [1]."] + [f"Word {number}." for number in range(2000)])


def test_an_answer_outlasts_a_reload_and_a_cut_connection_and_is_stopped_by_esc(
    page: Page, app_on_ollama: str, ollama: ScriptedOllama
):
    ollama.script = lambda asked: Say(LONG if asked.writes else answer_like_a_little_model(asked))
    ollama.per_token = 0.05
    with TcpProxy(app_on_ollama) as proxy:
        open_page(page, proxy.url)
        ollama.memory.unload("llama3.1:8b")
        ollama.memory.load_seconds = 3600.0
        ask(page, QUESTION)
        for place in ("stMain", "stSidebar"):
            expect(page.get_by_test_id(place).get_by_text("Llama 3.1 8B is loading").first).to_be_visible()
        ollama.memory.load_seconds = 0.0
        answer = page.get_by_test_id("stChatMessage").last
        expect(answer).to_contain_text("Word 3.")
        ollama.per_token = 3600.0  # nothing is drawn meanwhile
        page.reload()
        expect(answer).to_contain_text("Word 3.")
        proxy.cut()
        expect(page.get_by_test_id("stConnectionStatus")).to_be_visible()
        proxy.restore()
        expect(page.get_by_test_id("stConnectionStatus")).to_have_count(0)
        sent = ollama.chats[-1].tokens_sent
        ollama.per_token = 0.05
        expect(answer).to_contain_text(" ".join(LONG.split()[sent : sent + 3]))
        page.keyboard.press("Escape")
        expect(answer).to_contain_text("Stopped by you. The text so far is kept.")
        expect(answer).to_contain_text("Word 3.")
        expect(answer).not_to_contain_text("Word 1999.")
        expect(page.get_by_test_id("stChatMessage")).to_have_count(2)
    assert len([asked for asked in ollama.chats if asked.writes]) == 1


def test_two_tabs_follow_each_other_and_questions_that_both_send_at_once_are_answered(
    page: Page, context: BrowserContext, app_on_ollama: str, ollama: ScriptedOllama
):
    open_page(page, app_on_ollama)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    other = open_page(context.new_page(), page.url)
    other.locator("[class*=trace-of-] button:visible").last.click()
    settled(other)
    questions = "When is the grinder cleaned?", "Where are beans ordered from?"
    for tab, question in zip((page, other), questions, strict=True):
        tab.get_by_test_id("stChatInputTextArea").fill(question)
    for tab in (page, other):
        tab.get_by_test_id("stChatInputTextArea").press("Enter", no_wait_after=True)
    for tab in (page, other):
        expect(tab.get_by_test_id("stChatMessage")).to_have_count(6)
        for question in questions:
            expect(tab.get_by_test_id("stChatMessage").filter(has_text=question)).to_be_visible()
        answered = tab.get_by_test_id("stChatMessage").locator(".stMarkdownBadge", has_text="from your documents")
        expect(answered).to_have_count(3)
    other.close()


def test_a_question_of_two_hundred_thousand_characters_is_pasted(page: Page, app_with_notes: str):
    open_page(page, app_with_notes)
    lines = "\n".join(f"Line {number}: the kitchen has a kettle and a shelf." for number in range(5000))
    question = f"{QUESTION}\n{lines}"[:199_950] + f"\n{QUESTION}"
    page.evaluate("text => navigator.clipboard.writeText(text)", question)
    box = page.get_by_test_id("stChatInputTextArea")
    box.click()
    box.press("Control+v")
    box.press("Enter")
    expect(page.get_by_text(f"Show all {len(question):,} characters")).to_be_visible()
    expect(page.get_by_test_id("stChatMessage").last.get_by_role("button", name="More")).to_be_visible()
    assert page.locator("body").evaluate("body => body.textContent.length") < 20_000
    assert len(page.title()) < 120
