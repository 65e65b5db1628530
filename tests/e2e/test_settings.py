"""The settings in a real browser: found while typing, moved by keys, in dialogs in which axe finds nothing."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.doubles.ollama import ScriptedOllama
from tests.e2e.accessibility import dialog_violations, press
from tests.e2e.browser import open_page, settled


def test_a_setting_is_found_while_typing_and_moved_by_keys(page: Page, app_on_ollama: str, ollama: ScriptedOllama):
    open_page(page, f"{app_on_ollama}/settings")
    _dialogs_are_accessible(page)
    assert not any(asked.path == "/api/chat" for asked in ollama.requests)
    page.get_by_label("Search settings").press_sequentially("longest")
    expect(page.get_by_text("Answering: longest reply").first).to_be_visible()
    expect(page.get_by_text("Writes the answer")).not_to_be_visible()
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")
    expect(page.locator(".stMarkdownBadge", has_text="saved")).to_be_visible()
    expect(slider).to_be_focused()
    slider.press("ArrowRight")
    expect(page.get_by_test_id("stSliderThumbValue").first).to_have_text("4,096")
    settled(page)  # a click during a redraw is lost
    page.get_by_role("button", name="Back to default").click()
    expect(page.get_by_test_id("stSliderThumbValue").first).to_have_text("1,024")
    expect(page.locator(".stMarkdownBadge", has_text="saved")).to_have_count(0)


def _dialogs_are_accessible(page: Page) -> None:
    """Before a model on another machine is used, and before one is deleted."""
    expect(page.get_by_text("runs at ollama.com").first).to_be_visible()
    settled(page)
    page.get_by_role("combobox").first.fill("gpt-oss")
    page.get_by_role("option", name="gpt-oss").last.click()  # the first is to add what was typed
    expect(page.get_by_role("dialog")).to_contain_text("runs on another machine, at ollama.com")
    assert dialog_violations(page) == []
    press(page, "Delete")
    assert dialog_violations(page) == []
