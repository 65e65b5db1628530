"""Presets: the known variants of Corrective RAG and saved ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from crag.inspection import run_labels
from crag.options import MAIN_OPTIONS, SAVED_OPTIONS, OptionChanges, RunOptions, get_option
from crag.reference_systems import REFERENCE_SYSTEMS, ReferenceSystem, preset_title
from crag.translation import N_, _, join_texts
from pages.chat import state
from pages.parts import dialogs, labels, markdown
from pages.parts.services import application
from pages.settings import setting_row

PRESET_WORDS = " ".join(
    (
        "presets variant save the present settings under a name use for this home conversation",
        *(f"{name} {preset.title} {preset.origin}" for name, preset in REFERENCE_SYSTEMS.items()),
    )
)
DELETE_PRESET_DIALOG = "delete_preset"
_FOR_HOME, _FOR_CONVERSATION = N_("As default"), N_("In the open conversation")
_NAME_KEY = "preset_name"


def draw_presets() -> None:
    """Draw every preset with the ways to use it, and the form that saves another."""
    st.caption(_("A preset changes several settings at once."))
    saved = {n: c for n, c in application().preferences.presets().items() if n not in REFERENCE_SYSTEMS}
    if saved:
        with st.container(border=True):
            for name, changes in saved.items():
                _draw_saved_preset(name, changes)
    with st.form("save-preset", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(_("Save current settings as a preset"), max_chars=60, key=_NAME_KEY)
        st.form_submit_button(_("Save"), icon=":material/bookmark_add:", on_click=_save_preset)
    setting_row.draw_refusal(_NAME_KEY)
    about = _("Each answers like a published system: its grader, prompts, passages and web search, with your models.")
    st.markdown(_("**Reference systems**  \n{about}").format(about=labels.grey_text(about)))
    with st.container(border=True):
        for name, system in REFERENCE_SYSTEMS.items():
            _draw_reference_system(name, system)


def _draw_saved_preset(name: str, changes: OptionChanges) -> None:
    with _row(preset_title(name), _describe_preset(changes)):
        dialogs.draw_opener(_("Delete"), None, DELETE_PRESET_DIALOG, name, type="tertiary", key=f"delete-{name}")
        key = f"use-{name}"
        st.menu_button(
            _("Use"),
            [_(_FOR_HOME), _(_FOR_CONVERSATION)],
            key=key,
            type="tertiary",
            on_click=lambda: _use_preset(st.session_state[key], name, changes),
        )


def _draw_reference_system(name: str, system: ReferenceSystem) -> None:
    with _row(
        _(system.title),
        markdown.escape_line(_(system.origin), 200),
        _("`{name}` on the command line").format(name=name),
    ):
        st.button(
            _("Use"),
            key=f"use-{name}",
            type="tertiary",
            help=_(_FOR_CONVERSATION),
            on_click=lambda: _use_preset(_(_FOR_CONVERSATION), name, {}),
        )


@contextmanager
def _row(title: str, description: str, hint: str | None = None) -> Iterator[None]:
    """Draw a preset, and the block in a container for its buttons; the description is safe Markdown."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.markdown(f"**{markdown.escape_line(title, 60)}**  \n{labels.grey_text(description)}", help=hint)
        with st.container(horizontal=True, width="content", gap="small"):
            yield


def _describe_preset(changes: OptionChanges) -> str:
    """Return the main options of a preset and those that differ from the defaults, in one line; safe Markdown."""
    usual = RunOptions()
    named = {name: value for name, value in changes.items() if name in MAIN_OPTIONS or value != get_option(usual, name)}
    return markdown.escape_line(
        " · ".join(run_labels.describe_option(name, value) for name, value in named.items()), 300
    )


def _use_preset(where: str, name: str, changes: OptionChanges) -> None:
    title = markdown.escape_line(preset_title(name), 60)
    if where == _(_FOR_CONVERSATION):
        state.use_preset(name)
        st.toast(_("The next question uses “{title}”.").format(title=title), icon=":material/check:")
        return
    preferences = application().preferences
    for changed, value in changes.items():
        if changed in SAVED_OPTIONS and preferences.effective(changed).origin != "environment":
            preferences.save(changed, value)
    left_out = _("Web results as one passage works only in a conversation.") if changes.get("join_web") else ""
    st.toast(join_texts(_("“{title}” is now the default.").format(title=title), left_out), icon=":material/check:")


def _save_preset() -> None:
    preferences = application().preferences
    if setting_row.attempt_change(
        _NAME_KEY, preferences.save_preset, st.session_state[_NAME_KEY], preferences.options()
    ):
        st.session_state[_NAME_KEY] = ""


def draw_delete_preset_dialog(name: str) -> None:
    """Draw the confirmation before a preset is deleted."""
    dialogs.confirm(
        _("Delete preset?"),
        lambda: st.markdown(
            _("**{name}** will be deleted. Current settings do not change.").format(name=markdown.escape_line(name, 60))
        ),
        _("Delete"),
        lambda: application().preferences.delete_preset(name),
    )
