"""Streamlit router: page configuration, navigation, and the last handler of errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from crag.translation import _
from pages.parts import dialogs, language, login, session
from pages.parts.components import install_history
from pages.parts.faults import draw_fault, install_callback_handler
from pages.parts.routes import Page
from pages.parts.services import warm_up

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage


ICON = Path(__file__).parent / "pages" / "parts" / "icon.png"
STYLE = ICON.with_name("style.css")
LOGO = ICON.with_name("logo.svg").read_text(encoding="utf-8")  # one colour, readable on the light and the dark theme
# Streamlit highlights the entry of the chosen page, and a page with a parent has none.
PARENT_STYLE = """<style>
:is([data-testid="stTopNavLink"], [data-testid="stSidebarNavLink"])[href$="/ADDRESS"] {
  background-color: color-mix(in srgb, currentColor 12%, transparent);
  span { font-weight: 600; }
}
</style>"""


def main() -> None:
    """Draw the page named by the address."""
    language.apply_language()
    # Before the navigation: otherwise the browser fetches the page icon from an external host.
    st.set_page_config(
        page_icon=str(ICON),
        initial_sidebar_state=380,
        menu_items={"About": _("**CRAG Chat** asks your documents, and grades every passage before it is used.")},
    )
    pages = {_make_page(page): page for page in Page}
    chosen = st.navigation([*pages], position="top")
    st.set_page_config(page_title=f"{chosen.title} · CRAG Chat", layout=pages[chosen].layout)
    st.html(STYLE)
    if parent := pages[chosen].parent:
        st.html(PARENT_STYLE.replace("ADDRESS", "" if parent is Page.CHAT else parent.address))
    st.logo(LOGO, size="large")
    if session.pop_unknown_page() and pages[chosen] is Page.CHAT:  # another page may be opened meanwhile
        st.toast(
            _("There is no page at this address. This is the start page."), icon=":material/info:", duration="long"
        )
    dialogs.show_notice()
    try:
        if login.draw_login_page():
            return
        chosen.run()
        warm_up()
    except Exception as error:  # noqa: BLE001 — last handler of a page: logged, and shown as a message
        draw_fault(error)
        _draw_unsaved_files()
    if pages[chosen] is Page.CHAT:
        _draw_unsent_messages()
    else:
        install_history()  # Chat has a place where this takes no space


def _draw_unsent_messages() -> None:
    """Draw what could not be saved, also below a page that failed; imported late, since other pages do not need it."""
    from pages.chat.questions import draw_unsent_messages

    draw_unsent_messages()


def _draw_unsaved_files() -> None:
    """Draw the files that could not be saved below a page that failed; imported late, since only this needs it."""
    from pages.parts.document_intake import draw_unsaved_files

    draw_unsaved_files("fault")


def _make_page(page: Page) -> StreamlitPage:
    return st.Page(
        page.path,
        title=page.title,
        url_path=page.address,
        default=page is Page.CHAT,
        visibility="hidden" if page.parent else "visible",
    )


install_callback_handler()
main()
