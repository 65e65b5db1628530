"""Whose conversations this browser sees: several people may use one server, each their own."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from crag.person_keys import is_key, new_key
from pages.parts.resources import application

COOKIE = "crag_person"
_KNOWN = "person"


def person() -> str | None:
    """The key of this browser; None where whoever uses the application is one and the same.

    A browser that sent no cookie has a key for as long as its tab is open. The first one with a cookie takes what was
    there before anybody had a key.
    """
    if application().settings.people == "one":
        return None
    if _KNOWN not in st.session_state:
        st.session_state[_KNOWN] = _of_session()
    key: str = st.session_state[_KNOWN]
    return key


def is_remembered() -> bool:
    """Whether this browser is known again when it comes back."""
    return person() is None or key_in(st.context.cookies) == person()


def is_one_of_several() -> bool:
    """Whether other people have conversations on this server, too."""
    return person() is not None and application().people.count() > 1


def key_in(cookies: Mapping[str, str]) -> str:
    """The key among the cookies of a browser, empty where there is none that could be one."""
    key = cookies.get(COOKIE, "")
    return key if is_key(key) else ""


def _of_session() -> str:
    if key := key_in(st.context.cookies):
        application().people.adopt(key)
        return key
    return new_key()
