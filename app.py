"""Streamlit router: page configuration, navigation, and the last handler of errors."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown
from pages.parts.services import warm_up

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage


ICON = Path(__file__).parent / "pages" / "parts" / "icon.png"
WIDE = {"Documents", "Inspect", "Compare", "Evaluate"}

_log = logging.getLogger(__name__)


def main() -> None:
    """Draw the page named by the address."""
    # Before the navigation: otherwise the browser fetches the page icon from an external host.
    st.set_page_config(
        page_icon=str(ICON),
        initial_sidebar_state=380,
        menu_items={"About": "**CRAG Chat** asks your documents, and grades every passage before it is used."},
    )
    page = st.navigation(_pages(), position="top")
    st.set_page_config(page_title=f"{page.title} · CRAG Chat", layout="wide" if page.title in WIDE else "centered")
    st.logo(":material/fact_check:", size="large")
    try:
        page.run()
    except CragError as error:
        _show(error.message, error.remedy)
    except Exception:  # noqa: BLE001 — last handler of a page: logged, and shown as a message
        _log.exception("A page failed in a way nobody foresaw")
        _show("Something went wrong while this page was drawn.", "Nothing is lost. Reload the page; the log has more.")
    warm_up()


def _pages() -> list[StreamlitPage]:
    return [
        st.Page("pages/chat/page.py", title="Chat", icon=":material/forum:", default=True),
        st.Page("pages/documents/page.py", title="Documents", icon=":material/folder_open:", url_path="documents"),
        st.Page(
            "pages/retrieval/page.py",
            title="Try retrieval",
            icon=":material/manage_search:",
            url_path="retrieval",
            visibility="hidden",  # reached from Documents
        ),
        st.Page(
            "pages/gaps/page.py",
            title="What your documents do not cover",
            icon=":material/content_paste_search:",
            url_path="gaps",
            visibility="hidden",  # reached from Inspect and Documents
        ),
        st.Page(
            "pages/compare/page.py",
            title="Compare",
            icon=":material/compare_arrows:",
            url_path="compare",
            visibility="hidden",  # reached from an answer
        ),
        st.Page(
            "pages/calibration/page.py",
            title="Calibrate",
            icon=":material/straighten:",
            url_path="calibration",
            visibility="hidden",  # reached from Documents
        ),
        st.Page("pages/inspect/page.py", title="Inspect", icon=":material/account_tree:", url_path="inspect"),
        st.Page("pages/evaluate/page.py", title="Evaluate", icon=":material/analytics:", url_path="evaluate"),
        st.Page("pages/settings/page.py", title="Settings", icon=":material/tune:", url_path="settings"),
    ]


def _show(message: str, remedy: str) -> None:
    with st.container(border=True):
        st.markdown(f":red[:material/error:] **{markdown.escape_line(message)}**  \n{markdown.escape_line(remedy)}")


main()
