"""Settings page: one section at a time, or the matches of a search in all of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import streamlit as st

from pages.parts import dialogs, markdown, mending
from pages.settings import consent, ollama, presets, privacy, server, sidebar
from pages.settings.rows import Row
from pages.settings.sections import sections

_DIALOGS = {
    consent.ALLOW: consent.draw_dialog,
    ollama.DELETE: ollama.draw_delete_dialog,
    presets.DELETE: presets.draw_delete_dialog,
    privacy.FORGET: privacy.draw_dialog,
}


def main() -> None:
    """Draw the page."""
    drawn = server.whole()
    st.title("Settings", anchor=False)
    st.caption("Saved at once, for all conversations. One can differ: what is chosen above its question box wins.")
    wanted, chosen = sidebar.draw()
    if wanted:
        _found(wanted)
    else:
        st.header(chosen.name, anchor=False)
        _rows(chosen.choose() if chosen.choose else chosen.rows)
    dialogs.draw(_DIALOGS)
    mending.draw_dialog()
    server.follow(drawn)


def _found(wanted: str) -> None:
    found = [(section, rows) for section in sections() if (rows := section.found(wanted))]
    for section, rows in found:
        st.header(section.name, anchor=False)
        _rows(rows)
    if not found:
        st.markdown(f"No setting fits “{markdown.label(wanted, 60)}”.")
        st.caption("Search looks at names, meanings, the words of choices and the names of variables.")


def _rows(rows: Iterable[Row]) -> None:
    """Draw the rows; neighbouring framed rows share a box, other rows draw their own."""
    for framed, group in groupby(rows, key=lambda row: row.framed):
        with st.container(border=framed, gap="medium"):
            for row in group:
                row.draw()


main()
