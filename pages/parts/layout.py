"""Headings, folded sections, search field, and height and link columns of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, TypeVar
from unicodedata import east_asian_width

import streamlit as st

from crag.text.formatting import export_file_name
from crag.text.sanitization import strip_invisible
from crag.translation import _, bind_language
from pages.parts import labels, reruns
from pages.parts.routes import Page

_MAX_SEARCH_LENGTH = 500  # characters
_PLACEHOLDER_HEIGHT = 64  # pixels, until the content is drawn

Drawn = TypeVar("Drawn")


def draw_folded(label: str, key: str, draw: Callable[[], Drawn], **looks: Any) -> Drawn | None:
    """Draw an expander and return what `draw` returns, or None while it is closed."""
    opened = st.expander(label, key=key, on_change="rerun", **looks)
    with opened:
        if opened.open:
            return draw()
        st.skeleton(height=_PLACEHOLDER_HEIGHT)  # Streamlit cannot open an empty expander
    return None


def draw_watching(
    drawn: object, read: Callable[[], object], seconds: float | None, draw: Callable[[], object] = lambda: None
) -> None:
    """Draw a part of the page again every `seconds`, and the whole page once `read` differs from `drawn`.

    It is drawn less often while many pages are open. `drawn` is what the rest of the page was drawn from. Without
    `seconds` only a click in the part draws it again.
    """

    def draw_again() -> None:
        if read() != drawn:
            st.rerun()
        draw()
        if seconds:
            reruns.change_interval(reruns.poll_interval(seconds))

    st.fragment(draw_again, run_every=seconds)()


_OTHER_TABS_SECONDS = 3.0


def watch_other_tabs(drawn: object, read: Callable[[], object]) -> None:
    """Draw the page again soon after another tab or the command line has changed what it shows.

    Arguments as in `draw_watching`. Do not call it while a dialog or an editor is open, which would be disturbed.
    """
    draw_watching(drawn, read, _OTHER_TABS_SECONDS)


def draw_heading(page: Page, meaning: str = "", title: str = "") -> None:
    """Draw the title, by default the page's, below a link back to its parent, and what the page is for."""
    with st.container(gap=None):
        if page.parent:
            st.page_link(page.parent.path, label=page.parent.title, icon=":material/arrow_back:")
        st.title(title or page.title, anchor=False)
    if meaning:
        st.caption(meaning)


def draw_sidebar_opener(label: str) -> None:
    """Draw a button that opens the sidebar, for windows so narrow that it is closed at first; others do not show it."""
    st.button(label, icon=":material/menu:", wrap=False, key="sidebar-opener")


def draw_sidebar_legend(title: str, meanings: Mapping[str, str]) -> None:
    """Draw in the sidebar how to read the page."""
    with st.sidebar, st.container(gap="xsmall"):
        st.markdown(f"**{title}**")
        for name, meaning in meanings.items():
            st.markdown(f":small[{_(name)} {labels.grey_text(_(meaning))}]")


def draw_search_field(label: str, key: str | None = None, width: int | None = None, *, keep: bool = False) -> str:
    """Draw a search field and return its text without surrounding spaces.

    `width` is in pixels; by default the field fills its container. With `keep`, which needs a `key`, the text
    survives a visit to another page.
    """
    typed = st.text_input(
        label,
        type="search",
        icon=":material/search:",
        placeholder=label,
        label_visibility="collapsed",
        max_chars=_MAX_SEARCH_LENGTH,
        live=True,  # a debounce time given as text would import pandas
        key=key,
        width=width or "stretch",
        persist_state="session" if keep else None,
    )
    return (typed or "").strip()


def draw_file_download(
    name: str, meaning: str, title: str, ending: str, make: Callable[[], str | bytes], key: str
) -> None:
    """Draw a download button, with what the file holds; `make` is called when it is downloaded."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            name,
            bind_language(make),
            file_name=export_file_name(title, ending),
            mime="application/octet-stream",
            icon=":material/download:",
            key=f"export-{ending}-{key}",
            on_click="ignore",
        )
        st.caption(meaning, width="content")


def draw_menu(label: str, key: str, actions: Mapping[str, Callable[[], object]]) -> None:
    """Draw a menu of actions by name, English texts that are translated here; the chosen one is called."""
    st.menu_button(
        label,
        list(actions),
        format_func=_,
        icon=":material/more_horiz:",
        type="tertiary",
        key=key,
        on_click=lambda: actions[st.session_state[key]](),
    )


def progress_share(done: float, total: float | None) -> float:
    """Return the completed share for a progress bar; 0.0 while the total is unknown."""
    return min(1.0, done / total) if total else 0.0


_ROW_HEIGHT, _BORDER_HEIGHT = 35, 3  # pixels, as drawn by Streamlit


def table_height(rows: int, most: int) -> int:
    """Return the height in pixels of a table with a header and `rows` rows, `most` of them visible at once."""
    return (min(rows, most) + 1) * _ROW_HEIGHT + _BORDER_HEIGHT


_SIGN_WIDTH, _CELL_PADDING = 7, 20  # pixels; a sign of Chinese, Japanese or Korean takes the room of two


def fit_cell(text: str, width: int) -> str:
    """Return untrusted text cut to a table column of `width` pixels, with the ellipsis that tables do not draw."""
    line = " ".join(strip_invisible(text).split())
    room = (width - _CELL_PADDING) // _SIGN_WIDTH
    widths = accumulate(2 if east_asian_width(sign) in "WF" else 1 for sign in line)
    fitting = sum(taken <= room for taken in widths)
    return line if fitting == len(line) else f"{line[: fitting - 1].rstrip()}…"


def link_column(open_row: Callable[[int], None], key: str, width: int) -> Any:
    """Configure a table column whose text opens its row; `open_row` is called with the number of the row, from 0."""
    return st.column_config.ButtonColumn(
        key=key,
        type="tertiary",
        alignment="left",
        width=width,
        on_click=lambda: open_row(st.session_state[key].row),
    )
