"""The settings in a real browser: search while typing, keyboard control, and pulling, cancelling and using a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from crag.settings import Settings
from crag.storage.engine import Database
from crag.storage.preferences import Preferences
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_registry import Offer
from tests.doubles.ollama_values import CLOUD, LLAMA, NOMIC
from tests.e2e.accessibility import dialog_violations, press, violations
from tests.e2e.browser import open_page, settled
from tests.forked import forked
from tests.waiting import wait_until

QWEN = replace(LLAMA, name="qwen3:8b", size=5_200_000_000, digest="9" * 64)


@pytest.fixture
def ollama():
    offers = {"qwen3:8b": Offer(QWEN, seconds=60, steps=600)}
    with ScriptedOllama(models=[LLAMA, CLOUD, NOMIC], registry=offers) as server:
        yield server


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def app(ollama, home):
    with forked(home, OLLAMA_HOST=ollama.url) as address:
        yield address


def test_settings_are_searched_and_set_by_keys_and_models_pulled(page, app, home, ollama):
    open_page(page, f"{app}/settings")
    _get_cancel_and_go_on(page, ollama)
    _is_asked_before_anything_leaves(page, ollama)
    _find_and_move(page, home)


def _press(page, name):
    settled(page)  # a click during a redraw is lost
    page.get_by_role("button", name=name).click()


def _get_cancel_and_go_on(page, ollama):
    field = page.get_by_role("combobox", name="Get another model")
    field.fill("qwen3:8b")
    field.press("Enter")
    _press(page, "Get it")
    expect(page.get_by_text("MB of 5.2 GB")).to_be_visible()
    _press(page, "Cancel")
    expect(page.get_by_text("downloaded and kept. Not finished.")).to_be_visible()
    ollama.registry["qwen3:8b"].seconds = 0
    _press(page, "Resume")
    expect(page.get_by_text("131,072 tokens · 5.2 GB")).to_be_visible()


def _is_asked_before_anything_leaves(page, ollama):
    settled(page)  # the model that has just come is still to be listed
    page.get_by_role("combobox").first.fill("gpt-oss")
    page.get_by_role("option", name="gpt-oss").last.click()  # the first is to add what was typed
    expect(page.get_by_role("dialog")).to_contain_text("runs on another machine, at ollama.com")
    assert violations(page) == []
    _press(page, "Cancel")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    press(page, "Delete")
    assert dialog_violations(page) == []
    assert not any(asked.path == "/api/chat" for asked in ollama.requests)


def _find_and_move(page, home):
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
    database = Database(home)
    kept = Preferences(database, Settings())
    wait_until(lambda: kept.effective("answering.answer_limit").value == 4096)  # the browser tells a little later
    database.close()
    _press(page, "Back to default")
    expect(page.get_by_test_id("stSliderThumbValue").first).to_have_text("1,024")
