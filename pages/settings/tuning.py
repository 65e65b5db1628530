"""Fine-tuning: how a language model plays each of its roles, one role at a time."""

from __future__ import annotations

import streamlit as st

from crag.preferences import CATALOG, Effective, Setting
from pages.settings import models, rows, setting
from pages.settings.model_list import BUILTIN
from pages.settings.server import report

_ROLES = {"answering": "Answering", "grading": "Grading", "rewriting": "Rewriting"}
_ROLE = "tuned_role"
_UNTUNED = ", and has nothing to tune: what is set here counts for language models."
_TUNED = ("window", "answer_limit", "temperature", "keep_alive", "parallelism")


def all_rows() -> tuple[rows.Row, ...]:
    """The rows of every role, each with its role in its name."""
    return tuple(_row(role, name) for role in _ROLES for name in _TUNED)


def chosen_rows() -> tuple[rows.Row, ...]:
    """Draws the choice of a role, and gives its rows."""
    role = st.segmented_control(
        "Role",
        list(_ROLES),
        default=None if _ROLE in st.session_state else "answering",
        required=True,
        format_func=_ROLES.__getitem__,
        label_visibility="collapsed",
        key=_ROLE,
        persist_state="session",
    )
    role = role or "answering"
    model = models.playing(role)
    st.caption(f"{models.shown(model)} plays this role now{_UNTUNED if model == BUILTIN else '.'}")
    return tuple(_row(role, name, short=True) for name in _TUNED)


def _row(role: str, name: str, *, short: bool = False) -> rows.Row:
    full = f"{role}.{name}"
    title = CATALOG[full].title.partition(": ")[2].capitalize() if short else ""
    if name == "window":
        return setting.row(full, _window, _explain_window, title)
    return setting.row(full, title=title)


def _window(held_setting: Setting, held: Effective) -> None:
    setting.control(held_setting, held, _most(held_setting))


def _explain_window(held_setting: Setting, held: Effective) -> str:
    if (most := _most(held_setting)) is None:
        return held_setting.meaning
    if held.value > most:
        return f"This model reads {most:,} tokens at most."
    told = f"{held.value:,} of the model's {most:,} tokens"
    return f"{told}. Larger windows need more memory; roles that share a model share the largest of their windows."


def _most(held_setting: Setting) -> int | None:
    """The window of the model that plays the role, in tokens; None where nobody tells it."""
    found = report(models.playing(held_setting.name.partition(".")[0]))
    return found.context_length if found else None
