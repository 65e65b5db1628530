"""Index of the settings: search field and sections; on a phone above the page, where the sidebar is closed."""

from __future__ import annotations

import streamlit as st

from pages.parts.device import is_phone
from pages.parts.search import search_field
from pages.settings.sections import Section, sections

_SEARCH = "settings_search"
_SECTION = "section"


def draw() -> tuple[str, Section]:
    """Draw the index; return the search text and the chosen section."""
    if is_phone():
        wanted = search_field("Search settings", _SEARCH)
        chosen = _chosen()
        if not wanted:
            _list_of_names(chosen)
        return wanted, chosen
    with st.sidebar:
        wanted = search_field("Search settings", _SEARCH)
        chosen = _chosen()
        with st.container(gap="xxsmall"):
            for section in sections():
                _entry(section, is_chosen=section == chosen and not wanted)
    return wanted, chosen


def _chosen() -> Section:
    """Return the section from the session, else from the address, else the first."""
    slug = st.session_state.get(_SECTION) or st.query_params.get(_SECTION)
    return next((section for section in sections() if section.slug == slug), sections()[0])


def _entry(section: Section, *, is_chosen: bool) -> None:
    st.button(
        f"**{section.name}**" if is_chosen else section.name,
        icon=f":material/{section.icon}:",
        type="tertiary",
        key=f"section-{section.slug}",
        on_click=_open,
        args=(section.slug,),
    )


def _list_of_names(chosen: Section) -> None:
    names = {section.slug: section for section in sections()}
    st.session_state.section_list = chosen.slug
    st.selectbox(
        "Section",
        list(names),
        format_func=lambda slug: names[slug].name,
        icon=f":material/{chosen.icon}:",
        label_visibility="collapsed",
        key="section_list",
        on_change=lambda: _open(st.session_state.section_list),
    )


def _open(slug: str) -> None:
    st.session_state[_SECTION] = slug
    st.session_state[_SEARCH] = ""
    st.query_params[_SECTION] = slug
