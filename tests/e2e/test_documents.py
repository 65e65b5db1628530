"""Adding, refusing and removing documents in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import choose, dialog_violations, press, violations
from tests.e2e.browser import open_page, settled, upload, uploader
from tests.e2e.conftest import NOTES


def test_documents_are_added_refused_and_removed(page: Page, app: str):
    open_page(page, f"{app}/documents")
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    expect(page.get_by_text("Page not found")).to_have_count(0)
    uploader(page).set_input_files(
        [
            {"name": "brewing.md", "mimeType": "text/markdown", "buffer": NOTES.encode()},
            {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""},
            {
                "name": "<img src=x onerror=alert(1)>.txt",
                "mimeType": "text/plain",
                "buffer": b"A short but honest text.",
            },
            {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\nnothing"},
        ]
    )
    page.get_by_text("Dismiss all").wait_for()
    settled(page)
    expect(page.get_by_text("Added 2 documents")).to_be_visible()
    expect(page.get_by_text("2 refused", exact=False)).to_be_visible()
    expect(page.get_by_text("Added: 1 passage")).to_have_count(2)
    assert page.locator("img[src=x]").count() == 0

    page.get_by_label("Add web pages, one address per line").fill("http://127.0.0.1:1/inside\nfile:///etc/passwd")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("4 refused")).to_be_visible()
    expect(page.get_by_text("own network", exact=False).first).to_be_visible()
    page.get_by_text("Dismiss all").click()
    expect(page.get_by_text("Dismiss all")).to_have_count(0)

    upload(page, "brewing.md", NOTES.encode())
    expect(page.get_by_text("Unchanged: already added")).to_be_visible()

    page.get_by_test_id("stDataFrame").hover()
    expect(page.get_by_role("button", name=re.compile("^Search"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Download as CSV"))).to_have_count(0)  # it keeps formulas

    table = page.get_by_test_id("data-grid-canvas").bounding_box()
    assert table is not None
    page.mouse.click(table["x"] + 70, table["y"] + 55)  # the title in the first row
    expect(page.get_by_role("dialog")).to_contain_text("added")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.mouse.click(table["x"] + 17, table["y"] + 55)  # the box before the first row
    for button in ("Open 1 document", "Rename 1 document", "Move 1 document"):
        press(page, button)
        assert dialog_violations(page) == [], button
    page.get_by_role("button", name="Remove 1 document").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Their passages are removed too")
    assert violations(page) == []
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_test_id("stSidebar").get_by_text("1 passage · Built-in embeddings")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_test_id("stSidebar").get_by_text("2 passages · Built-in embeddings")).to_be_visible()
    _dialogs_of_collections_are_accessible(page)


def _dialogs_of_collections_are_accessible(page: Page) -> None:
    for button in ("Export", "Import", "Refresh all", "Watched folders"):
        press(page, button)
        assert dialog_violations(page) == [], button
    press(page, "New")
    page.get_by_label("Name").fill("Papers")
    assert violations(page) == []
    page.keyboard.press("Enter")
    for option in ("Rename", "Delete"):
        choose(page, "Edit", option)
        assert dialog_violations(page) == [], option
