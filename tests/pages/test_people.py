"""Two people on one server: no page, link, dialog or download shows one of them what belongs to the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.app.application import Application
from crag.errors import CragError
from crag.evaluation.calibrator import CalibrationPlan
from crag.options import RunOptions
from crag.server.browser_identity import headers_of
from pages.parts.routes import Page
from pages.parts.source_drawer import SourceView
from pages.settings.sections import all_sections
from tests.belongings import ANN, BEN, OFF, PAGE, WORD, Belongings, finish, make_belongings
from tests.doubles.tavily import TavilyServer
from tests.pages.conftest import ROOT
from tests.waiting import PATIENCE, wait_until

OPENED = {
    Page.CHAT,
    Page.NOTES,
    Page.DOCUMENTS,
    Page.GAPS,
    Page.COMPARE,
    Page.CALIBRATION,
    Page.INSPECT,
    Page.EVALUATE,
    Page.SETTINGS,
}
"""The pages that show a user something of theirs."""
PARAMETER = re.compile(r'(?:AddressSelection|query_params\.get)\("(\w+)"')


def sources_of(page: Page) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in sorted((ROOT / page.path).parent.glob("*.py"))]


def parameters_of(page: Page) -> list[str]:
    """What the address of a page can contain."""
    return sorted({name for text in sources_of(page) for name in PARAMETER.findall(text)})


def dialogs_of(page: Page) -> list[str]:
    """The dialogs that a page can open: constants that are named so."""
    assigned = (node for text in sources_of(page) for node in ast.parse(text).body if isinstance(node, ast.Assign))
    named = (node for node in assigned if re.search("DIALOG|DRAWER|COMPARISON", ast.unparse(node.targets[0])))
    constants = (one.value for node in named for one in ast.walk(node.value) if isinstance(one, ast.Constant))
    return sorted({value for value in constants if isinstance(value, str)})


@dataclass
class Browsers:
    """The browsers of both. `downloads` are the files that the last visit offered, made when they are fetched."""

    monkeypatch: pytest.MonkeyPatch
    tabs: dict[str, AppTest] = field(default_factory=dict)
    downloads: list[Any] = field(default_factory=list)

    def visit(
        self, user: str, page: Page, query: dict[str, str] | None = None, dialog: tuple[str, Any] | None = None
    ) -> str:
        """Everything that the browser of this user is sent, files included."""
        self.monkeypatch.setattr(type(st.context), "headers", property(lambda _: headers_of(user)))
        app = self._tab(user).switch_page(page.path)
        app.query_params.clear()
        app.query_params.update(query or {})
        app.session_state["dialog"] = dialog or ("", None)
        self.downloads.clear()
        app.run()
        self.monkeypatch.setattr(type(st.context), "headers", property(lambda _: {}))  # as outside of a script run
        files = [fetch(made) for made in self.downloads]
        return "\n".join([*sent_to(app), *(str(one) for one in files)])

    def _tab(self, user: str) -> AppTest:
        if user not in self.tabs:
            app = self.tabs[user] = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
            app.session_state["sidebar_view"] = "History"
            app.run()
        return self.tabs[user]


def fetch(made: Any) -> Any:
    """A file, made now, or why it cannot be made."""
    try:
        return made() if callable(made) else made
    except CragError as error:
        return error


def sent_to(app: AppTest) -> Iterator[str]:
    """What each element and block holds, tables and charts included."""
    for node in app._tree:
        if (proto := getattr(node, "proto", None)) is not None:
            yield proto.SerializeToString().decode("utf-8", "replace")


@pytest.fixture
def browsers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browsers]:
    """Both browsers, at a home in which Ann owns one of everything."""
    with TavilyServer(results=[PAGE]) as tavily:
        monkeypatch.setenv("CRAG_PEOPLE", "many")
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        opened = Browsers(monkeypatch)
        draw = st.download_button

        def download_button(label: str, data: Any, *given: Any, **options: Any) -> bool:
            opened.downloads.append(data)
            return draw(label, data, *given, **options)

        monkeypatch.setattr(st, "download_button", download_button)
        yield opened


@pytest.fixture
def anns(browsers: Browsers, services: Application) -> Belongings:
    made = make_belongings(services, ANN)
    calibration = services.calibration
    services.calibration.job.begin(lambda *given: calibration.run(RunOptions(), CalibrationPlan(count=2), *given))
    wait_until(lambda: services.calibration.job.result)
    return made


def addresses_of(page: Page, anns: Belongings) -> Iterator[dict[str, str]]:
    """Every address of a page that leads to something of hers, and each section of the settings."""
    yield {}
    if page is Page.SETTINGS:
        yield from ({"section": section.slug} for section in all_sections())
        return
    if page is Page.COMPARE:
        yield {"a": anns.run.id, "b": anns.versions[-1]}
        return
    ids = [anns.conversation.id, anns.pending.id, anns.run.id, anns.waiting.id, anns.dataset.id, anns.evaluation.id]
    yield from ({name: one} for name, one in product(parameters_of(page), [*ids, f"{anns.evaluation.id}.0"]))


def test_no_page_shows_another_person_anything_of_hers(browsers, anns):
    shows: dict[Page, set[str]] = {page: set() for page in Page}
    for page in Page:
        for query in addresses_of(page, anns):
            for user in {ANN, BEN} - shows[page]:
                if WORD in browsers.visit(user, page, query):
                    shows[page].add(user)
    assert {page for page in Page if BEN in shows[page]} == set()
    assert {page for page in Page if ANN in shows[page]} == OPENED, "what she does not see proves nothing"


SHOWING = {
    *("compare with another run", "copy", "delete a dataset", "delete evaluations", "export a conversation"),
    *("export an evaluation", "look into a dataset", "passage of a run", "pin an answer", "rename a conversation"),
    *("rename an evaluation", "share a run", "share an answer", "why"),
}
"""The dialogs that show a user something of theirs which the page below does not."""


def subjects_of(page: Page, dialog: str, anns: Belongings) -> list[Any]:
    """What a dialog may be opened for: something of hers, or the whole library."""
    special = {
        "compare with other options": (anns.run.id, OFF),
        "delete evaluations": [anns.evaluation.id],
        "go on from a node": (anns.run.id, "decide"),
        "passage of a run": SourceView(anns.run.id, anns.passage_id),
    }
    ids = [anns.conversation.id, anns.run.id, anns.dataset.id, anns.evaluation.id]
    if page is Page.EVALUATE:
        ids.reverse()  # what its dialogs are about comes first
    return [special[dialog]] if dialog in special else [""] if page in (Page.DOCUMENTS, Page.SETTINGS) else ids


def test_no_dialog_shows_another_person_anything_of_hers(browsers, anns, services):
    ben = services.for_user(BEN)
    his = ben.runs.start(ben.conversations.create().id, "When are beans ordered?", OFF)
    finish(his)
    at = {Page.INSPECT: {ANN: {"run": anns.run.id}, BEN: {"run": his.id}}}
    shown: dict[str, set[str]] = {ANN: set(), BEN: set()}
    for page in Page:
        query = at.get(page, {ANN: {}, BEN: {}})
        dialogs = dialogs_of(page)
        without = browsers.visit(ANN, page, query[ANN]).count(WORD) if SHOWING & {*dialogs} else 0
        for dialog in dialogs:
            for subject in subjects_of(page, dialog, anns):
                if WORD in browsers.visit(BEN, page, query[BEN], (dialog, subject)):
                    shown[BEN].add(dialog)
                if dialog in SHOWING and browsers.visit(ANN, page, query[ANN], (dialog, subject)).count(WORD) > without:
                    shown[ANN].add(dialog)
                    break  # the dialog is about this kind of thing, and the next ones are of other kinds
    assert shown[BEN] == set()
    assert shown[ANN] == SHOWING, "what she does not see proves nothing"
