"""Fine-tuning: options of a language model per role, one role at a time."""

from __future__ import annotations

import streamlit as st

from crag.preferences import CATALOG, Effective, Setting
from pages.parts import settings, words
from pages.settings import models, rows, setting
from pages.settings.model_list import BUILTIN
from pages.settings.server import report

_ROLE = "tuned_role"
_UNTUNED = ", and has nothing to tune: what is set here counts for language models."


def all_rows() -> tuple[rows.Row, ...]:
    """Return the rows of every role, each with the role in its title."""
    return tuple(_row(name) for role in words.ROLES for name in settings.tuning_of(role))


def chosen_rows() -> tuple[rows.Row, ...]:
    """Draw the role selector and return the rows of the chosen role."""
    role = st.segmented_control(
        "Role",
        list(words.ROLES),
        default=None if _ROLE in st.session_state else "answering",
        required=True,
        format_func=words.ROLES.__getitem__,
        label_visibility="collapsed",
        key=_ROLE,
        persist_state="session",
    )
    role = role or "answering"
    model = models.playing(role)
    st.caption(f"{models.shown(model)} plays this role now{_UNTUNED if model == BUILTIN else '.'}")
    return tuple(_row(name, short=True) for name in settings.tuning_of(role))


def _row(name: str, *, short: bool = False) -> rows.Row:
    title = settings.short_title(CATALOG[name]) if short else ""
    if name.endswith(".window"):
        return setting.row(name, _window, _explain_window, title)
    return setting.row(name, title=title)


def _window(option: Setting, effective: Effective) -> None:
    setting.control(option, effective, _most(option))


def _explain_window(option: Setting, effective: Effective) -> str:
    if (most := _most(option)) is None:
        return option.meaning
    if effective.value > most:
        return f"This model reads {most:,} tokens at most."
    window = f"{effective.value:,} of the model's {most:,} tokens"
    return f"{window}. Larger windows need more memory; roles that share a model share the largest of their windows."


def _most(option: Setting) -> int | None:
    """Return the context window of the model in this role, in tokens; None if unknown."""
    found = report(models.playing(option.name.partition(".")[0]))
    return found.context_length if found else None
