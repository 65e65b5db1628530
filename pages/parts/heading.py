"""Heading and sidebar legend of the pages reached from Documents."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.parts import words

_DOCUMENTS = "pages/documents/page.py"


def draw(title: str, meaning: str) -> None:
    """Draw the title, a link back to Documents, and what the page is for."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(title, anchor=False, width="content")
        if st.button("Documents", icon=":material/folder_open:", type="tertiary"):
            st.switch_page(_DOCUMENTS)
    st.caption(meaning)


def legend(title: str, meanings: Mapping[str, str]) -> None:
    """Draw in the sidebar how to read the page."""
    with st.sidebar, st.container(gap="xsmall"):
        st.markdown(f"**{title}**")
        for name, meaning in meanings.items():
            st.markdown(f":small[{name} {words.grey(meaning)}]")
