"""Sections of the settings, with their rows, and the list of keyboard shortcuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import streamlit as st

from crag.options import MODEL_OPTIONS, SAVED_OPTIONS, OptionSection
from crag.translation import N_, _, current_language
from pages.parts import language, login, setup_checklist
from pages.parts.services import current_account, may_administer
from pages.settings import (
    api_tokens,
    embeddings,
    evaluators,
    library,
    model_settings,
    ollama,
    presets,
    privacy,
    setting_row,
    web_search,
)
from pages.settings.setting_row import SettingsRow

_SHORTCUTS = {
    N_("Go to the question box"): "/",
    N_("Send the question"): "Enter",
    N_("New line in the question"): "Shift + Enter",
    N_("Close a dialog or drawer; otherwise stop the answer"): "Esc",
    N_("Go to the next or previous control"): "Tab · Shift + Tab",
    N_("Open the focused citation, passage or step"): "Enter",
    N_("Switch on or off"): "Space",
    N_("Move in a menu or list, or along a slider"): "↑ ↓ ← →",
    N_("Go to either end of a slider"): "Home · End",
}


def _shortcut_row(action: str, keys: str) -> SettingsRow:
    return SettingsRow(f"keyboard key {action} {keys}", lambda: _draw_shortcut(action, keys))


def _draw_shortcut(action: str, keys: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.markdown(_(action))
        st.markdown(" ".join(f"`{part}`" if part not in "·+" else part for part in keys.split(" ")), width="content")


_CHECKLIST_WORDS = "set-up checklist Ollama Llama 3 Nomic Tavily web search OCR Tesseract disk space memory installed"


@dataclass(frozen=True, slots=True)
class Section:
    """Section with its rows; `choose`, if given, draws a selector and returns the rows to show."""

    name: str
    icon: str
    rows: tuple[SettingsRow, ...]
    choose: Callable[[], Sequence[SettingsRow]] | None = None

    @property
    def slug(self) -> str:
        """Name of the section in the page's address."""
        return self.name.lower().replace(" ", "-")

    def found(self, wanted: str) -> tuple[SettingsRow, ...]:
        """Return the rows that contain every word of `wanted`, where each row contains the section's name."""
        terms = wanted.casefold().split()
        return tuple(
            row
            for row in self.rows
            if all(term in f"{_(self.name)} {self.name} {row.words}".casefold() for term in terms)
        )


def _model_rows() -> tuple[SettingsRow, ...]:
    """Return the model per role, then the sources of models."""
    return (
        *map(model_settings.model_row, MODEL_OPTIONS),
        *_section_rows(_("Models"), MODEL_OPTIONS),
        SettingsRow(ollama.OLLAMA_WORDS, ollama.draw_ollama, framed=False),
        SettingsRow(model_settings.PROVIDER_WORDS, model_settings.draw_providers, framed=False),
    )


def _section_rows(section: OptionSection, without: Sequence[str] = ()) -> tuple[SettingsRow, ...]:
    """Return the rows of the options in this section."""
    names = (name for name, known in SAVED_OPTIONS.items() if known.section == section and name not in without)
    return tuple(map(setting_row.option_row, names))


_EVALUATORS = SettingsRow(evaluators.EVALUATOR_WORDS, evaluators.draw_evaluators, framed=False)


_OF_EVERYONE = ("Account", "API tokens", "Privacy", "Language", "Keyboard")


def shown_sections() -> tuple[Section, ...]:
    """Return the sections for this user: an account has one of its own, and only administrators change the server."""
    account = current_account()
    hidden = {"Account"} if account is None else set()
    own = all_sections() if may_administer() else [one for one in all_sections() if one.name in _OF_EVERYONE]
    return tuple(section for section in own if section.name not in hidden)


def all_sections() -> tuple[Section, ...]:
    """Return all sections in sidebar order."""
    return _sections_in(current_language())


@cache
def _sections_in(_language: str) -> tuple[Section, ...]:
    """Return all sections with the texts of this language, which is that of the context."""
    return (
        Section(N_("Models"), "memory", _model_rows()),
        Section(N_("Model parameters"), "tune", model_settings.tuning_rows(), model_settings.draw_role_choice),
        Section(N_("Grading"), "rule", (*_section_rows("Grading"), _EVALUATORS)),
        Section(N_("Web search"), "public", (*_section_rows("Web search"), *web_search.web_rows())),
        Section(N_("Answers"), "chat", _section_rows(N_("Answers"))),
        Section(N_("Presets"), "bookmarks", (SettingsRow(presets.PRESET_WORDS, presets.draw_presets, framed=False),)),
        Section(N_("Library"), "folder_open", library.library_rows()),
        Section(
            N_("Embeddings"),
            "scatter_plot",
            (SettingsRow(embeddings.EMBEDDING_WORDS, embeddings.draw_embeddings, framed=False),),
        ),
        Section(N_("Privacy"), "lock", (SettingsRow(privacy.PRIVACY_WORDS, privacy.draw_privacy, framed=False),)),
        Section(N_("Backup"), "archive", (SettingsRow(library.BACKUP_WORDS, library.draw_backup, framed=False),)),
        Section(N_("Set-up"), "checklist", (SettingsRow(_CHECKLIST_WORDS, setup_checklist.draw_checklist),)),
        Section(N_("Account"), "person", (SettingsRow(login.ACCOUNT_WORDS, login.draw_account, framed=False),)),
        Section(
            N_("API tokens"), "key", (SettingsRow(api_tokens.API_WORDS, api_tokens.draw_api_tokens, framed=False),)
        ),
        Section(N_("Language"), "translate", (SettingsRow(language.LANGUAGE_WORDS, language.draw_language_choice),)),
        Section(N_("Keyboard"), "keyboard", tuple(_shortcut_row(action, keys) for action, keys in _SHORTCUTS.items())),
    )
