"""Language of the screen: the one that the user chose, else that of the browser."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from crag.errors import CragError
from crag.translation import N_, _, list_languages, match_language, set_language, set_language_source
from pages.parts.services import application

LANGUAGE_WORDS = "language locale English 한국어 Korean 繁體中文 简体中文 Chinese translation"
_KEY = "language"
_MEANING = N_("Language of pages and exports. Answers are in the language of the question.")


def apply_language() -> None:
    """Use the language of this session for what is drawn now, and for its callbacks and fragments."""
    set_language(_session_language())
    set_language_source(_source)


def _source() -> str | None:
    """Return the language of the session that this thread runs for; None in threads of no session."""
    return _session_language() if get_script_run_ctx(suppress_warning=True) else None


def _session_language() -> str:
    try:
        chosen = application().preferences.language()
    except CragError:  # nobody is logged in, or the home cannot be used: the page says so
        chosen = ""
    return chosen if chosen in list_languages() else match_language([st.context.locale or ""])


def draw_language_choice() -> None:
    """Draw the choice of the language, which is saved at once."""
    languages = {"": _("Automatic"), **list_languages()}
    st.session_state[_KEY] = chosen if (chosen := application().preferences.language()) in languages else ""
    st.selectbox(_("Language"), list(languages), format_func=languages.__getitem__, key=_KEY, on_change=_save)
    st.caption(_(_MEANING))


def _save() -> None:
    application().preferences.save_language(st.session_state[_KEY] or "")
    apply_language()
