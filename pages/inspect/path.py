"""Graph diagram with the path of a run."""

from __future__ import annotations

import streamlit as st

from crag.inspection import path
from crag.runs import Trace


def draw(trace: Trace) -> None:
    """Draw the diagram: strong edges were taken, dotted ones were not."""
    st.header("Path", anchor=False)
    st.mermaid_chart(path.mermaid(trace), width="content", alt=path.described(trace))
