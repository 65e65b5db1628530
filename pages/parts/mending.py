"""Fix for a failed check: a button that applies it, its progress, or a dialog with instructions."""

from __future__ import annotations

import sys

import streamlit as st

from crag.checks import Check, CheckAction
from pages.parts import dialogs, downloads, markdown, words
from pages.parts.resources import application, checks, look_again

_PAGES = {"settings": "pages/settings/page.py"}
_DIALOG = "mending"
_NOTICE_SECONDS = 2.0
_SYSTEMS = {"darwin": "macOS", "win32": "Windows", "linux": "Linux"}


def find(name: str) -> Check | None:
    """Return the current check of this name."""
    return next((check for check in checks() if check.name == name), None)


def is_moving() -> bool:
    """Return whether the library is switching to another embedder."""
    return application().library.space_work.progress is not None


def is_under_way(check: Check) -> bool:
    """Return whether the fix of this check was started and has not finished."""
    action = check.action
    if action is None:
        return False
    if action.kind == "download":
        return downloads.unfinished(action.target) is not None
    return action.kind == "move" and is_moving()


def draw_progress(check: Check) -> None:
    """Draw the progress of the running fix."""
    action = check.action
    if action is None:
        return
    if download := downloads.unfinished(action.target):
        downloads.draw_progress(download)
    elif work := application().library.space_work.progress:
        share = min(1.0, work.done / work.total) if work.total else 0.0
        counts = f"{work.done:,} of {work.total:,}" if work.total else ""
        st.progress(share, text=words.grey(markdown.label(f"{work.stage} {counts}".strip(), 100)))


def draw_button(check: Check, key: str) -> None:
    """Draw the button that applies the fix or opens its instructions, or cancels a running fix."""
    action, key = check.action, f"{key}-{check.name}"
    if action is None:
        if check.status != "ok" and check.fix:
            _dialog_button(check, "How to mend", key)
        return
    label = markdown.label(action.label, 60)
    if action.kind == "download":
        downloads.draw_button(action.target, label, f"-{key}")
    elif action.kind == "move":
        _move_button(action, key)
    elif action.kind == "open":
        page = (_PAGES[action.target],)
        st.button(label, icon=":material/tune:", type="tertiary", key=key, on_click=st.switch_page, args=page)
    else:
        _dialog_button(check, action.label, key)


def _dialog_button(check: Check, label: str, key: str) -> None:
    icon = ":material/key:" if check.action and check.action.kind == "key" else ":material/help:"
    asked = (_DIALOG, check)
    ask = dialogs.ask_at_once
    st.button(markdown.label(label, 60), icon=icon, type="tertiary", key=key, on_click=ask, args=asked)


def _move_button(action: CheckAction, key: str) -> None:
    work = application().library.space_work
    if is_moving():
        st.button("Cancel", type="tertiary", key=f"{key}-cancel", on_click=work.cancel)
    else:
        label = markdown.label(action.label, 60)
        st.button(label, icon=":material/move_up:", type="tertiary", key=key, on_click=_move, args=(action.target,))


def _move(embedder: str) -> None:
    application().library.space_work.choose(embedder)
    look_again()


def draw_dialog() -> None:
    """Draw the dialog with instructions if it is the open one."""
    dialogs.draw({_DIALOG: _draw_dialog})


def _draw_dialog(check: Check) -> None:
    if _is_done(check):
        _say_done(check)
    else:
        st.dialog(markdown.label(check.name, 60), on_dismiss=dialogs.close)(_explain)(check)


def _explain(check: Check) -> None:
    st.caption(markdown.label(f"{check.detail[:1].upper()}{check.detail[1:]}."))
    st.markdown(check.fix)
    if check.action and check.action.commands:
        st.code(check.action.commands, language="bash", wrap_lines=True)
    st.caption(_where_to(check.action))
    st.fragment(_notice, run_every=_NOTICE_SECONDS)(check)


def _where_to(action: CheckAction | None) -> str:
    if action is not None and action.kind == "key":
        return "A line for the file .env. It counts after the next start, and is never shown or stored elsewhere."
    system = _SYSTEMS.get(sys.platform, "this system")
    typed = f"For a terminal on {system}. " if action is not None and action.commands else ""
    return f"{typed}This page notices by itself when it is done."


def _notice(explained: Check) -> None:
    if _is_done(explained):
        _say_done(explained)
        st.rerun()


def _is_done(explained: Check) -> bool:
    """Return whether the explained problem is gone or a different action is needed now."""
    now = find(explained.name)
    return now is None or now.action != explained.action


def _say_done(explained: Check) -> None:
    dialogs.close()
    now = find(explained.name)
    detail = now.detail if now else "nothing is missing any more"
    st.toast(markdown.label(f"{explained.name}: {detail}"), icon=":material/check_circle:")
