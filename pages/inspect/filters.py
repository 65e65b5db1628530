"""Filters of the list of runs, kept while other pages are open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, cast

import streamlit as st

from crag.inspection import badges
from crag.inspection.archive import Facets, RunFilter
from crag.moments import today
from pages.inspect import chosen, signs
from pages.parts import markdown, words
from pages.parts.person import person
from pages.parts.resources import application
from pages.parts.search import search_field

_SEARCH, _ACTIONS, _FOLD = "inspect_search", "inspect_actions", "inspect_fold"
_OUTCOMES, _VERDICTS, _MODELS = "inspect_outcomes", "inspect_verdicts", "inspect_models"
_THUMBS, _STATES, _WEB, _WHEN, _DAYS = (f"inspect_{name}" for name in ("thumbs", "states", "web", "when", "days"))
_MANY = (_ACTIONS, _OUTCOMES, _VERDICTS, _MODELS, _THUMBS, _STATES)
_FOLDED = (_OUTCOMES, _VERDICTS, _MODELS, _THUMBS, _STATES, _WEB, _WHEN)
_ALWAYS = "Any time"
_BETWEEN = "Between two days"
_BACK = {"Today": 0, "Last 7 days": 6, "Last 30 days": 29}
_WEB_WORDS = {True: ":material/travel_explore: Searched", False: "Not searched"}


def draw(found: Facets, run_id: str) -> RunFilter:
    """Draw the filters for the kinds of runs that exist, and return the chosen filter."""
    if not found.states:
        return RunFilter()
    search_field("Find a run", _SEARCH, keep=True)
    actions = [action for action in badges.ACTIONS if action]
    _pills("Action", _ACTIONS, actions, lambda action: signs.of(badges.ACTIONS[action]), label_visibility="collapsed")
    wanted = _wanted()
    _draw_number(application().archive.count(wanted, person()), run_id)
    active = sum(bool(st.session_state.get(key)) for key in _FOLDED) - (st.session_state.get(_WHEN) == _ALWAYS)
    label = f"More filters · **{active} active**" if active else "More filters"
    with st.expander(label, type="compact", key=_FOLD):
        _draw_folded(found)
    return wanted


def clear() -> None:
    """Clear all filters."""
    for key in _MANY:
        st.session_state[key] = []
    st.session_state[_SEARCH], st.session_state[_WEB], st.session_state[_WHEN] = "", None, _ALWAYS


def show_only(outcome: str) -> None:
    """Filter by one outcome and clear every other filter."""
    clear()
    st.session_state[_OUTCOMES] = [outcome]


def _draw_number(number: int, run_id: str) -> None:
    """Draw the number of matching runs and the buttons to the overview and to clear the filters."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        st.caption(words.count(number, "run") if number else "Nothing matches", width="content", wrap=False)
        with st.container(horizontal=True, horizontal_alignment="right", gap="small", wrap=False):
            if run_id:
                st.button("Overview", icon=":material/monitoring:", type="tertiary", on_click=chosen.leave)
            if _wanted() != RunFilter():
                st.button("Clear filters", icon=":material/filter_alt_off:", type="tertiary", on_click=clear)


def _draw_folded(found: Facets) -> None:
    outcomes = [outcome for outcome in badges.OUTCOMES if outcome in found.outcomes]
    _pills("Outcome", _OUTCOMES, outcomes, lambda outcome: signs.of(badges.OUTCOMES[outcome]))
    _pills("Verdict of a passage", _VERDICTS, list(badges.VERDICTS), lambda word: signs.of(badges.VERDICTS[word]))
    models = [model for model in found.models if model]
    _pills("Model", _MODELS, models, lambda model: markdown.label(model, 40))
    _pills("Thumbs", _THUMBS, list(signs.THUMBS), signs.THUMBS.__getitem__)
    states = [state for state in signs.STATES if state in found.states]
    _pills("State", _STATES, states, lambda state: signs.of(signs.STATES[state]))
    st.pills("Web", list(_WEB_WORDS), format_func=_WEB_WORDS.__getitem__, key=_WEB, persist_state="session")
    st.selectbox("When", [_ALWAYS, *_BACK, _BETWEEN], key=_WHEN, persist_state="session")
    if st.session_state[_WHEN] == _BETWEEN:
        st.date_input("Days", (today(), today()), max_value="today", key=_DAYS, persist_state="session")


def _pills(name: str, key: str, choices: Sequence[Any], drawn: Callable[[Any], str], **given: Any) -> None:
    """Draw a multiple choice, unless there is only one value and none is chosen."""
    chosen = st.session_state.get(key) or []
    shown = list(dict.fromkeys([*choices, *chosen]))  # a chosen value stays visible, even if no run has it now
    if len(shown) > 1 or chosen:
        st.pills(name, shown, selection_mode="multi", format_func=drawn, key=key, persist_state="session", **given)


def _wanted() -> RunFilter:
    kept: Mapping[str, Any] = cast("Mapping[str, Any]", st.session_state)
    since, until = _bounds(kept)
    return RunFilter(
        search=(kept.get(_SEARCH) or "").strip(),
        actions=tuple(kept.get(_ACTIONS) or ()),
        models=tuple(kept.get(_MODELS) or ()),
        verdicts=tuple(kept.get(_VERDICTS) or ()),
        outcomes=tuple(kept.get(_OUTCOMES) or ()),
        states=tuple(kept.get(_STATES) or ()),
        helpful=tuple(kept.get(_THUMBS) or ()),
        since=since,
        until=until,
        web=kept.get(_WEB),
    )


def _bounds(kept: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the start (inclusive) and end (exclusive) of the period; a span with one end is that day."""
    when = kept.get(_WHEN, _ALWAYS)
    if when in _BACK:
        return _begin(today() - timedelta(days=_BACK[when])), None
    days = kept.get(_DAYS) or (today(),)
    return (_begin(days[0]), _begin(days[-1] + timedelta(days=1))) if when == _BETWEEN else (None, None)


def _begin(day: date) -> float:
    """Return the start of a day in the local time zone, in seconds since the epoch."""
    return datetime(day.year, day.month, day.day).astimezone().timestamp()
