"""The sidebar of the documents: the collections with their counts, a new one, and how large the library is."""

from __future__ import annotations

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown, words
from pages.parts.resources import application

_EVERYTHING = "All documents"


def draw() -> str:
    """Draw them; returns the chosen collection, empty for all."""
    library = application().library
    found = library.collections()
    chosen = st.session_state.get("collection", "")
    if chosen not in {collection.name for collection in found}:
        chosen = ""
    with st.sidebar:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            st.markdown("**Collections**", width="content")
            st.button("New", icon=":material/create_new_folder:", type="tertiary", on_click=_open_dialog)
        with st.container(gap="xxsmall"):
            _row("", sum(collection.sources for collection in found), chosen)
            for collection in found:
                _row(collection.name, collection.sources, chosen)
        sources, passages, size = library.counts()
        if sources:
            space = markdown.label(application().embedder_choice().label, 60)
            st.caption(f"{words.count(passages, 'passage')} in the space *{space}*, {words.size(size)} on disk.")
        else:
            st.caption("The library is empty.")
    return chosen


def _row(name: str, sources: int, chosen: str) -> None:
    title = markdown.label(name, 60) or _EVERYTHING
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        st.button(
            f"**{title}**" if name == chosen else title,
            icon=":material/folder_open:" if name == chosen else ":material/folder:",
            type="tertiary",
            wrap=False,
            key=f"collection-{name}",
            on_click=_choose,
            args=(name,),
        )
        st.markdown(words.grey(f"{sources:,}"), width="content")


def _choose(name: str) -> None:
    st.session_state.collection = name


def _open_dialog() -> None:
    st.session_state.new_collection = True


def _close() -> None:
    st.session_state.pop("new_collection", None)


def draw_dialog() -> None:
    """The dialog for a new collection."""
    st.dialog("New collection", icon=":material/create_new_folder:", on_dismiss=_close)(_make)()


def _make() -> None:
    with st.form("collection", border=False):  # Enter in the field creates, too
        name = st.text_input("Name", max_chars=60, placeholder="Papers")
        sent = st.form_submit_button("Create", icon=":material/check:")
    if not sent:
        return
    try:
        application().library.create_collection((name or "").strip())
    except CragError as error:
        st.markdown(f":red[{markdown.label(str(error))}]")
        return
    _choose((name or "").strip())
    _close()
    st.rerun()
