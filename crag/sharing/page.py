"""Conversations and runs as one self-contained HTML page: no scripts, requests or fonts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from crag.amounts import count
from crag.foreign_text import visible
from crag.model_calls import ModelCall
from crag.moments import day_and_minute
from crag.sharing.document import SharedConversation, SharedRun
from crag.sharing.views import AnswerView, MayLink, view_answer

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True)
class _Page:
    """Title, facts and answers of a page."""

    title: str
    facts: str
    answers: Sequence[AnswerView]


def conversation_page(shared: SharedConversation, may_link: MayLink) -> str:
    """Render the displayed branch."""
    runs = {run.id: run for run in shared.runs}
    shown = [runs[message.run] for message in shared.shown() if message.run in runs]
    answers = [view_answer(number, run, shared.versions(run), may_link) for number, run in enumerate(shown, start=1)]
    facts = f"{count(len(answers), 'question')} · {day_and_minute(shared.created_at)}"
    return _template().render(page=_Page(visible(shared.title), facts, answers))


def run_page(run: SharedRun, versions: Sequence[SharedRun], calls: Sequence[ModelCall], may_link: MayLink) -> str:
    """Render one answer with the prompts that were sent for it."""
    view = view_answer(1, run, versions, may_link, calls)
    return _template().render(page=_Page(visible(run.question)[:200], day_and_minute(run.started_at), [view]))


def page_template(name: str, *folders: Path) -> Template:
    """Load a Jinja template with autoescaping. `frame.html.jinja` is found here, other templates in `folders`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader([Path(__file__).parent, *folders])
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.get_template(name)


@cache
def _template() -> Template:
    return page_template("page.html.jinja")
