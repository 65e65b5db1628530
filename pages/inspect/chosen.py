"""Selected run: read from the page address, and remembered in the session when the user returns."""

from __future__ import annotations

import streamlit as st

from pages.parts import dialogs

_KEPT = "inspected_run"
_ADDRESS = "run"


def run_id() -> str:
    """Return the run in the address, else the last one opened; empty for the overview."""
    found: str = st.query_params.get(_ADDRESS, "") or st.session_state.get(_KEPT, "")
    if found:
        choose(found)
    return found


def choose(found: str) -> None:
    """Select a run for the next rerun."""
    st.session_state[_KEPT] = st.query_params[_ADDRESS] = found


def open_run(found: str) -> None:
    """Select a run for the next rerun and close any open dialog."""
    dialogs.close()
    choose(found)


def leave() -> None:
    """Clear the selection and return to the overview."""
    dialogs.close()
    st.session_state.pop(_KEPT, None)
    st.query_params.pop(_ADDRESS, None)
