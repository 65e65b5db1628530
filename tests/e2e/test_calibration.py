"""Calibrating in a real browser: the measurement survives a reload; thresholds are moved, used and reset."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from crag.app.application import open_application
from crag.settings import Settings
from tests.e2e.browser import open_page, settled
from tests.evaluation.towns import add_facts
from tests.forked import forked


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """A home with a little library."""
    application = open_application(Settings(home=tmp_path / "home", chat_model="builtin", embedder="builtin"))
    add_facts(application.library)
    application.close()
    return tmp_path / "home"


def test_thresholds_are_measured_moved_used_and_given_up(page: Page, towns: Path):
    with forked(towns, OLLAMA_HOST="127.0.0.1:9") as app:
        open_page(page, f"{app}/documents")
        page.get_by_role("button", name="Calibrate").locator("visible=true").click()
        expect(page.get_by_role("heading", name="Calibrate")).to_be_visible()
        settled(page)  # a button that is drawn again between press and release is not clicked
        page.get_by_role("button", name="Measure").locator("visible=true").click()
        begun = page.get_by_role("button", name="Stop").or_(page.get_by_role("heading", name="Scores"))
        expect(begun.first).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Scores")).to_be_visible()
        chart = page.get_by_test_id("stVegaLiteChart")
        expect(chart).to_be_visible()
        settled(page)
        before = page.get_by_test_id("stMain").locator("table").first.inner_text()
        upper = page.get_by_role("slider").last
        upper.focus()
        for _ in range(12):
            upper.press("ArrowRight")
        settled(page)
        expect(page.get_by_test_id("stMain").locator("table").first).not_to_have_text(before)
        page.get_by_role("button", name="Use these thresholds").locator("visible=true").click()
        expect(page.get_by_role("heading", name="In use")).to_be_visible()
        page.get_by_role("button", name="Back to default").locator("visible=true").click()
        expect(page.get_by_role("heading", name="In use")).to_have_count(0)
