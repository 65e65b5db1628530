"""Models in a real browser: waiting for one, stopping and continuing a partial answer, asking a long question."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.e2e.browser import ask, open_page, settled
from tests.e2e.conftest import QUESTION

LONG = " ".join(["The machine is descaled every six weeks [1]."] + [f"Word {number}." for number in range(200)])


def saying(say: Say):
    """The little model, except that its answers are these."""

    def script(asked: Asked) -> Say:
        return say if asked.writes else Say(answer_like_a_little_model(asked))

    return script


def test_a_load_is_told_and_a_stopped_answer_kept_and_gone_on_with(
    page: Page, app_on_ollama: str, ollama: ScriptedOllama
):
    ollama.script = saying(Say(LONG, per_token=0.05))
    open_page(page, app_on_ollama)
    ollama.memory.unload("llama3.1:8b")
    ollama.memory.load_seconds = 3.0
    ask(page, QUESTION)
    for place in ("stMain", "stSidebar"):
        expect(page.get_by_test_id(place).get_by_text("Llama 3.1 8B is loading").first).to_be_visible()
    answer = page.get_by_test_id("stChatMessage").last
    expect(answer).to_contain_text("Word 3.")
    page.keyboard.press("Escape")
    expect(answer).to_contain_text("Stopped by you. The text so far is kept.")
    expect(answer).to_contain_text("Word 3.")
    expect(answer).not_to_contain_text("Word 199.")
    expect(page.get_by_role("button", name="Stop", exact=False)).to_have_count(0)
    ollama.script = saying(Say("The rest is soon said."))
    answer.get_by_role("button", name="Continue").click()
    expect(answer).to_contain_text("The rest is soon said.")
    expect(answer).to_contain_text("Word 3.")
    expect(answer).to_contain_text("Version 2 of 2 · continued")


def test_a_question_of_two_hundred_thousand_characters(page: Page, app_on_ollama: str):
    open_page(page, app_on_ollama)
    lines = "\n".join(f"Line {number}: the kitchen has a kettle and a shelf." for number in range(5000))
    question = f"{QUESTION}\n{lines}"[:199_950] + f"\n{QUESTION}"
    page.evaluate("text => navigator.clipboard.writeText(text)", question)
    box = page.get_by_test_id("stChatInputTextArea")
    box.click()
    box.press("Control+v")
    box.press("Enter")
    expect(page.get_by_text(f"Show all {len(question):,} characters")).to_be_visible()
    expect(page.get_by_text("from the middle were left out").first).to_be_visible()
    settled(page)
    assert page.locator("body").evaluate("body => body.textContent.length") < 20_000
    page.get_by_text("Show all").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("Line 3000: the kitchen")
    assert len(page.title()) < 120
