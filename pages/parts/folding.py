"""Expander whose content is drawn only when it is opened, so that the page does not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

_PLACE = 64  # pixels, until the content is drawn

Drawn = TypeVar("Drawn")


def draw_folded(label: str, key: str, draw: Callable[[], Drawn], **looks: Any) -> Drawn | None:
    """Draw an expander and return what `draw` returns, or None while it is closed."""
    opened = st.expander(label, key=key, on_change="rerun", **looks)
    with opened:
        if opened.open:
            return draw()
        st.skeleton(height=_PLACE)  # Streamlit cannot open an empty expander
    return None
