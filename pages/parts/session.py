"""User and device of the current browser session."""

from __future__ import annotations

from hashlib import sha256

import streamlit as st

from crag.server.browser_identity import is_kept
from crag.server.page_requests import UNKNOWN_PAGE_COOKIE
from crag.translation import N_
from crag.types import is_account
from pages.parts.services import application, current_owner

NOT_REMEMBERED = N_(
    "This browser does not remember who you are, so your conversations are lost when you "
    "close the tab. Start CRAG Chat with `make run`, and allow its page to store data."
)
_NOTICE_KEY = "unknown_page_told"


def is_browser_remembered() -> bool:
    """Return whether this browser will be recognized when it comes back."""
    owner = current_owner()
    return owner is None or is_account(owner) or is_kept(st.context.headers)


def user_digest() -> str:
    """Return a text that differs between users and names none of them."""
    return sha256(f"page.{current_owner()}".encode()).hexdigest()[:16]


def has_other_users() -> bool:
    """Return whether this server holds anything of other users."""
    return application().people.has_others()


def is_phone() -> bool:
    """Return whether the browser reports itself as mobile: the sidebar starts closed and full pages are unreadable."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def pop_unknown_page() -> bool:
    """Return whether this session began at an address without a page; only the first call does."""
    if st.session_state.get(_NOTICE_KEY):
        return False
    st.session_state[_NOTICE_KEY] = True
    return UNKNOWN_PAGE_COOKIE in st.context.cookies
