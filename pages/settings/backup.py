"""Backup of the whole home in one file."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts import words
from pages.parts.person import is_one_of_several
from pages.parts.resources import application

WORDS = "backup download restore everything documents conversations one file"
_MOST_BYTES = 500_000_000  # a download is held in memory completely


def draw() -> None:
    """Draw what a backup contains, its maximum size, and the download button."""
    _, _, size = application().library.counts()
    with st.container(border=True):
        st.markdown(
            "Documents, passages, vectors and conversations in one file, taken while you work. "
            + words.grey("Settings and keys are not in it.")
        )
        if is_one_of_several():
            st.caption("It holds what several people asked, so it is made on the server: `python -m crag backup FILE`.")
        elif size > _MOST_BYTES:
            st.caption(f"{words.size(size)} are too much to hand over here: `python -m crag backup FILE`.")
        else:
            st.download_button(
                f"Download a backup (at most {words.size(size)})",
                application().exchange.backup_bytes,
                file_name=f"crag-{time.strftime('%Y-%m-%d')}.backup",
                mime="application/octet-stream",
                icon=":material/archive:",
                on_click="ignore",
            )
        st.caption("To put it back, into an empty folder: `python -m crag restore FILE --home FOLDER`.")
