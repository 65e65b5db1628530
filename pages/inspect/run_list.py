"""Filters and list of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, cast

import streamlit as st

from crag.inspection import run_labels
from crag.inspection.run_archive import RunFacets, RunFilter, RunRow
from crag.text.formatting import current_date, format_count, format_date, format_done, format_duration, to_local_time
from crag.translation import N_, _, translate_text
from pages.inspect import navigation
from pages.parts import labels, markdown
from pages.parts.address import open_page
from pages.parts.layout import draw_search_field, draw_watching
from pages.parts.routes import Page
from pages.parts.services import application

_FIRST_PAGE_SIZE, _PAGE_SIZE = 20, 50  # few at first, since each row costs the browser a few milliseconds
_SHOWN_KEY = "inspect_shown"
_REFRESH_SECONDS = 2.0


def draw_run_list(wanted: RunFilter, run_id: str) -> None:
    """Draw the list; refresh it every two seconds while a run is running or old runs are still being summarized."""
    shown: tuple[RunFilter, int] = st.session_state.get(_SHOWN_KEY, (wanted, _FIRST_PAGE_SIZE))
    limit = shown[1] if shown[0] == wanted else _FIRST_PAGE_SIZE
    is_updating = _is_updating()
    draw_watching(
        is_updating, _is_updating, _REFRESH_SECONDS if is_updating else None, lambda: _draw_runs(wanted, run_id, limit)
    )


def _is_updating() -> bool:
    archive = application().archive
    return bool(archive.summaries.progress or archive.count(RunFilter(states=("running",))))


def _draw_runs(wanted: RunFilter, run_id: str, limit: int) -> None:
    archive = application().archive
    found = archive.list(wanted, limit + 1)
    if not found:
        _draw_empty_list(wanted)
        return
    if progress := archive.summaries.progress:
        st.progress(
            progress.done / progress.total,
            f"{translate_text(progress.stage)}: {format_done(progress.done, progress.total)}",
        )
    for day, rows in groupby(found[:limit], key=lambda row: _day_label(row.started_at)):
        st.caption(day)
        with st.container(gap="xxsmall"):
            for row in rows:
                draw_run_row(row, "run", is_chosen=row.run_id == run_id)
    if len(found) > limit and st.button(_("Show more"), icon=":material/expand_more:", type="tertiary"):
        st.session_state[_SHOWN_KEY] = (wanted, limit + _PAGE_SIZE)
        st.rerun()


def draw_run_row(row: RunRow, prefix: str, *, is_chosen: bool = False, fact: str = "") -> None:
    """Draw a run: its question as a button, and below it `fact` (safe Markdown), by default its outcome."""
    title, badge = markdown.escape_line(row.question, 120), run_labels.run_badge(row)
    with st.container(gap=None):
        opened = st.button(
            f"{labels.badge_icon(badge)} {f'**{title}**' if is_chosen else title}",
            key=f"{prefix}-{row.run_id}",
            type="tertiary",
            wrap=False,
            on_click=navigation.open_run,
            args=(row.run_id,),
        )
        st.caption(fact or " · ".join(_run_facts(row)), wrap=False)
        if row.imported:
            st.caption(labels.import_origin(row.imported), wrap=False)
    if opened:
        st.rerun()


def _run_facts(row: RunRow) -> list[str]:
    facts = [run_labels.run_badge(row).word, f"{to_local_time(row.started_at):%H:%M}"]
    if row.seconds is not None:
        facts.append(format_duration(row.seconds))
    if row.change:
        facts.append(labels.version_change(row.change))
    if row.helpful is False:
        facts.append(_(":material/thumb_down: not helpful"))
    return facts


def _draw_empty_list(wanted: RunFilter) -> None:
    if wanted != RunFilter():
        st.markdown(_("**No runs match**"))
        st.caption(_("No run matches all filters. Clear them to see all runs."))
        return
    st.markdown(_("**No runs yet**"))
    st.caption(_("Each question you ask appears here as a run, with what was found, graded and decided."))
    if st.button(_("Ask a question"), icon=Page.CHAT.icon):
        open_page(Page.CHAT)


def _day_label(moment: float) -> str:
    named = {current_date(): _("Today"), current_date() - timedelta(days=1): _("Yesterday")}
    return named.get(to_local_time(moment).date()) or format_date(moment)


_SEARCH_KEY, _MORE_FILTERS_KEY = "inspect_search", "inspect_fold"
_OUTCOMES_KEY, _VERDICTS_KEY, _MODELS_KEY = "inspect_outcomes", "inspect_verdicts", "inspect_models"
_THUMBS_KEY, _STATES_KEY, _WEB_KEY, _WHEN_KEY, _DAYS_KEY = (
    f"inspect_{name}" for name in ("thumbs", "states", "web", "when", "days")
)
_MULTIPLE_CHOICE_KEYS = (_OUTCOMES_KEY, _VERDICTS_KEY, _MODELS_KEY, _THUMBS_KEY, _STATES_KEY)
_MORE_FILTER_KEYS = (_VERDICTS_KEY, _MODELS_KEY, _THUMBS_KEY, _STATES_KEY, _WEB_KEY, _WHEN_KEY)
_ANY_TIME = N_("Any time")
_BETWEEN_DAYS = N_("Between two days")
_DAYS_BACK = {N_("Today"): 0, N_("Last 7 days"): 6, N_("Last 30 days"): 29}
_WEB_LABELS = {True: N_(":material/travel_explore: Searched"), False: N_("Not searched")}


def draw_filters(found: RunFacets, run_id: str) -> RunFilter:
    """Draw the filters for the kinds of runs that exist, and return the chosen filter."""
    if not found.states:
        return RunFilter()
    draw_search_field(_("Find a run"), _SEARCH_KEY, keep=True)
    _draw_pills(
        _("Outcome"),
        _OUTCOMES_KEY,
        [outcome for outcome in run_labels.OUTCOME_BADGES if outcome in found.outcomes],
        lambda outcome: labels.badge_label(run_labels.OUTCOME_BADGES[outcome]),
        label_visibility="collapsed",
    )
    wanted = _current_filter()
    _draw_count(application().archive.count(wanted), run_id)
    active = sum(bool(st.session_state.get(key)) for key in _MORE_FILTER_KEYS) - (
        st.session_state.get(_WHEN_KEY) == _ANY_TIME
    )
    label = _("More filters · **{active} active**").format(active=active) if active else _("More filters")
    with st.expander(label, type="compact", key=_MORE_FILTERS_KEY):
        _draw_more_filters(found)
    return wanted


def clear_filters() -> None:
    """Clear all filters."""
    for key in _MULTIPLE_CHOICE_KEYS:
        st.session_state[key] = []
    st.session_state[_SEARCH_KEY], st.session_state[_WEB_KEY], st.session_state[_WHEN_KEY] = "", None, _ANY_TIME


def show_only_outcome(outcome: str) -> None:
    """Filter by one outcome and clear every other filter."""
    clear_filters()
    st.session_state[_OUTCOMES_KEY] = [outcome]


def _draw_count(number: int, run_id: str) -> None:
    """Draw the number of matching runs and the buttons to the overview and to clear the filters."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        st.caption(format_count(number, "run") if number else _("No runs match"), width="content", wrap=False)
        with st.container(horizontal=True, horizontal_alignment="right", gap="small", wrap=False):
            if run_id:
                st.button(
                    _("Overview"),
                    icon=":material/monitoring:",
                    type="tertiary",
                    key="run-overview",
                    on_click=navigation.show_overview,
                )
            if _current_filter() != RunFilter():
                st.button(_("Clear filters"), icon=":material/filter_alt_off:", type="tertiary", on_click=clear_filters)


def _draw_more_filters(found: RunFacets) -> None:
    _draw_pills(
        _("Verdict of a passage"),
        _VERDICTS_KEY,
        list(run_labels.VERDICT_BADGES),
        lambda word: labels.badge_label(run_labels.VERDICT_BADGES[word]),
    )
    models = [model for model in found.models if model]
    _draw_pills(_("Model"), _MODELS_KEY, models, lambda model: markdown.escape_line(model, 40))
    _draw_pills(_("Thumbs"), _THUMBS_KEY, list(labels.FEEDBACK_LABELS), lambda thumb: _(labels.FEEDBACK_LABELS[thumb]))
    states = [state for state in run_labels.RUN_STATE_BADGES if state in found.states]
    _draw_pills(_("State"), _STATES_KEY, states, lambda state: labels.badge_label(run_labels.RUN_STATE_BADGES[state]))
    st.pills(
        _("Web"),
        list(_WEB_LABELS),
        format_func=lambda searched: _(_WEB_LABELS[searched]),
        key=_WEB_KEY,
        persist_state="session",
    )
    st.selectbox(
        _("When"), [_ANY_TIME, *_DAYS_BACK, _BETWEEN_DAYS], format_func=_, key=_WHEN_KEY, persist_state="session"
    )
    if st.session_state[_WHEN_KEY] == _BETWEEN_DAYS:
        st.date_input(
            _("Days"), (current_date(), current_date()), max_value="today", key=_DAYS_KEY, persist_state="session"
        )


def _draw_pills(name: str, key: str, choices: Sequence[Any], drawn: Callable[[Any], str], **given: Any) -> None:
    """Draw a multiple choice, unless there is only one value and none is chosen."""
    chosen = st.session_state.get(key) or []
    shown = list(dict.fromkeys([*choices, *chosen]))  # a chosen value stays visible, even if no run has it now
    if len(shown) > 1 or chosen:
        st.pills(name, shown, selection_mode="multi", format_func=drawn, key=key, persist_state="session", **given)


def _current_filter() -> RunFilter:
    kept: Mapping[str, Any] = cast("Mapping[str, Any]", st.session_state)
    since, until = _time_bounds(kept)
    return RunFilter(
        search=(kept.get(_SEARCH_KEY) or "").strip(),
        models=tuple(kept.get(_MODELS_KEY) or ()),
        verdicts=tuple(kept.get(_VERDICTS_KEY) or ()),
        outcomes=tuple(kept.get(_OUTCOMES_KEY) or ()),
        states=tuple(kept.get(_STATES_KEY) or ()),
        helpful=tuple(kept.get(_THUMBS_KEY) or ()),
        since=since,
        until=until,
        web=kept.get(_WEB_KEY),
    )


def _time_bounds(kept: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the start (inclusive) and end (exclusive) of the period; a span with one end is that day."""
    when = kept.get(_WHEN_KEY, _ANY_TIME)
    if when in _DAYS_BACK:
        return _start_of_day(current_date() - timedelta(days=_DAYS_BACK[when])), None
    days = kept.get(_DAYS_KEY) or (current_date(),)
    return (
        (_start_of_day(days[0]), _start_of_day(days[-1] + timedelta(days=1))) if when == _BETWEEN_DAYS else (None, None)
    )


def _start_of_day(day: date) -> float:
    """Return the start of a day in the local time zone, in seconds since the epoch."""
    return datetime(day.year, day.month, day.day).astimezone().timestamp()
