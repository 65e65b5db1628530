"""Owner key of this browser: several users can share one server, each with their own conversations."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from crag.person_keys import is_key, new_key
from pages.parts.resources import application

COOKIE = "crag_person"
_KNOWN = "person"


def person() -> str | None:
    """Return the key of this browser, or None in single-user mode.

    Without a cookie the key lasts as long as the browser tab. The first browser with a cookie takes over the
    conversations from before keys existed.
    """
    if application().settings.people == "one":
        return None
    if _KNOWN not in st.session_state:
        st.session_state[_KNOWN] = _of_session()
    key: str = st.session_state[_KNOWN]
    return key


def is_remembered() -> bool:
    """Return whether this browser will be recognized when it comes back."""
    return person() is None or key_in(st.context.cookies) == person()


def is_one_of_several() -> bool:
    """Return whether other users have conversations on this server."""
    return person() is not None and application().people.count() > 1


def key_in(cookies: Mapping[str, str]) -> str:
    """Return the key among a browser's cookies; empty when missing or malformed."""
    key = cookies.get(COOKIE, "")
    return key if is_key(key) else ""


def _of_session() -> str:
    if key := key_in(st.context.cookies):
        application().people.adopt(key)
        return key
    return new_key()
