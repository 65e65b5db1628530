"""Sidebar of the documents page: collections with their counts, library size, export and import."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.settings import format_command
from crag.text.formatting import format_count, format_size
from crag.translation import N_, _, translate_text
from crag.types import DEFAULT_COLLECTION, AddResult, CollectionSharing, Progress
from pages.documents import removal
from pages.parts import dialogs, labels, markdown, reruns
from pages.parts.ingest_jobs import draw_refusals, summarize_results
from pages.parts.layout import progress_share
from pages.parts.services import application, current_account, may_administer

EXPORT_DIALOG, IMPORT_DIALOG = "export", "import"
_RESULTS_KEY = "import_results"
_COLLECTION_KEY = "collection"
# A download is held in memory as a whole.
MAX_EXPORT_BYTES = 300_000_000
_BYTES_PER_PASSAGE = 6_000  # estimate for a passage with its vector
_FORMAT_LABELS = {
    "langchain": N_("LangChain: a zipped folder for FAISS.load_local"),
    "jsonl": N_("JSON Lines: one passage a line"),
}
_FILE_SUFFIXES = {"langchain": "zip", "jsonl": "jsonl"}


def draw_exchange_menu(collection: str) -> None:
    """Draw the buttons that open the dialogs."""
    with st.container(horizontal=True):
        if application().library.size(collection):
            dialogs.draw_opener(_("Export"), ":material/download:", EXPORT_DIALOG, collection, type="tertiary")
        dialogs.draw_opener(_("Import"), ":material/upload:", IMPORT_DIALOG, collection, type="tertiary")


@dialogs.dialog(N_("Export"), icon=":material/download:")
def draw_export_dialog(collection: str) -> None:
    """Draw the dialog that exports a collection."""
    passages = application().library.size(collection)
    name = labels.collection_label(collection)
    st.markdown(f"**{name}** {labels.grey_text(format_count(passages, 'passage'))}")
    if passages * _BYTES_PER_PASSAGE > MAX_EXPORT_BYTES:
        only = f"--collection {shlex.quote(collection)} " if collection else ""
        st.caption(_("Too large to download here. Export it in a terminal on the server:"))
        st.code(format_command(f"export --format jsonl {only}FILE", application().settings.home), None, wrap_lines=True)
        return
    exchange = application().exchange
    format_ = st.radio(_("As"), [*_FORMAT_LABELS], format_func=lambda kind: _(_FORMAT_LABELS[kind]))
    st.caption(_("Includes the text, title, page and location of each passage, not the original files."))
    st.download_button(
        _("Download"),
        lambda: exchange.export_bytes(format_, collection),
        file_name=f"{collection or 'library'}.{_FILE_SUFFIXES[format_]}",
        mime="application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
    )


def _close_import_dialog() -> None:
    st.session_state.pop(_RESULTS_KEY, None)
    dialogs.close_dialog()


@st.dialog(N_("Import"), icon=":material/upload:", on_dismiss=_close_import_dialog)
def draw_import_dialog(collection: str) -> None:
    """Draw the dialog that imports into a collection, by default the first one."""
    collection = collection or application().library.default_collection
    file: Any = None
    if _RESULTS_KEY not in st.session_state:
        file = st.file_uploader(
            _("A zipped LangChain folder (index.faiss and index.pkl), or JSON Lines"),
            max_upload_size=application().settings.max_upload_mb,
            key="import-file",
        )
        st.caption(
            _("Adds the documents to *{collection}*. Code in the file is never run.").format(
                collection=markdown.escape_line(collection, 60)
            )
        )
    if file is not None:
        st.session_state[_RESULTS_KEY] = _import_upload(file, collection)
        st.rerun()  # rerun the whole page because its counts have changed
    if results := st.session_state.get(_RESULTS_KEY):
        st.markdown(f"{format_count(len(results), 'document')}: {summarize_results(results)}.")
        draw_refusals(results)
        if st.button(_("Close")):
            _close_import_dialog()
            st.rerun()


def _import_upload(file: Any, collection: str) -> list[AddResult]:
    bar = st.progress(0.0, text=_("Reading"))

    def show(progress: Progress) -> None:
        bar.progress(progress_share(progress.done, progress.total), text=translate_text(progress.stage))

    with tempfile.TemporaryDirectory(prefix="crag-upload-") as folder:
        path = Path(folder) / "upload"
        path.write_bytes(file.getvalue())
        imported = application().exchange.import_passages(path, collection=collection, progress=show, name=file.name)
        with reruns.let_others_draw():
            return list(imported)


NEW_DIALOG, RENAME_DIALOG, DELETE_DIALOG = "new collection", "rename collection", "delete collection"
SHARE_DIALOG = "share collection"
_MAX_NAME_LENGTH = 60
_MAX_LENGTH_OF_EMAILS = 20_000
_EDIT_ACTIONS = {
    SHARE_DIALOG: N_(":material/group: Share"),
    RENAME_DIALOG: N_(":material/edit: Rename"),
    DELETE_DIALOG: N_(":material/delete: Delete"),
}


def draw_collections() -> str:
    """Draw the sidebar and return the selected collection, empty for all."""
    library = application().library
    found = library.collections()
    chosen = st.session_state.get(_COLLECTION_KEY, "")
    if chosen not in {collection.name for collection in found}:
        chosen = ""
    with st.sidebar:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            st.markdown(_("**Collections**"), width="content")
            dialogs.draw_opener(_("New collection"), ":material/create_new_folder:", NEW_DIALOG, type="tertiary")
        with st.container(gap="xxsmall"):
            _draw_collection_row("", sum(collection.sources for collection in found), chosen)
            for collection in found:
                _draw_collection_row(collection.name, collection.sources, chosen)
        draw_exchange_menu(chosen)
        sources, passages, size = library.counts()
        if sources:
            space = markdown.escape_line(translate_text(application().embedders.answering()), 60)
            facts = [format_count(passages, "passage"), space]
            facts += [_("{size} on disk").format(size=format_size(size))] if may_administer() else []
            st.caption(" · ".join(facts))
        else:
            st.caption(_("The library is empty."))
    return chosen


def select_collection(name: str) -> None:
    """Select this collection, or all documents for an empty name."""
    st.session_state[_COLLECTION_KEY] = name


def _draw_collection_row(name: str, sources: int, chosen: str) -> None:
    title = labels.collection_label(name)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.button(
                f"**{title}**" if name == chosen else title,
                icon=":material/folder_open:" if name == chosen else ":material/folder:",
                type="tertiary",
                wrap=False,
                key=f"collection-{name}",
                on_click=select_collection,
                args=(name,),
            )
        if name == chosen and name not in ("", DEFAULT_COLLECTION) and application().library.access(name) == "change":
            has_accounts = current_account() is not None
            st.menu_button(
                _("Edit"),
                [one for one in _EDIT_ACTIONS if has_accounts or one != SHARE_DIALOG],
                format_func=lambda action: _(_EDIT_ACTIONS[action]),
                type="tertiary",
                key="edit-collection",
                on_click=lambda: dialogs.open_dialog(st.session_state["edit-collection"], name),
            )
        st.markdown(labels.grey_text(f"{sources:,}"), width="content")


def draw_new_dialog(_about: None) -> None:
    """Draw the dialog for a new collection."""

    def make(name: str) -> None:
        select_collection(application().library.create_collection(name))

    dialogs.dialog(_("New collection"), icon=":material/create_new_folder:")(_draw_name_form)("", _("Create"), make)


def draw_rename_dialog(name: str) -> None:
    """Draw the dialog that renames a collection."""

    def rename(new_name: str) -> None:
        select_collection(application().rename_collection(name, new_name))

    dialogs.dialog(_("Rename collection"), icon=":material/edit:")(_draw_name_form)(name, _("Rename"), rename)


@dialogs.dialog(N_("Share collection"), icon=":material/group:")
def draw_share_dialog(name: str) -> None:
    """Draw the dialog that says who may read a collection, and who may add documents to it."""
    sharing = application().library.sharing(name)
    readers, adders = ([one for one, may in sharing.members.items() if may is add] for add in (False, True))
    st.markdown(f"**{markdown.escape_line(name, 80)}**")
    with st.form("sharing", border=False):
        read = st.text_area(
            _("May read: e-mail addresses, one per line"),
            "\n".join(readers),
            height=100,
            max_chars=_MAX_LENGTH_OF_EMAILS,
        )
        add = st.text_area(_("May also add documents"), "\n".join(adders), height=100, max_chars=_MAX_LENGTH_OF_EMAILS)
        public = st.toggle(_("Everyone who logs in here may read it"), sharing.public)
        st.caption(_("It appears in their searches and answers. Answers keep what they quote when you stop sharing."))
        sent = st.form_submit_button(_("Share"), icon=":material/check:")
    if not sent:
        return
    members = {**dict.fromkeys(read.split(), False), **dict.fromkeys(add.split(), True)}
    try:
        application().library.share_collection(name, CollectionSharing(public, members))
    except CragError as error:
        dialogs.draw_error(error)
        return
    dialogs.close_and_rerun()


def draw_delete_dialog(name: str) -> None:
    """Ask for confirmation, with what is deleted along with the collection."""
    dialogs.confirm(
        _("Delete collection?"),
        lambda: _draw_deleted_documents(name),
        _("Delete"),
        lambda: application().delete_collection(name),
    )


def _draw_name_form(name: str, label: str, act: Callable[[str], None]) -> None:
    with st.form("collection-name", border=False):  # in a form, Enter submits as well
        typed = st.text_input(_("Name"), value=name, max_chars=_MAX_NAME_LENGTH, placeholder=_("Papers"))
        sent = st.form_submit_button(label, icon=":material/check:")
    if not sent:
        return
    try:
        act((typed or "").strip())
    except CragError as error:
        dialogs.draw_error(error)
        return
    dialogs.close_and_rerun()


def _draw_deleted_documents(name: str) -> None:
    documents = len(application().library.sources(name))
    consequence = (
        _("and its {documents} will be deleted").format(documents=format_count(documents, "document"))
        if documents
        else _("is empty and will be deleted")
    )
    st.markdown(f"**{markdown.escape_line(name)}** {consequence}.")
    if documents:
        st.caption(
            _("{explanation} Undo brings the collection back, too, but not its calibrated thresholds.").format(
                explanation=removal.explain_removal()
            )
        )
