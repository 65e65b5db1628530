"""User, device and selection of the current browser session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from crag.types import generate_user_key, is_user_key
from pages.parts.services import application

OWNER_COOKIE = "crag_person"
_SESSION_KEY = "person"


@dataclass(frozen=True, slots=True)
class AddressSelection:
    """What a page shows, kept in a parameter of its address and in the session.

    The session restores it when the user returns to the page without the parameter.
    """

    parameter: str

    def read(self) -> str:
        """Return the selection, empty for none, and put it into the address."""
        selected: str = st.query_params.get(self.parameter, "") or st.session_state.get(self._key, "")
        self.select(selected)
        return selected

    def select(self, selected: str) -> None:
        """Select for the next rerun; an empty text clears the selection."""
        if selected:
            st.session_state[self._key] = st.query_params[self.parameter] = selected
        else:
            st.session_state.pop(self._key, None)
            st.query_params.pop(self.parameter, None)

    @property
    def _key(self) -> str:
        return f"selected_{self.parameter}"


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


def key_from_cookies(cookies: Mapping[str, str]) -> str:
    """Return the key among a browser's cookies; empty when missing or malformed."""
    key = cookies.get(OWNER_COOKIE, "")
    return key if is_user_key(key) else ""


def _claim_session_key() -> str:
    if key := key_from_cookies(st.context.cookies):
        application().people.claim_unowned(key)
        return key
    return generate_user_key()


def is_phone() -> bool:
    """Return whether the browser reports itself as mobile: the sidebar starts closed and full pages are unreadable."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")
