"""The settings in a real browser: found while typing, and moved by keys."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.browser import open_page, settled


def test_a_setting_is_found_while_typing_and_moved_by_keys(page: Page, app_with_notes: str):
    open_page(page, f"{app_with_notes}/settings")
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
