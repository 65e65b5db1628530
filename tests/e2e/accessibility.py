"""Every page under axe: `python -m tests.e2e.accessibility`, by hand; the suite asks `violations` of the main pages.

axe-core comes with the package axe-playwright-python; nothing is fetched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect, sync_playwright

from crag.assembly import open_application
from crag.settings import Settings
from tests.doubles.ollama import ScriptedOllama
from tests.e2e.browser import PHONE, ask, badge, launch, open_page, settled
from tests.e2e.conftest import NOTES, QUESTION
from tests.served import served

SEVERE = ("serious", "critical")
# What Streamlit itself draws and no page can change, by axe's rule and a part of the selector.
STREAMLITS_OWN = {
    ("target-size", "stHeaderActionElements"): "the anchor of a heading, seen only when it is pointed at",
}


def violations(page: Page, impacts: tuple[str, ...] = SEVERE) -> list[str]:
    """What axe finds on the page as it stands: rule, impact, element; without what is Streamlit's own."""
    page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((results) => results.violations)")
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:160]} — {node['failureSummary'].splitlines()[-1].strip()}"
        for rule in found
        if rule["impact"] in impacts
        for node in rule["nodes"]
        if not any(rule["id"] == own and part in node["html"] for own, part in STREAMLITS_OWN)
    ]


def main() -> None:
    """Prints what is found on every page, in both themes, wide and on a phone."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, ScriptedOllama() as ollama:
        home = Path(folder) / "home"
        application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
        application.library.add_bytes("brewing.md", NOTES.encode())
        application.close()
        browser = launch(playwright)
        with served(home, OLLAMA_HOST=ollama.url, CRAG_EMBEDDER="builtin", CRAG_PEOPLE="one") as address:
            for scheme in ("light", "dark"):
                for phone in (False, True):
                    for where, page in _pages(browser, address, scheme, phone=phone):
                        _print(f"{where}, {scheme}, {390 if phone else 1440}", page)
        browser.close()


def _print(where: str, page: Page) -> None:
    settled(page)
    page.wait_for_timeout(700)  # fades
    found = violations(page, (*SEVERE, "moderate", "minor"))
    print(f"{where}: {len(found)}", *dict.fromkeys(found), sep="\n    ", flush=True)


def _pages(browser: Browser, address: str, scheme: Any, *, phone: bool) -> Iterator[tuple[str, Page]]:
    """Every page and what opens on it, one after the other."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844} if phone else {"width": 1440, "height": 900},
        color_scheme=scheme,
        user_agent=PHONE if phone else None,
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    open_page(page, address)
    yield "chat, empty", page
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible(timeout=90_000)
    yield "chat, answered", page
    for what, act in _OPENED.items():
        act(page)
        yield f"chat, {what}", page
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="hidden")
    for path in ("documents", "settings", "retrieval", "calibration", "inspect", "gaps", "compare"):
        open_page(page, f"{address}/{path}")
        yield path, page
    context.close()


def _open_source(page: Page) -> None:
    page.locator('a[href^="#cite-"]').first.click()
    page.get_by_role("dialog").wait_for()


def _open_options(page: Page) -> None:
    page.get_by_role("button", name="Paper").locator("visible=true").first.click()
    page.get_by_role("dialog").wait_for()


_OPENED: dict[str, Callable[[Page], None]] = {"source drawer": _open_source, "options": _open_options}


if __name__ == "__main__":
    main()
