"""Select box of models that also accepts any typed name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

_SHOWN = "models_shown"


def draw(title: str, labels: Mapping[str, str], common: dict[str, Any]) -> None:
    """Draw the select box; `labels` maps names to plain text, `common` holds the widget's arguments."""
    # A model's label changes with its state, and the browser may still send the label of an earlier draw.
    st.session_state.setdefault(_SHOWN, {}).update({label: name for name, label in labels.items()})
    st.selectbox(
        title, list(labels), format_func=lambda name: labels.get(name, name), accept_new_options=True, **common
    )


def taken(key: str) -> str:
    """Return the name chosen or typed in the box under `key`."""
    typed = (st.session_state[key] or "").strip()
    return str(st.session_state.get(_SHOWN, {}).get(typed, typed))
