"""What the page must know of the device it is shown on."""

from __future__ import annotations

import streamlit as st


def is_phone() -> bool:
    """Whether the browser calls itself mobile: there the sidebar is closed and whole pages are unreadable."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")
