"""Set-up checklist: one row per check, with the action that fixes it."""

from __future__ import annotations

import sys
from typing import NoReturn

import streamlit as st

from crag.app.checklist import split_shown_checks
from crag.app.checklist_facts import Check, CheckAction
from crag.text.formatting import format_done
from crag.translation import N_, _, join_texts, translate_text
from pages.parts import dialogs, downloads, labels, markdown, reruns
from pages.parts.address import open_page
from pages.parts.layout import progress_share
from pages.parts.routes import Page
from pages.parts.services import (
    application,
    is_status_known,
    may_administer,
    model_choice,
    refresh_status,
    setup_checks,
)
from pages.parts.session import is_phone

_HELP_DIALOG = "mending"
_POLL_SECONDS = 2.0
_SYSTEM_NAMES = {"darwin": "macOS", "win32": "Windows", "linux": "Linux"}


def find_check(name: str) -> Check | None:
    """Return the current check of this name."""
    return next((check for check in setup_checks() if check.name == name), None)


def describe_check(check: Check) -> str:
    """Return what a check found, as a sentence."""
    detail = translate_text(check.detail)
    return f"{detail[:1].upper()}{detail[1:]}."


def _is_switching_space() -> bool:
    """Return whether the library is switching to another embedder."""
    return application().library.space_work.progress is not None


def _is_action_running(check: Check) -> bool:
    """Return whether the fix of this check was started and has not finished."""
    action = check.action
    if action is None:
        return False
    if action.kind == "download":
        return downloads.unfinished_download(action.target) is not None
    return action.kind == "move" and _is_switching_space()


def _draw_action_progress(check: Check) -> None:
    """Draw the progress of the running fix."""
    action = check.action
    if action is None:
        return
    if download := downloads.unfinished_download(action.target):
        downloads.draw_download_progress(download)
    elif work := application().library.space_work.progress:
        counts = format_done(work.done, work.total) if work.total else ""
        st.progress(
            progress_share(work.done, work.total),
            text=labels.grey_text(markdown.escape_line(f"{translate_text(work.stage)} {counts}".strip(), 100)),
        )


def _draw_action_button(check: Check, key: str) -> None:
    """Draw the button that applies the fix or opens its instructions, or cancels a running fix, if the user may."""
    if not may_administer():
        return
    action, key = check.action, f"{key}-{check.name}"
    if action is None:
        if check.status != "ok" and check.fix:
            _draw_help_button(check, _("How to fix"), key)
        return
    label = markdown.escape_line(translate_text(action.label), 60)
    if action.kind == "download":
        downloads.draw_download_button(action.target, label, f"-{key}")
    elif action.kind == "move":
        _draw_switch_button(action, key)
    elif action.kind == "open":
        page = Page[action.target.upper()]
        st.button(label, icon=page.icon, type="tertiary", key=key, on_click=open_page, args=(page,))
    else:
        _draw_help_button(check, translate_text(action.label), key)


def _draw_help_button(check: Check, label: str, key: str) -> None:
    icon = ":material/key:" if check.action and check.action.kind == "key" else ":material/help:"
    asked = (_HELP_DIALOG, check)
    ask = dialogs.open_dialog_from_fragment
    st.button(markdown.escape_line(label, 60), icon=icon, type="tertiary", key=key, on_click=ask, args=asked)


def _draw_switch_button(action: CheckAction, key: str) -> None:
    work = application().library.space_work
    if _is_switching_space():
        st.button(_("Cancel"), type="tertiary", key=f"{key}-cancel", on_click=work.cancel)
    else:
        label = markdown.escape_line(translate_text(action.label), 60)
        st.button(
            label, icon=":material/move_up:", type="tertiary", key=key, on_click=_switch_space, args=(action.target,)
        )


def _switch_space(embedder: str) -> None:
    application().library.space_work.choose(embedder)
    refresh_status()


def draw_help_dialog() -> None:
    """Draw the dialog with instructions if it is the open one."""
    dialogs.draw_open_dialog({_HELP_DIALOG: _draw_check_dialog})


def _draw_check_dialog(check: Check) -> None:
    if _is_fixed(check):
        _announce_fixed(check)
    else:
        dialogs.dialog(markdown.escape_line(translate_text(check.name), 60))(_draw_explanation)(check)


def _draw_explanation(check: Check) -> None:
    st.caption(markdown.escape_line(describe_check(check)))
    st.markdown(translate_text(check.fix))
    if check.action and check.action.commands:
        st.code(check.action.commands, language="bash", wrap_lines=True)
    st.caption(_where_to_type(check.action))
    st.fragment(_close_when_fixed, run_every=_POLL_SECONDS)(check)


def _where_to_type(action: CheckAction | None) -> str:
    if action is not None and action.kind == "key":
        return _("Add this line to the file .env, then restart. The key is never shown or stored elsewhere.")
    system = _SYSTEM_NAMES.get(sys.platform, "this system")
    typed = _("For a terminal on {system}.").format(system=system) if action is not None and action.commands else ""
    return join_texts(typed, _("This page updates by itself when it is done."))


def _close_when_fixed(explained: Check) -> None:
    if _is_fixed(explained):
        _announce_fixed(explained)
        st.rerun()


def _is_fixed(explained: Check) -> bool:
    """Return whether the explained problem is gone or a different action is needed now."""
    now = find_check(explained.name)
    return now is None or now.action != explained.action


def _announce_fixed(explained: Check) -> None:
    dialogs.close_dialog()
    now = find_check(explained.name)
    detail = now.detail if now else "ready"
    st.toast(markdown.escape_line(f"{explained.name}: {detail}"), icon=":material/check_circle:")


_STATUS_ICONS = {
    "ok": ":green[:material/check_circle:]",
    "warn": ":gray[:material/radio_button_unchecked:]",
    "fail": ":red[:material/error:]",
}
_REFRESH_SECONDS = 5.0
_CHECK_NAME_WIDTH, _CHECK_ROW_HEIGHT = 170, 40  # pixels: the height of a button
_OTHERS_IN_VIEW = 2  # the start page must fit a screen of 900 pixels
_BUILTIN_CHECK = N_("Built-in engine")
_DRAWN_KEY = "checklist_drawn"


def note_page_state() -> None:
    """Note the state from which the page is about to be drawn; call before drawing anything.

    The model may change while the page is drawn: what is drawn first must not keep the old one.
    """
    st.session_state[_DRAWN_KEY] = _page_state()


def draw_checklist(*, folded: bool = False) -> None:
    """Draw the checks, refreshed every few seconds; `folded` puts them into an expander.

    Nothing is drawn for a user who may not change the set-up.
    """
    if not may_administer():
        return
    if folded:
        facts = _summarize_checks()
        with st.expander(
            _("Set-up: {facts}").format(facts=labels.small_text(markdown.escape_line(facts))),
            type="compact",
            key="set-up",
        ):
            _draw_live_rows()
    else:
        _draw_live_rows()


def _summarize_checks() -> str:
    """Return what fails, else which model answers now and what is optional."""
    failed, optional = (
        ", ".join(translate_text(one.name) for one in setup_checks() if one.status == status)
        for status in ("fail", "warn")
    )
    if failed:
        return _("missing: {failed}").format(failed=failed)
    choice = model_choice()
    works = _("works now with {value}").format(
        value=_("the built-in engine") if choice.builtin else translate_text(choice.label)
    )
    return _("{works}. Optional: {optional}").format(works=works, optional=optional) if optional else works


def draw_check_action(name: str, key: str) -> None:
    """Draw the fix of one check outside the list: button or progress; nothing once it is done."""
    check = find_check(name)
    if check is not None and check.action is not None and may_administer():
        st.fragment(_draw_live_action, run_every=_refresh_interval())(name, key, st.session_state[_DRAWN_KEY])


def _draw_live_rows() -> None:
    st.fragment(_draw_rows, run_every=_refresh_interval())(st.session_state[_DRAWN_KEY])


def _page_state() -> tuple[bool, str]:
    """Return the state that the rest of the page depends on; a change reruns the whole page."""
    return _is_busy(), model_choice().name


def _refresh_interval() -> float:
    return reruns.poll_interval(downloads.REFRESH_SECONDS if _is_busy() else _REFRESH_SECONDS)


def _is_busy() -> bool:
    return downloads.is_any_running() or _is_switching_space() or not is_status_known()


def _draw_rows(drawn: tuple[bool, str]) -> None:
    if drawn != _page_state():
        _redraw_page()
    first, others = split_shown_checks(setup_checks())
    with st.container(gap=None):
        for check in first:
            _draw_check_row(check)
        if len(others) <= _OTHERS_IN_VIEW:
            for check in others:
                _draw_check_row(check)
    if len(others) > _OTHERS_IN_VIEW:
        names = markdown.escape_line(", ".join(translate_text(check.name) for check in others))
        with st.expander(
            _("{others} more to check: {names}").format(others=len(others), names=labels.small_text(names)),
            type="compact",
            key="set-up-others",
        ):
            for check in others:
                _draw_check_row(check)
    reruns.change_interval(_refresh_interval())


def _draw_live_action(name: str, key: str, drawn: tuple[bool, str]) -> None:
    check = find_check(name)
    if drawn != _page_state() or check is None or check.action is None:
        _redraw_page()
    if _is_action_running(check):
        _draw_action_progress(check)
    _draw_action_button(check, key)


def _redraw_page() -> NoReturn:
    """Refresh the status and rerun the whole page."""
    refresh_status()
    st.rerun()


def _draw_check_row(check: Check) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        if _is_action_running(check):
            _draw_check_progress(check)
        else:
            _draw_check_facts(check)
        _draw_action_button(check, "mend")


def _draw_check_progress(check: Check) -> None:
    name = f"{_STATUS_ICONS[check.status]} {markdown.escape_line(translate_text(check.name), 60)}"
    if is_phone():  # too narrow for two columns
        with st.container(gap=None):
            st.markdown(name)
            _draw_action_progress(check)
        return
    st.markdown(name, width=_CHECK_NAME_WIDTH)
    with st.container():
        _draw_action_progress(check)


def _draw_check_facts(check: Check) -> None:
    # The built-in engine is always available; its row shows whether it is in use.
    state, detail = check.detail.split(": ", 1) if check.name == _BUILTIN_CHECK else ("", check.detail)
    name = markdown.escape_line(translate_text(check.name), 60)
    st.markdown(
        f"{_STATUS_ICONS[check.status]} {name} {labels.grey_text(markdown.escape_line(translate_text(detail), 140))}"
    )
    if state:
        with st.container(height=_CHECK_ROW_HEIGHT, width="content", border=False, vertical_alignment="center"):
            st.badge(markdown.escape_line(translate_text(state)), color="green" if state == "in use" else "gray")
