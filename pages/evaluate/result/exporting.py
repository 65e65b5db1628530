"""Export of an evaluation as HTML, CSV or JSON, or to LangSmith."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from crag.errors import CragError
from crag.evaluate.exports import as_csv, as_html, as_json
from crag.evaluate.values import Cutoffs, Evaluation, Result
from crag.sharing.names import file_name
from crag.types import Progress
from pages.evaluate import reading
from pages.parts import away, dialogs, markdown
from pages.parts.person import person
from pages.parts.resources import application

EXPORT = "export an evaluation"

Export = Callable[[Evaluation, Sequence[Result], Cutoffs], str]


def draw_dialog(evaluation_id: str) -> None:
    """Draw the export dialog; each file is made when it is downloaded."""
    st.dialog("Export this evaluation", icon=":material/download:", on_dismiss=dialogs.close)(_draw)(evaluation_id)


def _draw(evaluation_id: str) -> None:
    evaluation = application().evaluations.get(evaluation_id, person())
    _choice("Web page", "figures and every answer", evaluation, "html", as_html)
    _choice("CSV", "a row for each answer", evaluation, "csv", as_csv)
    _choice("JSON", "summary and rows", evaluation, "json", as_json)
    st.caption("Questions, answers and references go along; folders and keys do not.")
    if application().uploads.available:
        _draw_upload(evaluation)


def _choice(name: str, meaning: str, evaluation: Evaluation, ending: str, make: Export) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            name,
            lambda: make(evaluation, reading.results(evaluation), reading.cutoffs()),
            file_name=file_name(evaluation.name, ending),
            mime="application/octet-stream",
            icon=":material/download:",
            key=f"export-{ending}-{evaluation.id}",
            on_click="ignore",
        )
        st.caption(meaning, width="content")


def _draw_upload(evaluation: Evaluation) -> None:
    """Draw what an upload to LangSmith would send, and the upload button."""
    uploads = application().uploads
    st.markdown(f":orange[{away.ICON}] {markdown.label(uploads.announce(evaluation), 600)}")
    if not st.button("Upload to LangSmith", icon=away.ICON):
        return
    bar = st.progress(0.0)

    def report(progress: Progress) -> None:
        bar.progress(min(1.0, progress.done / progress.total) if progress.total else 0.0, progress.stage)

    try:
        address = uploads.upload(evaluation, reading.results(evaluation), report)
    except CragError as error:
        st.error(markdown.label(str(error)), icon=":material/error:")
        return
    bar.empty()
    st.markdown(":green[:material/check_circle:] It is there:")
    st.code(address, language=None, wrap_lines=True)
