"""Dialogs that export a collection as a download and import one from an upload."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import streamlit as st

from crag.types import DEFAULT_COLLECTION, AddResult, Progress
from pages.parts import dialogs, markdown, words
from pages.parts.resources import application
from pages.parts.results import draw_refusals, summarize

EXPORT, IMPORT = "export", "import"
# A download is held in memory as a whole.
MOST_BYTES = 300_000_000
_BYTES_EACH = 6_000  # estimate for a passage with its vector
_FORMATS = {
    "langchain": "LangChain: a zipped folder for FAISS.load_local",
    "jsonl": "JSON Lines: one passage a line",
}
_ENDINGS = {"langchain": "zip", "jsonl": "jsonl"}


def draw_menu(collection: str) -> None:
    """Draw the buttons that open the dialogs."""
    with st.container(horizontal=True):
        if application().library.size(collection):
            st.button(
                "Export", icon=":material/upload:", type="tertiary", on_click=dialogs.ask, args=(EXPORT, collection)
            )
        st.button(
            "Import", icon=":material/download:", type="tertiary", on_click=dialogs.ask, args=(IMPORT, collection)
        )


def draw_export(collection: str) -> None:
    """Draw the dialog that exports a collection."""
    st.dialog("Export", icon=":material/upload:", on_dismiss=dialogs.close)(_export)(collection)


def draw_import(collection: str) -> None:
    """Draw the dialog that imports into a collection."""
    st.dialog("Import", icon=":material/download:", on_dismiss=_forget)(_import)(collection or DEFAULT_COLLECTION)


def _export(collection: str) -> None:
    passages = application().library.size(collection)
    name = markdown.label(collection, 60) or "All documents"
    st.markdown(f"**{name}** {words.grey(words.count(passages, 'passage'))}")
    if passages * _BYTES_EACH > MOST_BYTES:
        st.caption("Too large to be handed over here. On the command line: `python -m crag export`.")
        return
    format_ = st.radio("As", [*_FORMATS], format_func=_FORMATS.__getitem__)
    st.caption("Texts, titles, pages and places of the passages go along; the original files stay here.")
    st.download_button(
        "Download",
        lambda: application().exchange.export_bytes(format_, collection),
        file_name=f"{collection or 'library'}.{_ENDINGS[format_]}",
        mime="application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
    )


def _import(collection: str) -> None:
    file: Any = None
    if "imported" not in st.session_state:
        file = st.file_uploader(
            "A zipped LangChain folder (index.faiss and index.pkl), or JSON Lines",
            max_upload_size=application().settings.max_upload_mb,
            key="import-file",
        )
        st.caption(f"Its documents go to *{markdown.label(collection, 60)}*. Nothing in a pickle is ever run.")
    if file is not None:
        st.session_state.imported = _take_in(file, collection)
        st.rerun()  # rerun the whole page because its counts have changed
    if results := st.session_state.get("imported"):
        _tell(results)
        if st.button("Close"):
            _forget()
            st.rerun()


def _take_in(file: Any, collection: str) -> list[AddResult]:
    bar = st.progress(0.0, text="Reading")

    def show(progress: Progress) -> None:
        bar.progress(progress.done / progress.total if progress.total else 0.0, text=progress.stage)

    with tempfile.TemporaryDirectory(prefix="crag-upload-") as folder:
        path = Path(folder) / "upload"
        path.write_bytes(file.getvalue())
        return list(application().exchange.import_(path, collection=collection, progress=show, name=file.name))


def _tell(results: list[AddResult]) -> None:
    st.markdown(f"{words.count(len(results), 'document')}: {summarize(results)}.")
    draw_refusals(results)


def _forget() -> None:
    st.session_state.pop("imported", None)
    dialogs.close()
