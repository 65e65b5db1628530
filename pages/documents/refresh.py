"""Dialog that refreshes documents: pages are fetched and files read again, and replaced if changed."""

from __future__ import annotations

import streamlit as st

from crag.types import AddResult, Progress
from pages.parts import dialogs, markdown, words
from pages.parts.resources import application
from pages.parts.results import draw_refusals, summarize

REFRESH = "refresh documents"


def draw_dialog(source_ids: list[str] | None) -> None:
    """Refresh these documents, or all, with progress; closing the dialog stops between two documents."""
    st.dialog("Refresh", icon=":material/sync:", on_dismiss=_close)(_refresh)(source_ids)


def _close() -> None:
    st.session_state.pop("refreshed", None)
    dialogs.close()


def _refresh(source_ids: list[str] | None) -> None:
    if "refreshed" not in st.session_state:
        bar = st.progress(0.0, text="Starting")

        def show(progress: Progress) -> None:
            share = min(1.0, progress.done / progress.total) if progress.total else 0.0
            bar.progress(share, text=markdown.label(progress.stage, 80))

        st.session_state.refreshed = application().library.refresh(source_ids, progress=show)
        bar.empty()
    results: list[AddResult] = st.session_state.refreshed
    summary = summarize(results) or "nothing to do"
    st.markdown(f"{words.count(len(results), 'document')} read again: {summary}.")
    draw_refusals(results)
    if st.button("Close"):
        _close()
        st.rerun()
