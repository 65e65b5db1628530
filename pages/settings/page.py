"""Settings page: one section at a time, or the matches of a search."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import streamlit as st

from crag.translation import _
from pages.parts import dialogs, markdown, setup_checklist
from pages.parts.address import AddressSelection, read_selections
from pages.parts.layout import draw_search_field, draw_sidebar_opener
from pages.parts.routes import Page
from pages.parts.services import may_administer
from pages.parts.session import is_phone
from pages.settings import model_settings, ollama, presets, privacy
from pages.settings.sections import Section, shown_sections
from pages.settings.setting_row import SettingsRow

_SEARCH_KEY = "settings_search"
_SECTION_SELECTION = AddressSelection("section")


def _draw_index() -> tuple[str, Section]:
    """Draw the index; return the search text and the chosen section."""
    if is_phone():
        wanted = draw_search_field(_("Search settings"), _SEARCH_KEY)
        chosen = _chosen_section()
        if not wanted:
            _draw_section_list(chosen)
        return wanted, chosen
    with st.sidebar:
        wanted = draw_search_field(_("Search settings"), _SEARCH_KEY)
        chosen = _chosen_section()
        with st.container(gap="xxsmall"):
            for section in shown_sections():
                _draw_entry(section, is_chosen=section == chosen and not wanted)
    draw_sidebar_opener(_("All settings"))
    return wanted, chosen


def _chosen_section() -> Section:
    """Return the selected section, else the first."""
    (slug,) = read_selections(_SECTION_SELECTION)
    return next((section for section in shown_sections() if section.slug == slug), shown_sections()[0])


def _draw_entry(section: Section, *, is_chosen: bool) -> None:
    st.button(
        f"**{_(section.name)}**" if is_chosen else _(section.name),
        icon=f":material/{section.icon}:",
        type="tertiary",
        key=f"section-{section.slug}",
        on_click=_open_section,
        args=(section.slug,),
    )


def _draw_section_list(chosen: Section) -> None:
    names = {section.slug: section for section in shown_sections()}
    st.session_state.section_list = chosen.slug
    st.selectbox(
        _("Section"),
        list(names),
        format_func=lambda slug: _(names[slug].name),
        icon=f":material/{chosen.icon}:",
        label_visibility="collapsed",
        key="section_list",
        on_change=lambda: _open_section(st.session_state.section_list),
    )


def _open_section(slug: str) -> None:
    _SECTION_SELECTION.select(slug)
    st.session_state[_SEARCH_KEY] = ""


_DIALOGS = {
    model_settings.ALLOW_DIALOG: model_settings.draw_consent_dialog,
    ollama.DELETE_MODEL_DIALOG: ollama.draw_delete_model_dialog,
    presets.DELETE_PRESET_DIALOG: presets.draw_delete_preset_dialog,
    privacy.CLEAR_LOG_DIALOG: privacy.draw_clear_log_dialog,
}


def main() -> None:
    """Draw the page."""
    drawn = model_settings.page_snapshot()
    setup_checklist.note_page_state()
    st.title(Page.SETTINGS.title, anchor=False)
    if may_administer():
        st.caption(_("Saved at once for all conversations. A conversation can override them above its question box."))
    wanted, chosen = _draw_index()
    if wanted:
        _draw_search_results(wanted)
    else:
        st.header(_(chosen.name), anchor=False)
        _draw_rows(chosen.choose() if chosen.choose else chosen.rows)
    dialogs.draw_open_dialog(_DIALOGS)
    setup_checklist.draw_help_dialog()
    model_settings.rerun_on_change(drawn)


def _draw_search_results(wanted: str) -> None:
    found = [(section, rows) for section in shown_sections() if (rows := section.found(wanted))]
    for section, rows in found:
        st.header(_(section.name), anchor=False)
        _draw_rows(rows)
    if not found:
        st.markdown(_("No settings match “{wanted}”.").format(wanted=markdown.escape_line(wanted, 60)))
        st.caption(_("Search covers names, descriptions, choices and environment variables."))


def _draw_rows(rows: Iterable[SettingsRow]) -> None:
    """Draw the rows; neighbouring framed rows share a box, other rows draw their own."""
    for framed, group in groupby(rows, key=lambda row: row.framed):
        with st.container(border=framed, gap="medium"):
            for row in group:
                row.draw()


main()
