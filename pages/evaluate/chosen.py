"""Which evaluation is looked at: the address says it, and it is found again when one comes back to the page."""

from __future__ import annotations

import streamlit as st

from pages.evaluate.comparison import sides
from pages.parts import dialogs

_KEPT = "evaluation_looked_at"
_ADDRESS = "evaluation"
_INSPECT = "pages/inspect/page.py"


def evaluation_id() -> str:
    """The evaluation of the address, else the one that was open last; empty for the overview."""
    found: str = st.query_params.get(_ADDRESS, "") or st.session_state.get(_KEPT, "")
    if found:
        _choose(found)
    return found


def open_evaluation(found: str) -> None:
    """Look at this one with the next drawing; what lies over the page is closed."""
    leave()
    _choose(found)


def leave() -> None:
    """Back to the overview."""
    dialogs.close()
    sides.choose(())
    st.session_state.pop(_KEPT, None)
    st.query_params.pop(_ADDRESS, None)


def lay_open(run_id: str) -> None:
    """To the run behind an answer, in Inspect."""
    st.switch_page(_INSPECT, query_params={"run": run_id})


def _choose(found: str) -> None:
    st.session_state[_KEPT] = st.query_params[_ADDRESS] = found
