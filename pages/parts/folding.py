"""What is folded away and drawn only when it is opened, so that a page need not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

_PLACE = 64  # pixels, until the content is there

Drawn = TypeVar("Drawn")


def draw_folded(label: str, key: str, draw: Callable[[], Drawn], **looks: Any) -> Drawn | None:
    """An expander with these looks; what drawing its content gives, None while it is closed."""
    opened = st.expander(label, key=key, on_change="rerun", **looks)
    with opened:
        if opened.open:
            return draw()
        st.skeleton(height=_PLACE)  # what holds nothing cannot be opened
    return None
