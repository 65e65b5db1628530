"""Asking in a real browser: live trace, citations, reload, two tabs."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page, expect

from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.doubles.tcp_proxy import TcpProxy
from tests.e2e.browser import ask, badge, open_page, settled, upload
from tests.e2e.conftest import NOTES, QUESTION

LONG = " ".join(["The machine is descaled every six weeks [1]."] + [f"Word {number}." for number in range(120)])


def writing(say: Say):
    """The little model, except that its answers are these."""

    def script(asked: Asked) -> Say:
        return say if asked.writes else Say(answer_like_a_little_model(asked))

    return script


def test_from_the_start_page_and_an_upload_to_an_answer_whose_citation_opens(page: Page, app: str):
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url) if "127.0.0.1" not in request.url else None)
    open_page(page, app)
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    for name in ("Built-in engine", "Llama 3 on Ollama", "Nomic embeddings", "Web search"):
        expect(page.get_by_test_id("stMain").get_by_text(name).first).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("each passage gets a verdict")).to_be_visible()
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollHeight <= 900")

    upload(page, "brewing.md", NOTES.encode())
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    answer = page.get_by_test_id("stChatMessage").last
    expect(answer).to_contain_text("six weeks")
    trace = page.get_by_test_id("stSidebar")
    for step in ("Find passages", "Grade", "Decide", "Keep excerpts", "Write", "Check"):
        expect(trace.get_by_text(step, exact=False).first).to_be_visible()
    expect(trace.locator(".stMarkdownBadge", has_text="relevant").first).to_be_visible()

    answer.locator('a[href^="#cite-"]').first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Brewing notes")
    expect(drawer).to_contain_text("citric acid")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()

    answer.get_by_role("button", name="Copy").click()
    expect(answer.get_by_role("button", name="Copied")).to_be_visible()
    assert "six weeks" in page.evaluate("navigator.clipboard.readText()")

    trace.locator("[class*=passage-] button:visible").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("citric acid")
    assert [url for url in foreign if not url.startswith(("data:", "blob:"))] == []


CLICK_FIRST_CITATION = """new MutationObserver((_, observer) => {
  const citation = document.querySelector('a[href^="#cite-"]')
  if (!citation) return
  observer.disconnect()
  citation.click()
}).observe(document, { childList: true, subtree: true })"""


def test_a_citation_clicked_as_soon_as_it_is_drawn_opens(page: Page, app_on_ollama: str):
    open_page(page, app_on_ollama)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    conversation = page.url
    page.add_init_script(CLICK_FIRST_CITATION)
    page.reload()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("citric acid")
    expect(page).to_have_url(conversation)
    page.go_back()
    expect(drawer).to_be_hidden()
    expect(page).to_have_url(conversation)
    page.go_back()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()


def test_an_answer_goes_on_after_a_reload_and_after_the_connection_was_cut(
    page: Page, app_on_ollama: str, ollama: ScriptedOllama
):
    long = Say(LONG, per_token=0.1)
    ollama.script = writing(long)
    with TcpProxy(app_on_ollama) as proxy:
        open_page(page, proxy.url)
        ask(page, QUESTION)
        answer = page.get_by_test_id("stChatMessage").last
        expect(answer).to_contain_text("Word 3.")
        page.reload()
        expect(answer).to_contain_text("Word 3.")
        proxy.cut()
        expect(page.get_by_test_id("stConnectionStatus")).to_be_visible()
        proxy.restore()
        long.per_token = 0
        expect(answer).to_contain_text("Word 119.")
        expect(badge(page, "partly covered")).to_be_visible()
        expect(page.get_by_test_id("stChatMessage")).to_have_count(2)
    assert len([asked for asked in ollama.chats if asked.writes]) == 1


def test_an_application_that_does_not_answer_is_described_in_its_own_words(page: Page, app_with_notes: str):
    with TcpProxy(app_with_notes) as proxy:
        open_page(page, proxy.url)
        box = page.get_by_test_id("stChatInputTextArea")
        box.fill("Half a question")
        proxy.cut()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading")).to_have_text("CRAG Chat does not answer")
        expect(dialog).to_contain_text("This page goes on by itself")
        expect(dialog).not_to_contain_text("Streamlit")
        page.keyboard.press("Escape")
        page.get_by_test_id("stConnectionStatus").hover()
        expect(page.get_by_role("tooltip")).to_contain_text("CRAG Chat")
        expect(page.get_by_role("tooltip")).not_to_contain_text("Streamlit")
        proxy.restore()
        expect(dialog).to_have_count(0)
        expect(box).to_have_value("Half a question")


def test_a_question_sent_meanwhile_waits_its_turn(page: Page, app_on_ollama: str, ollama: ScriptedOllama):
    long = Say(LONG, per_token=0.1)
    ollama.script = writing(long)
    open_page(page, app_on_ollama)
    ask(page, QUESTION)
    expect(page.get_by_test_id("stChatMessage").last).to_contain_text("Word 1.")
    ask(page, "When is the grinder cleaned?")
    expect(page.get_by_text("Waiting: asked when this answer is done.")).to_be_visible()
    expect(page.get_by_test_id("stChatMessage")).to_have_count(3)
    ollama.script = writing(Say("The grinder is cleaned on Fridays [1]."))
    long.per_token = 0
    expect(page.get_by_test_id("stChatMessage").last).to_contain_text("on Fridays")


def test_another_tab_follows_and_questions_that_both_send_at_once_are_answered(
    page: Page, context: BrowserContext, app_on_ollama: str, ollama: ScriptedOllama
):
    open_page(page, app_on_ollama)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    other = open_page(context.new_page(), page.url)
    other.locator("[class*=trace-of-] button:visible").last.click()
    settled(other)
    ask(page, "How often is the espresso machine descaled?")
    expect(other.get_by_test_id("stChatMessage").nth(2)).to_contain_text("How often")
    expect(other.get_by_test_id("stChatMessage").nth(3)).to_contain_text("every six weeks")
    expect(badge(page, "from your documents")).to_be_visible()
    expect(page.get_by_test_id("stChatMessage")).to_have_count(4)
    questions = "When is the grinder cleaned?", "Where are beans ordered from?"
    for tab, question in zip((page, other), questions, strict=True):
        tab.get_by_test_id("stChatInputTextArea").fill(question)
    for tab in (page, other):
        tab.get_by_test_id("stChatInputTextArea").press("Enter", no_wait_after=True)
    for tab in (page, other):
        expect(tab.get_by_test_id("stChatMessage")).to_have_count(8)
        for question in questions:
            expect(tab.get_by_test_id("stChatMessage").filter(has_text=question)).to_be_visible()
        answered = tab.get_by_test_id("stChatMessage").locator(".stMarkdownBadge", has_text="from your documents")
        expect(answered).to_have_count(4)
    other.close()
