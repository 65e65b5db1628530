"""Pages of a document in a drawer: the buttons that turn them, and their pictures."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import streamlit as st

from crag.errors import CragError
from crag.text.formatting import format_done
from crag.translation import _
from pages.parts.services import application

if TYPE_CHECKING:
    from crag.library.page_images import PageImage

_TURNED_PAGE_KEY = "turned_page"

next_view_number = count().__next__
"""Return a number for a drawer that is opened, so that pages turned in one do not matter to the next."""


def shown_page(view: int, pages: int, first: int = 1) -> int:
    """Return the page to show in a drawer, at first `first`."""
    opened, turned = st.session_state.get(_TURNED_PAGE_KEY, (view, None))
    return min(max(1, turned if turned and opened == view else first), pages)


def draw_page_buttons(view: int, number: int, pages: int, *, are_parts: bool = False) -> None:
    """Draw which of several pages is shown, between the buttons that turn them; these wrap around at either end.

    The buttons keep their places at the edges. Text without pages `are_parts`.
    """
    if pages == 1:
        return
    earlier, later = (_("Previous part"), _("Next part")) if are_parts else (_("Previous page"), _("Next page"))
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="xsmall", wrap=False
    ):
        _draw_page_button(earlier, "left", view, (number - 2) % pages + 1)
        st.markdown(f":small[{format_done(number, pages)}]", width="content")
        _draw_page_button(later, "right", view, number % pages + 1)


def _draw_page_button(word: str, side: Literal["left", "right"], view: int, to: int) -> None:
    st.button(
        word,
        icon=f":material/chevron_{side}:",
        icon_position=side,
        type="tertiary",
        wrap=False,
        key=f"page-{view}-{side}",
        on_click=_turn_page,
        args=(view, to),
    )


def _turn_page(view: int, number: int) -> None:
    st.session_state[_TURNED_PAGE_KEY] = view, number


def pdf_file(source_id: str) -> Path | None:
    """Return the stored original if its pages can be rendered."""
    library = application().library
    try:
        return library.original_path(source_id) if library.source(source_id).kind == "pdf" else None
    except CragError:  # removed since the answer was written; the trace still has its text
        return None


@st.cache_data(max_entries=256, show_spinner=False)
def count_pages(path: str) -> int:
    """Return the number of pages of a PDF. Raises `NotFound`."""
    from crag.library import page_images

    return page_images.count_pages(Path(path))


@st.cache_data(max_entries=64, show_spinner=False)
def page_image(path: str, page: int, highlight: str = "", strong: str = "", *, cut: bool = False) -> PageImage:
    """Return the picture of a page; see `render_page`. Raises `NotFound`."""
    from crag.library.page_images import render_page

    return render_page(Path(path), page, highlight, strong, around_passage=cut)
