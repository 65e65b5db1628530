"""Properties of the device that shows the page."""

from __future__ import annotations

import streamlit as st


def is_phone() -> bool:
    """Return whether the browser reports itself as mobile: the sidebar starts closed and full pages are unreadable."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")
