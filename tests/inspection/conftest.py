"""The assembled application between a scripted Tavily and a scripted web server, both over real HTTP."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

import pytest

from crag.app.application import Application
from crag.options import RunOptions
from crag.runs.run import Run
from crag.runs.trace import Trace
from tests.applications import opened_with, wait
from tests.doubles.tavily import TavilyServer
from tests.doubles.web import WebServer, serving

NOTES = b"""# Kettle

The red kettle on the stove whistles when the water boils. The cook lifts it off at once.

# Lamp

The lamp in the hall was bought in 1931 by the grandmother of the cook.
"""
FINALS = "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks."
QUESTION = "Who won the 2024 NBA finals?"


@dataclass
class World:
    """The application, and what the web search finds: one page of the web server."""

    application: Application
    tavily: TavilyServer
    web: WebServer
    page: str

    def ask(self, question: str = QUESTION, user: str = "", web: str = "auto") -> tuple[Run, Trace]:
        """A question in a conversation of its own, answered."""
        conversation = self.application.conversations.for_user(user or None).create()
        run = self.application.runs.start(conversation.id, question, RunOptions(web=web))  # type: ignore[arg-type]
        return run, wait(run)

    def add_notes(self) -> None:
        """A document that answers none of this."""
        self.application.library.pipeline.add_bytes("notes.md", NOTES)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def world(home):
    with TavilyServer() as tavily, serving() as web:
        text = f"<html><head><title>2024 NBA Finals</title></head><body><p>{FINALS}</p></body></html>"
        page = web.page("/finals", text.encode())
        tavily.results = [{"title": "2024 NBA Finals", "url": page, "content": FINALS, "score": 0.9}]
        given = {"tavily_api_key": "tvly-x", "tavily_url": tavily.url}
        with opened_with(home, allow_private_urls=(ipaddress.ip_network("127.0.0.1/32"),), **given) as application:
            yield World(application, tavily, web, page)


@pytest.fixture
def added(world):
    """Waits until everything that was submitted is in the library."""
    from tests.waiting import wait_until

    return lambda: wait_until(lambda: not world.application.jobs.active)
