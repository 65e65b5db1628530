"""Inspecting a run in a real browser: open it, continue with another verdict, compare both."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import dialog_violations, violations
from tests.e2e.browser import ask, badge, open_page, settled, unfolded
from tests.e2e.conftest import QUESTION


def press(page: Page, name: str) -> None:
    settled(page)
    page.get_by_role("button", name=name).locator("visible=true").first.click()


def test_a_run_is_laid_open_changed_at_a_node_and_compared(page: Page, app_on_ollama: str):
    open_page(page, app_on_ollama)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    assert violations(page) == []
    press(page, "Open in Inspect")
    main = page.get_by_test_id("stMain")
    expect(main.get_by_role("heading", name=QUESTION)).to_be_visible()
    expect(main.locator("svg").get_by_text("Grade").first).to_be_visible()
    expect(main.get_by_test_id("stVegaLiteChart")).to_be_visible()

    assert violations(page) == []
    steps = main.get_by_test_id("stExpander")
    steps.filter(has_text="Write").last.get_by_text("Write").first.click()
    page.get_by_role("tab", name="Prompt as sent").click()
    expect(page.get_by_role("tabpanel").get_by_text("<knowledge>").last).to_be_visible()

    settled(page)
    decide = steps.filter(has_text="Decide").first
    decide.get_by_text("Decide").first.click()
    on = decide.get_by_role("button", name="Continue from here with changes")
    unfolded(on)
    settled(page)
    on.click()
    drawer = page.get_by_role("dialog")
    assert violations(page) == []
    drawer.get_by_role("radio", name="Leave out").first.click()
    settled(page)
    drawer.get_by_role("button", name="Continue from here").click()
    expect(drawer).to_have_count(0)
    expect(main).to_contain_text("Version 2 of 2 · you left out")
    expect(badge(page, "not in your documents")).to_be_visible()

    press(page, "Share")
    assert dialog_violations(page) == []
    press(page, "Compare")
    assert violations(page) == []
    press(page, "Version 1")
    expect(main.get_by_role("heading", name="What differs")).to_be_visible()
    expect(main).to_contain_text("Decision:")
    expect(main.get_by_role("row", name="Brewing notes differs")).to_contain_text("left out by you")
