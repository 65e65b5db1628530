"""What a page shows, kept in its address: one history entry for each place, so that Back and Forward lead there."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.parts.routes import Page

ENTRY_PARAMETER = "crag_entry"
"""Tells the browser what to do with its history entry, which then drops it; see `install_history`.

`replace`: this address replaces it. `keep`: nothing changes yet, since another page follows.
"""


@dataclass(frozen=True, slots=True)
class AddressSelection:
    """What a page shows, kept in a parameter of its address and in the session.

    The session restores it when the user returns to the page without the parameter.
    """

    parameter: str

    @property
    def selected(self) -> str:
        """What is selected; empty for nothing."""
        found: str = st.session_state.get(self._selected_key, "")
        return found

    def select(self, selected: str) -> None:
        """Select, also from a callback; the next draw puts it into the address. An empty text clears the selection."""
        st.session_state[self._selected_key] = selected

    @property
    def seen(self) -> str:
        """What the address said after the last draw of the page."""
        found: str = st.session_state.get(self._seen_key, "")
        return found

    def keep_seen(self) -> None:
        """Remember that the address says what is selected."""
        st.session_state[self._seen_key] = self.selected

    @property
    def _selected_key(self) -> str:
        return f"selected_{self.parameter}"

    @property
    def _seen_key(self) -> str:
        return f"seen_{self.parameter}"


def read_selections(*selections: AddressSelection) -> tuple[str, ...]:
    """Return what a page shows, and put it into the address; call it once in each draw, outside of callbacks.

    A link, Back or Forward selects what their address says. The menu drops parameters: then the selections of the last
    visit are restored, in the same history entry.
    """
    address = {one: st.query_params.get(one.parameter, "") for one in selections}
    is_changed = any(said != one.seen for one, said in address.items())
    is_restored = is_changed and not any(address.values()) and not _is_history_navigation()
    for one, said in address.items():
        if is_changed and not is_restored:
            one.select(said)
        one.keep_seen()
    wanted = {one.parameter: one.selected for one in selections if one.selected}
    if wanted != {one.parameter: said for one, said in address.items() if said}:
        st.query_params.from_dict({**wanted, ENTRY_PARAMETER: "replace"} if is_restored else wanted)
    return tuple(one.selected for one in selections)


def open_page(page: Page, **parameters: str) -> None:
    """Go to another page. `st.switch_page` alone adds a history entry for the page that is left, too."""
    st.switch_page(page.path, query_params={**parameters, ENTRY_PARAMETER: "keep"})


def _is_history_navigation() -> bool:
    """Return whether this draw answers Back or Forward."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
