"""Streamlit router: page configuration, navigation, and the last handler of errors."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown, session
from pages.parts.components import install_history
from pages.parts.routes import Page
from pages.parts.services import warm_up

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage


ICON = Path(__file__).parent / "pages" / "parts" / "icon.png"
STYLE = ICON.with_name("style.css")
LOGO = ICON.with_name("logo.svg").read_text(encoding="utf-8")  # one colour, readable on the light and the dark theme

_log = logging.getLogger(__name__)


def main() -> None:
    """Draw the page named by the address."""
    # Before the navigation: otherwise the browser fetches the page icon from an external host.
    st.set_page_config(
        page_icon=str(ICON),
        initial_sidebar_state=380,
        menu_items={"About": "**CRAG Chat** asks your documents, and grades every passage before it is used."},
    )
    pages = {_make_page(page): page for page in Page}
    chosen = st.navigation([*pages], position="top")
    st.set_page_config(page_title=f"{chosen.title} · CRAG Chat", layout=pages[chosen].layout)
    st.html(STYLE)
    st.logo(LOGO, size="medium" if session.is_phone() else "large")  # a phone has no room for more beside the menu
    if session.pop_unknown_page() and pages[chosen] is Page.CHAT:  # another page may be opened meanwhile
        st.toast("There is no page at this address. This is the start page.", icon=":material/info:", duration="long")
    try:
        chosen.run()
    except CragError as error:
        _show(error.message, error.remedy)
    except Exception:  # noqa: BLE001 — last handler of a page: logged, and shown as a message
        _log.exception("Unexpected error while drawing a page")
        _show("This page could not be drawn.", "Nothing is lost. Reload the page. The log has the details.")
    if pages[chosen] is not Page.CHAT:  # it has a place where this takes no space
        install_history()
    warm_up()


def _make_page(page: Page) -> StreamlitPage:
    return st.Page(
        page.path,
        title=page.title,
        url_path=page.address,
        default=page is Page.CHAT,
        visibility="hidden" if page.parent else "visible",
    )


def _show(message: str, remedy: str) -> None:
    with st.container(border=True):
        st.markdown(f":red[:material/error:] **{markdown.escape_line(message)}**  \n{markdown.escape_line(remedy)}")


main()
