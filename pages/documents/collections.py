"""Sidebar of the documents page: collections with their counts, a button for a new one, and the library size."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from crag.errors import CragError
from crag.types import DEFAULT_COLLECTION
from pages.documents import exchange
from pages.parts import dialogs, markdown, words
from pages.parts.resources import application

NEW, RENAME, DELETE = "new collection", "rename collection", "delete collection"
_EVERYTHING = "All documents"
_LONGEST_NAME = 60
_ACTIONS = {RENAME: ":material/edit: Rename", DELETE: ":material/delete: Delete"}


def draw() -> str:
    """Draw the sidebar and return the selected collection, empty for all."""
    library = application().library
    found = library.collections()
    chosen = st.session_state.get("collection", "")
    if chosen not in {collection.name for collection in found}:
        chosen = ""
    with st.sidebar:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            st.markdown("**Collections**", width="content")
            st.button("New", icon=":material/create_new_folder:", type="tertiary", on_click=dialogs.ask, args=(NEW,))
        with st.container(gap="xxsmall"):
            _row("", sum(collection.sources for collection in found), chosen)
            for collection in found:
                _row(collection.name, collection.sources, chosen)
        exchange.draw_menu(chosen)
        sources, passages, size = library.counts()
        if sources:
            space = markdown.label(application().embedders.answering(), 60)
            st.caption(f"{words.count(passages, 'passage')} in the space *{space}*, {words.size(size)} on disk.")
        else:
            st.caption("The library is empty.")
    return chosen


def choose(name: str) -> None:
    """Select this collection, or all documents for an empty name."""
    st.session_state.collection = name


def _row(name: str, sources: int, chosen: str) -> None:
    title = markdown.label(name, 60) or _EVERYTHING
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.button(
                f"**{title}**" if name == chosen else title,
                icon=":material/folder_open:" if name == chosen else ":material/folder:",
                type="tertiary",
                wrap=False,
                key=f"collection-{name}",
                on_click=choose,
                args=(name,),
            )
        if name == chosen and name not in ("", DEFAULT_COLLECTION):
            st.menu_button(
                "Edit",
                [*_ACTIONS],
                format_func=_ACTIONS.__getitem__,
                type="tertiary",
                key="edit-collection",
                on_click=lambda: dialogs.ask(st.session_state["edit-collection"], name),
            )
        st.markdown(words.grey(f"{sources:,}"), width="content")


def draw_new(_about: None) -> None:
    """Draw the dialog for a new collection."""

    def make(name: str) -> None:
        choose(application().library.create_collection(name))

    _dialog("New collection", ":material/create_new_folder:", lambda: _name_form("", "Create", make))


def draw_rename(name: str) -> None:
    """Draw the dialog that renames a collection."""

    def rename(new_name: str) -> None:
        choose(application().rename_collection(name, new_name))

    _dialog("Rename the collection", ":material/edit:", lambda: _name_form(name, "Rename", rename))


def draw_delete(name: str) -> None:
    """Ask for confirmation, with what is deleted along with the collection."""
    _dialog("Delete the collection?", ":material/delete:", lambda: _delete(name))


def _dialog(title: str, icon: str, content: Callable[[], None]) -> None:
    st.dialog(title, icon=icon, on_dismiss=dialogs.close)(content)()


def _name_form(name: str, label: str, act: Callable[[str], None]) -> None:
    with st.form("collection-name", border=False):  # in a form, Enter submits as well
        typed = st.text_input("Name", value=name, max_chars=_LONGEST_NAME, placeholder="Papers")
        sent = st.form_submit_button(label, icon=":material/check:")
    if not sent:
        return
    try:
        act((typed or "").strip())
    except CragError as error:
        st.markdown(f":red[{markdown.label(str(error))}]")
        return
    dialogs.close_and_redraw()


def _delete(name: str) -> None:
    documents = len(application().library.sources(name))
    consequence = (
        f"goes with its {words.count(documents, 'document')} and all their passages"
        if documents
        else "is empty and goes"
    )
    st.markdown(f"**{markdown.label(name)}** {consequence}.")
    if documents:
        st.caption("Answers that cite them stay as they are. To keep the documents, move them first.")
    with st.container(horizontal=True):
        if st.button("Delete it", icon=":material/delete:"):
            try:
                application().delete_collection(name)
            except CragError as error:
                st.markdown(f":red[{markdown.label(str(error))}]")
            else:
                dialogs.close_and_redraw()
        if st.button("Keep it", type="tertiary"):
            dialogs.close_and_redraw()
