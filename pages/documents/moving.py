"""Dialog that moves documents to another collection and reports the result for each."""

from __future__ import annotations

import streamlit as st

from crag.errors import CragError
from crag.types import MoveResult
from pages.parts import dialogs, markdown, words
from pages.parts.resources import application

MOVE = "move documents"
_BECAME = {
    "merged": "was there already, so one copy is left",
    "kept": "stays where it is, because another version of it is there; remove one of the two first",
}


def draw_dialog(source_ids: list[str]) -> None:
    """Ask for the target collection, then move."""
    title = f"Move {words.count(len(source_ids), 'document')}"
    st.dialog(title, icon=":material/drive_file_move:", on_dismiss=_close)(_move)(source_ids)


def _close() -> None:
    st.session_state.pop("moved", None)
    dialogs.close()


def _move(source_ids: list[str]) -> None:
    if "moved" in st.session_state:
        _report(st.session_state.moved)
        return
    names = [collection.name for collection in application().library.collections()]
    with st.form("move", border=False):
        name = st.selectbox("To", names, index=None, accept_new_options=True, placeholder="Choose, or type a new name")
        sent = st.form_submit_button("Move", icon=":material/drive_file_move:")
    if not sent or not name:
        return
    try:
        moved = application().library.move(source_ids, name)
    except CragError as error:
        st.markdown(f":red[{markdown.label(str(error))}]")
        return
    if all(one.status == "moved" for one in moved):
        _close()
    else:
        st.session_state.moved = moved
    st.rerun()


def _report(moved: list[MoveResult]) -> None:
    st.markdown(f"{words.count(sum(one.status == 'moved' for one in moved), 'document')} moved.")
    for one in moved:
        if one.status in _BECAME:
            st.caption(f"**{markdown.label(one.title, 80)}** {_BECAME[one.status]}.")
    if st.button("Close"):
        _close()
        st.rerun()
