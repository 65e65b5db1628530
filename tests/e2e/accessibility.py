"""Check every page and dialog with axe, by hand: `python -m tests.e2e.accessibility [--dark|--light] [PART ...]`.

The suite asks `violations` of main pages. axe-core comes with the package axe-playwright-python; nothing is fetched.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, sync_playwright

from crag.options import RunOptions
from tests.applications import opened_with, wait
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import CLOUD, LLAMA, NOMIC
from tests.doubles.tavily import TavilyServer
from tests.e2e.browser import ask, badge, launch, new_screen, open_page, settled
from tests.e2e.conftest import NOTES, QUESTION
from tests.evaluation.towns import add_facts
from tests.served import served

SEVERE = ("serious", "critical")
LOST = "Who won the 2024 NBA finals?"
# What Streamlit itself draws and no page can change: axe's rule, and a part of the element or of what holds it.
STREAMLITS_OWN = {
    (
        "presentation-role-conflict",
        "stFileUploaderDropzone",
    ): "the uploader's box is presentation and named",
    ("region", 'role="menu"'): "an open menu is put beside the page, outside of its landmarks",
    ("aria-dialog-name", "stToast"): "a toast names a title that it does not have",
    ("empty-table-header", 'role="columnheader"'): "the column of buttons in a table has no title",
}
# Streamlit lets what a rerun has not drawn again fade, which would count as text of too little contrast.
_STILL = """() => !document.querySelector("[data-stale=true], [aria-busy=true]") && document.getAnimations().every(
  (one) => one.playState != "running" || one.effect.getComputedTiming().iterations == Infinity)"""


def violations(page: Page, impacts: tuple[str, ...] = SEVERE) -> list[str]:
    """What axe finds on the page once nothing fades: rule, impact, element; without what is Streamlit's own."""
    settled(page)
    page.wait_for_function(_STILL, timeout=20_000)
    page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((results) => results.violations)")
    return [
        f"{rule['id']} ({rule['impact']}): {' '.join(node['target'])} {node['html'][:200]} — "
        f"{node['failureSummary'].splitlines()[-1].strip()}"
        for rule in found
        if rule["impact"] in impacts
        for node in rule["nodes"]
        if not any(rule["id"] == own and part in f"{node['target']}{node['html']}" for own, part in STREAMLITS_OWN)
    ]


def dialog_violations(page: Page) -> list[str]:
    """What axe finds while the dialog that was asked for is open; closes it."""
    page.get_by_role("dialog").wait_for()
    found = violations(page)
    close_dialog(page)
    return found


def close_dialog(page: Page) -> None:
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")


def press(page: Page, name: str | re.Pattern[str], role: Any = "button") -> None:
    settled(page)
    page.get_by_role(role, name=name).locator("visible=true").last.click()


def choose(page: Page, menu: str, option: str) -> None:
    press(page, menu)
    press(page, option, "menuitem")


@dataclass
class Sweep:
    """One window on an application that holds a little of everything, and where to go in it."""

    page: Page
    address: str
    runs: list[str]
    found: int = 0

    def go(self, path: str) -> None:
        open_page(self.page, f"{self.address}/{path}")

    def look(self, where: str) -> None:
        """Prints what is found."""
        found = violations(self.page, (*SEVERE, "moderate", "minor"))
        self.found += len(found)
        print(f"{where}: {len(found)}", *dict.fromkeys(found), sep="\n    ", flush=True)

    def press(self, name: str | re.Pattern[str], role: Any = "button") -> None:
        press(self.page, name, role)

    def choose(self, menu: str, option: str) -> None:
        choose(self.page, menu, option)

    def look_into(self, where: str) -> None:
        """A dialog that was asked for; closed afterwards."""
        self.page.get_by_role("dialog").wait_for()
        self.look(where)
        close_dialog(self.page)


def choose_first_row(page: Page) -> None:
    """Choose the first row of the table in view."""
    settled(page)
    page.get_by_test_id("stDataFrame").first.click(position={"x": 15, "y": 52})


def _chat(sweep: Sweep) -> None:
    page = sweep.page
    sweep.go("")
    sweep.look("chat, no question yet")
    ask(page, QUESTION)
    badge(page, "from your documents").wait_for()
    page.get_by_test_id("stChatMessage").last.get_by_text("Source of each sentence").click()
    sweep.look("chat, answered, with the trace")
    ask(page, LOST)
    page.get_by_label("Query for the web").wait_for()
    sweep.look("chat, asking about the web")
    sweep.press("Don't search")
    page.get_by_text("Nearest passages:").wait_for()
    sweep.look("chat, not answered")
    page.get_by_test_id("stSidebar").get_by_text("History", exact=True).click()
    sweep.look("chat, conversations")
    sweep.press("Web: ask")
    sweep.look("chat, a menu")


def _start(sweep: Sweep) -> None:
    sweep.go("")
    sweep.look("start")
    help_buttons = sweep.page.get_by_test_id("stMain").get_by_role("button", name="How to")
    for number in range(help_buttons.count()):
        help_buttons.nth(number).click()
        sweep.look_into(f"start, help {number + 1}")


def _dialogs(sweep: Sweep) -> None:
    page = sweep.page
    sweep.go("")
    ask(page, QUESTION)
    badge(page, "from your documents").wait_for()
    settled(page)
    page.locator('a[href^="#cite-"]').first.click()
    sweep.look_into("source drawer")
    for menu, option in (("More", "Copy with sources"), ("More", "Share this answer"), ("Again", "Compare with other")):
        sweep.choose(menu, option)
        sweep.look_into(option)
    sweep.press("Balanced")
    sweep.look_into("options")
    settled(page)
    page.get_by_role("radio", name="Thumbs down").click()
    sweep.look_into("what was wrong")
    page.get_by_test_id("stSidebar").get_by_text("History", exact=True).click()
    for option in ("Rename", "Export"):
        sweep.choose("Edit", option)
        sweep.look_into(option)
    sweep.press("Import")
    sweep.look_into("import")
    sweep.choose("More", "Pin as a test question")
    sweep.look_into("pinning")
    sweep.choose("More", "Keep as a note")
    sweep.choose("More", "Edit question")
    sweep.look("editing a question")
    sweep.go("notes")
    sweep.press("Export")
    sweep.look_into("notes, export")
    sweep.choose("More", "Edit")
    sweep.look_into("notes, edit")


def _documents(sweep: Sweep) -> None:
    sweep.go("documents")
    sweep.look("documents")
    for button in ("New collection", "Export", "Import", "Refresh all", "Watched folders"):
        sweep.press(button)
        sweep.look_into(f"documents, {button}")
    choose_first_row(sweep.page)
    for button in ("Rename", re.compile("^Open$"), re.compile("^Move$"), "Remove"):
        sweep.press(button)
        sweep.look_into(f"documents, {button}")
    sweep.press("New collection")
    sweep.page.get_by_label("Name").fill("Papers")
    sweep.page.keyboard.press("Enter")
    for option in ("Rename", "Delete"):
        sweep.choose("Edit", option)
        sweep.look_into(f"documents, collection, {option}")


def _settings(sweep: Sweep) -> None:
    from pages.settings.sections import all_sections

    sweep.go("settings")
    for section in all_sections():
        if section.name == "Account":  # nobody logs in here
            continue
        sweep.page.get_by_test_id("stSidebar").get_by_role("button", name=section.name).first.click()
        sweep.page.get_by_role("heading", name=section.name, exact=True).wait_for()
        sweep.look(f"settings, {section.name}")
    sweep.go("settings")
    sweep.press("Delete")
    sweep.look_into("settings, deleting a model")
    sweep.page.get_by_role("combobox").first.fill("gpt-oss")
    sweep.page.get_by_role("option", name="gpt-oss").last.click()
    sweep.look_into("settings, a model on another machine")
    sweep.go("settings?section=privacy")
    sweep.press("Clear list")
    sweep.look_into("settings, clearing the list")
    sweep.go("settings?section=presets")
    sweep.page.get_by_label("Save current settings as a preset").fill("Mine")
    sweep.press("Save")
    sweep.press("Delete")
    sweep.look_into("settings, deleting a preset")


def _retrieval(sweep: Sweep) -> None:
    sweep.go("retrieval")
    sweep.page.get_by_label("Question or words").fill(QUESTION)
    sweep.page.keyboard.press("Enter")
    sweep.page.get_by_text("found in").first.wait_for()
    sweep.look("try search")
    sweep.page.locator("[class*=st-key-open-] button:visible").first.click()
    sweep.look_into("try search, a passage")


def _calibration(sweep: Sweep) -> None:
    sweep.go("calibration")
    sweep.look("calibration")
    if sweep.page.get_by_role("button", name="Measure").locator("visible=true").count():
        sweep.press("Measure")
    sweep.page.get_by_role("heading", name="Scores").wait_for(timeout=180_000)
    sweep.look("calibration, measured")


def _inspect(sweep: Sweep) -> None:
    page = sweep.page
    sweep.go("inspect")
    page.get_by_test_id("stVegaLiteChart").first.wait_for()
    sweep.look("inspect, list and overview")
    sweep.go(f"inspect?run={sweep.runs[0]}")
    page.get_by_test_id("stVegaLiteChart").first.wait_for()
    sweep.look("inspect, a run")
    steps = page.get_by_test_id("stMain").get_by_test_id("stExpander")
    write = steps.filter(has_text="Write").last
    write.get_by_text("Write").first.click()
    sweep.press("Prompt as sent", "tab")
    sweep.look("inspect, a prompt")
    for button in ("Compare", "Share"):
        sweep.press(button)
        sweep.look_into(f"inspect, {button}")
    decide = steps.filter(has_text="Decide").first
    decide.get_by_text("Decide").first.click()
    sweep.press("Continue from here with changes")
    sweep.look_into("inspect, going on from a node")


def _evaluate(sweep: Sweep) -> None:
    page = sweep.page
    sweep.go("evaluate")
    sweep.look("evaluate, nothing run yet")
    for button in ("Settings", "Upload", "Five questions on three posts"):
        sweep.press(button)
        sweep.look_into(f"evaluate, {button}")
    sweep.press("Run")
    page.get_by_role("button", name="Run again").wait_for(timeout=120_000)
    choose_first_row(page)
    page.get_by_role("button", name="Open in Inspect").wait_for()
    sweep.look("evaluate, done, an answer chosen")
    sweep.press("Export")
    sweep.look_into("evaluate, export")
    for option in ("Rename", "Judge", "Delete"):
        sweep.choose("More", option)
        sweep.look_into(f"evaluate, {option}")
    sweep.press("New evaluation")
    page.get_by_role("heading", name="Evaluations").wait_for()
    sweep.look("evaluate, with a list")


def _compare(sweep: Sweep) -> None:
    sweep.go("compare?a={}&b={}".format(*sweep.runs[:2]))
    sweep.page.get_by_role("heading", name="What differs").wait_for()
    sweep.look("compare")


def _gaps(sweep: Sweep) -> None:
    sweep.go("gaps")
    sweep.page.get_by_text(LOST).first.wait_for()
    sweep.look("gaps")


def _phone(sweep: Sweep) -> None:
    page = sweep.page
    sweep.go("")
    ask(page, QUESTION)
    badge(page, "from your documents").wait_for()
    sweep.look("phone, answered")
    page.locator("[class*=trace-of-] button:visible").last.click()
    sweep.look_into("phone, trace")
    for path in ("documents", "evaluate", "notes", "settings", "inspect", f"inspect?run={sweep.runs[0]}"):
        sweep.go(path)
        sweep.look(f"phone, {path.partition('=')[0]}")


PARTS: dict[str, Callable[[Sweep], None]] = {
    "chat": _chat,
    "dialogs": _dialogs,
    "documents": _documents,
    "settings": _settings,
    "retrieval": _retrieval,
    "calibration": _calibration,
    "inspect": _inspect,
    "evaluate": _evaluate,
    "compare": _compare,
    "gaps": _gaps,
    "phone": _phone,
}


def main(arguments: list[str]) -> None:
    """Prints what is found in these parts, or in all, in both themes or one."""
    parts = [part for part in PARTS if part in arguments] or [*PARTS]
    schemes = [scheme for scheme in ("light", "dark") if f"--{scheme}" in arguments] or ["light", "dark"]
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with _empty() as address:
            print(f"nothing added yet, {schemes[0]}")
            _sweep(browser, address, [], schemes[0], _start)
        with _filled() as (address, runs):
            for scheme in schemes:
                for part in parts:
                    print(f"{part}, {scheme}", flush=True)
                    _sweep(browser, address, runs, scheme, PARTS[part], phone=part == "phone")
        browser.close()


def _sweep(
    browser: Browser, address: str, runs: list[str], scheme: Any, part: Callable[[Sweep], Any], *, phone: bool = False
) -> None:
    context = new_screen(browser, scheme, phone=phone)
    sweep = Sweep(context.new_page(), address, runs)
    try:
        part(sweep)
    except Exception as error:  # noqa: BLE001 — the other parts are looked at all the same
        print(f"NOT TO THE END: {error}\n{sweep.page.locator('body').inner_text()[-1500:]}", flush=True)
    context.close()


@contextmanager
def _empty() -> Iterator[str]:
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder) / "home", OLLAMA_HOST="127.0.0.1:9", CRAG_PEOPLE="one") as address,
    ):
        yield address


@contextmanager
def _filled() -> Iterator[tuple[str, list[str]]]:
    """An application with documents, an answer in two versions and a question that nothing answers; its runs."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedOllama(models=[LLAMA, CLOUD, NOMIC]) as ollama,
        TavilyServer() as web,
    ):
        home = Path(folder) / "home"
        runs = [*_ask_beforehand(home)]
        settings = {"TAVILY_API_KEY": "tvly-test", "CRAG_TAVILY_URL": web.url, "CRAG_PEOPLE": "one"}
        with served(home, OLLAMA_HOST=ollama.url, CRAG_EMBEDDER="builtin", **settings) as address:
            yield address, runs


def _ask_beforehand(home: Path) -> Iterable[str]:
    with opened_with(home, {"brewing.md": NOTES}) as application:
        application.outbound_log.record("api.tavily.com", "web search", LOST)
        add_facts(application.library)
        conversation = application.conversations.create()
        options = RunOptions(model="builtin", web="off")
        first = application.runs.start(conversation.id, QUESTION, options)
        wait(first)
        again = application.runs.regenerate(first.id, RunOptions(model="builtin", web="off", policy="off"))
        wait(again)
        lost = application.runs.start(conversation.id, LOST, options)
        wait(lost)
        return [first.id, again.id, lost.id]


if __name__ == "__main__":
    main(sys.argv[1:])
