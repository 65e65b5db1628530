"""Selected evaluation: read from the page address, and remembered in the session when the user returns."""

from __future__ import annotations

import streamlit as st

from pages.evaluate.comparison import sides
from pages.parts import dialogs

_KEPT = "evaluation_looked_at"
_ADDRESS = "evaluation"
_INSPECT = "pages/inspect/page.py"


def evaluation_id() -> str:
    """Return the evaluation in the address, else the last one opened; empty for the overview."""
    found: str = st.query_params.get(_ADDRESS, "") or st.session_state.get(_KEPT, "")
    if found:
        _choose(found)
    return found


def open_evaluation(found: str) -> None:
    """Select an evaluation for the next rerun and close any open dialog."""
    leave()
    _choose(found)


def leave() -> None:
    """Clear the selection and return to the overview."""
    dialogs.close()
    sides.choose(())
    st.session_state.pop(_KEPT, None)
    st.query_params.pop(_ADDRESS, None)


def lay_open(run_id: str) -> None:
    """Open the run behind an answer in Inspect."""
    st.switch_page(_INSPECT, query_params={"run": run_id})


def _choose(found: str) -> None:
    st.session_state[_KEPT] = st.query_params[_ADDRESS] = found
