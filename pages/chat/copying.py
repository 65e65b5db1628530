"""One answer as Markdown with its sources, for pasting into another document."""

from __future__ import annotations

import streamlit as st

from crag.runs import Trace
from crag.types import Citation
from pages.parts import dialogs, markdown
from pages.parts.components import copy_button
from pages.parts.resources import application

DIALOG = "copy"
_HEIGHT = 360


def with_sources(trace: Trace) -> str:
    """Return question, answer and numbered sources as Markdown; web sources include the address."""
    asked = "\n".join(f"> {line}".rstrip() for line in trace.question.strip().split("\n"))
    sources = "\n".join(f"[{cited.n}] {_source(cited)}  " for cited in trace.citations)
    return "\n\n".join(part for part in (asked, trace.text.strip(), sources) if part)


def draw_dialog(run_id: str) -> None:
    """Draw the dialog with the text and a copy button."""
    st.dialog("Copy with sources", width="large", on_dismiss=dialogs.close)(_content)(run_id)


def _content(run_id: str) -> None:
    text = with_sources(application().runs.trace(run_id))
    st.code(markdown.visible(text), language=None, wrap_lines=True, height=_HEIGHT)
    copy_button(text, key="copy-with-sources")


def _source(cited: Citation) -> str:
    where = markdown.place(cited.title, cited.page)
    return f"{where}, {cited.location}" if cited.origin == "web" else where
