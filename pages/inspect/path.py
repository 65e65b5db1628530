"""The graph of a run with the path taken."""

from __future__ import annotations

import streamlit as st

from crag.inspection import path
from crag.runs import Trace


def draw(trace: Trace) -> None:
    """The diagram; strong where the run went, dotted where it could have gone."""
    st.header("Path", anchor=False)
    st.mermaid_chart(path.mermaid(trace), width="content", alt=path.described(trace))
