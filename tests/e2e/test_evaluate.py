"""Evaluating in a real browser: upload and run a dataset, label an answer and inspect it."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import choose, dialog_violations, press, violations
from tests.e2e.browser import open_page, settled
from tests.forked import forked

ROWS = (
    {"question": "What is the espresso machine descaled with?", "reference": "citric acid"},
    {"question": "How long does descaling take?", "reference": "two hours"},
    {"question": "Who won the 2024 NBA finals?", "answerable": False},
)
_ROW_HEIGHT, _HALF = 35, 17  # pixels: the table is a canvas, so a row is found by its position


def test_a_dataset_is_uploaded_run_labelled_and_inspected(page: Page, home_with_notes: Path):
    with forked(home_with_notes, OLLAMA_HOST="127.0.0.1:9", CRAG_PEOPLE="one") as app:
        open_page(page, f"{app}/evaluate")
        upload_dataset(page, b'{"question": 3}')
        expect(page.get_by_role("dialog")).to_contain_text("Line 1")
        assert violations(page) == []
        upload_dataset(page, "\n".join(map(json.dumps, ROWS)).encode())
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_test_id("stMain").get_by_text("3 questions")).to_be_visible()
        assert violations(page) == []
        page.get_by_role("button", name="Run", exact=True).locator("visible=true").click()
        expect(page.get_by_role("heading", name="kitchen")).to_be_visible()
        page.reload()
        expect(page.get_by_role("button", name="Run again").locator("visible=true")).to_be_visible()
        expect(page.get_by_test_id("stMetric").first).to_contain_text("n = ")
        page.get_by_role("slider").press("ArrowRight")
        expect(page.get_by_role("button", name="Use this threshold")).to_be_visible()
        _choose_second_answer(page)
        page.keyboard.press("ArrowUp")
        expect(page.get_by_role("strong").filter(has_text=ROWS[0]["question"])).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("strong").filter(has_text=ROWS[1]["question"])).to_be_visible()
        assert violations(page) == []
        page.get_by_role("radio", name="Wrong", exact=True).click()
        expect(page.get_by_test_id("stMetric").first).to_contain_text("1 rated by a person")
        expect(page.get_by_role("cell", name="Comparing texts")).to_be_visible()
        page.get_by_role("button", name="Open in Inspect").locator("visible=true").click()
        expect(page.get_by_role("heading", name="How long does descaling take?")).to_be_visible()
        expect(page.get_by_role("heading", name="Verdicts")).to_be_visible()
        open_page(page, f"{app}/evaluate")
        _click_cell(page, row=1)
        expect(page.get_by_role("heading", name="kitchen")).to_be_visible()
        press(page, "Export")
        assert dialog_violations(page) == []
        for option in ("Rename", "Judge answers", "Delete"):
            choose(page, "More", option)
            assert dialog_violations(page) == [], option


def upload_dataset(page: Page, content: bytes) -> None:
    """As a file called kitchen, in the dialog that is opened for it."""
    dialog = page.get_by_role("dialog")
    if not dialog.count():
        page.get_by_role("button", name="Upload").locator("visible=true").click()
    file = {"name": "kitchen.jsonl", "mimeType": "application/x-ndjson", "buffer": content}
    dialog.get_by_test_id("stFileUploaderDropzoneInput").set_input_files([file])


def _click_cell(page: Page, row: int) -> None:
    """Click on text of a row, beyond the box that ticks it."""
    settled(page)
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    table.click(position={"x": 70, "y": row * _ROW_HEIGHT + _HALF})


def _choose_second_answer(page: Page) -> None:
    _click_cell(page, row=2)
    expect(page.get_by_role("button", name="Open in Inspect").locator("visible=true")).to_be_visible()
