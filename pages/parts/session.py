"""User and device of the current browser session."""

from __future__ import annotations

import streamlit as st

from crag.server.page_requests import UNKNOWN_PAGE_COOKIE, key_from_cookies
from crag.types import generate_user_key
from pages.parts.services import application

_SESSION_KEY = "person"
_NOTICE_KEY = "unknown_page_told"


def current_owner() -> str | None:
    """Return the key of this browser, or None in single-user mode.

    Without a cookie the key lasts as long as the browser tab. The first browser with a cookie takes over the
    conversations from before keys existed.
    """
    if application().settings.people == "one":
        return None
    if _SESSION_KEY not in st.session_state:
        st.session_state[_SESSION_KEY] = _claim_session_key()
    key: str = st.session_state[_SESSION_KEY]
    return key


def is_browser_remembered() -> bool:
    """Return whether this browser will be recognized when it comes back."""
    return current_owner() is None or key_from_cookies(st.context.cookies) == current_owner()


def has_other_users() -> bool:
    """Return whether other users have conversations on this server."""
    return current_owner() is not None and application().people.count() > 1


def _claim_session_key() -> str:
    if key := key_from_cookies(st.context.cookies):
        application().people.claim_unowned(key)
        return key
    return generate_user_key()


def is_phone() -> bool:
    """Return whether the browser reports itself as mobile: the sidebar starts closed and full pages are unreadable."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def pop_unknown_page() -> bool:
    """Return whether this session began at an address without a page; only the first call does."""
    if st.session_state.get(_NOTICE_KEY):
        return False
    st.session_state[_NOTICE_KEY] = True
    return UNKNOWN_PAGE_COOKIE in st.context.cookies
