"""Which run is laid open: the address says it, and it is found again when one comes back to the page."""

from __future__ import annotations

import streamlit as st

from pages.parts import dialogs

_KEPT = "inspected_run"
_ADDRESS = "run"


def run_id() -> str:
    """The run of the address, else the one that was open last; empty for the overview."""
    found: str = st.query_params.get(_ADDRESS, "") or st.session_state.get(_KEPT, "")
    if found:
        choose(found)
    return found


def choose(found: str) -> None:
    """Lay this run open with the next drawing."""
    st.session_state[_KEPT] = st.query_params[_ADDRESS] = found


def open_run(found: str) -> None:
    """For a button of a list: as `choose`; what lies over the page is closed."""
    dialogs.close()
    choose(found)


def leave() -> None:
    """Back to the overview."""
    dialogs.close()
    st.session_state.pop(_KEPT, None)
    st.query_params.pop(_ADDRESS, None)
