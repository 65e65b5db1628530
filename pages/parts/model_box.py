"""A list of models in which any other name can be typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

_SHOWN = "models_shown"


def draw(title: str, labels: Mapping[str, str], common: dict[str, Any]) -> None:
    """The list; `labels` are names with the words for them, without Markdown. `common` goes to the widget."""
    # What a model is called changes with its state, and a browser may still send the words of the last drawing.
    st.session_state.setdefault(_SHOWN, {}).update({label: name for name, label in labels.items()})
    st.selectbox(
        title, list(labels), format_func=lambda name: labels.get(name, name), accept_new_options=True, **common
    )


def taken(key: str) -> str:
    """The name that was chosen or typed in the list under `key`."""
    typed = (st.session_state[key] or "").strip()
    return str(st.session_state.get(_SHOWN, {}).get(typed, typed))
