"""Charts are drawn and rows chosen in a real browser, on pages in which axe finds nothing severe."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import choose, dialog_violations, press, violations
from tests.e2e.browser import ask, badge, open_page, settled
from tests.e2e.conftest import QUESTION

ROWS = (
    {"question": QUESTION, "reference": "citric acid"},
    {"question": "When is the grinder cleaned?", "reference": "on Mondays"},
    {"question": "Who won the 2024 NBA finals?", "answerable": False},
)
_ROW_HEIGHT, _HALF = 35, 17  # pixels: a table is a canvas, so a row is found by its position


def test_charts_are_drawn_and_rows_chosen_by_mouse_and_keyboard(page: Page, app_with_notes: str):
    open_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    assert violations(page) == []
    _look_at_the_run(page)
    _choose_a_document(page)
    _choose_an_answer_of_an_evaluation(page)


def _follow(page: Page, name: str) -> None:
    settled(page)
    page.get_by_test_id("stTopNavLink").filter(has_text=name).click()


def _look_at_the_run(page: Page) -> None:
    page.get_by_role("button", name="Open in Inspect").click()
    main = page.get_by_test_id("stMain")
    expect(main.get_by_role("heading", name=QUESTION)).to_be_visible()
    expect(main.locator("svg").get_by_text("Grade").first).to_be_visible()
    expect(main.get_by_test_id("stVegaLiteChart")).to_be_visible()
    assert violations(page) == []
    for button in ("Share", "Compare"):
        press(page, button)
        assert dialog_violations(page) == [], button


def _choose_a_document(page: Page) -> None:
    _follow(page, "Documents")
    table = page.get_by_test_id("stDataFrame")
    table.hover()
    expect(page.get_by_role("button", name=re.compile("^Search"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Download as CSV"))).to_have_count(0)  # it keeps formulas
    _click_cell(page, row=1)
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("added")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    settled(page)
    table.click(position={"x": 17, "y": _ROW_HEIGHT + _HALF})  # the box before the first row
    for button in (
        *("Rename", re.compile("^Open$"), re.compile("^Move$"), "Remove"),
        *("New collection", "Export", "Import", "Refresh all", "Watched folders"),
    ):
        press(page, button)
        assert dialog_violations(page) == [], button
    press(page, "Coverage gaps")
    expect(page.get_by_role("heading", name="Coverage gaps")).to_be_visible()
    entries = page.get_by_test_id("stTopNavLink")
    expect(entries.filter(has_text="Documents").locator("span").first).to_have_css("font-weight", "600")
    expect(entries.filter(has_text="Inspect").locator("span").first).to_have_css("font-weight", "400")


def _choose_an_answer_of_an_evaluation(page: Page) -> None:
    _follow(page, "Evaluate")
    upload_dataset(page, "\n".join(map(json.dumps, ROWS)).encode())
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_test_id("stMain").get_by_text(f"{len(ROWS)} questions")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Run", exact=True).locator("visible=true").click()
    expect(page.get_by_role("button", name="Run again").locator("visible=true")).to_be_visible()
    _click_cell(page, row=2)
    for key, row in ((None, 1), ("ArrowUp", 0), ("ArrowDown", 1)):
        if key:
            page.keyboard.press(key)
        expect(page.get_by_role("strong").filter(has_text=ROWS[row]["question"])).to_be_visible()
    assert violations(page) == []
    press(page, "Export")
    assert dialog_violations(page) == []
    for option in ("Rename", "Judge answers", "Delete"):
        choose(page, "More", option)
        assert dialog_violations(page) == [], option


def upload_dataset(page: Page, content: bytes) -> None:
    """As a file called kitchen, in the dialog that is opened for it."""
    page.get_by_role("button", name="Upload").locator("visible=true").click()
    file = {"name": "kitchen.jsonl", "mimeType": "application/x-ndjson", "buffer": content}
    page.get_by_role("dialog").get_by_test_id("stFileUploaderDropzoneInput").set_input_files([file])


def _click_cell(page: Page, row: int) -> None:
    """Click on text of a row, beyond the box that ticks it."""
    settled(page)
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    table.click(position={"x": 70, "y": row * _ROW_HEIGHT + _HALF})
