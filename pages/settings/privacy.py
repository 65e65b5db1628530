"""Outbound log, search quota, and the buttons to export or clear the log."""

from __future__ import annotations

import csv
import io
import time
from functools import partial
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.moments import exact
from crag.types import Departure
from pages.parts import away, dialogs, markdown, tables, words
from pages.parts.person import person
from pages.parts.resources import application
from pages.settings import browser, langsmith

_SHOWN = 200
_EXPORTED = 1_000_000
_MOST_ROWS = 8
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # characters that start a formula in a spreadsheet (OWASP, “CSV injection”)
FORGET = "forget_departures"
WORDS = (
    "what left this machine departures ledger meter of searches Tavily quota export as CSV forget this list "
    "models that may be sent to allowed take back cloud provider this browser key cookie people conversations "
    f"{langsmith.WORDS}"
)


def draw() -> None:
    """Draw the section: outbound log, allowed models, LangSmith, and the key of this browser."""
    with st.container(border=True):
        st.markdown(
            "What leaves this machine is written down here before it is sent. "
            + words.grey("What models on this machine are given stays here, and is not in the list.")
        )
        if application().settings.tavily_api_key:
            _meter()
        _departures()
    _allowed()
    langsmith.draw()
    browser.draw()


def draw_dialog(_: None) -> None:
    """Draw the confirmation before the log is cleared."""
    st.dialog("Forget this list?", icon=":material/delete:", on_dismiss=dialogs.close)(_confirm)()


def _allowed() -> None:
    """Draw the allowed external models, each with a button that withdraws the permission."""
    with st.container(gap=None):
        st.header("Models that may be sent to", anchor=False)
        _allowed_models()


def _allowed_models() -> None:
    preferences = application().preferences
    with st.container(border=True):
        if not preferences.allowed_models():
            st.caption("None. A model that runs elsewhere is used only after you allowed it.")
        for model in preferences.allowed_models():
            with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
                where = words.grey(f"at {markdown.label(away.of_model(model), 60)}")
                st.markdown(f"{away.ICON} {markdown.label(model, 80)} {where}", width="content")
                key = f"forbid-{model}"
                st.button("Take back", type="tertiary", key=key, on_click=preferences.forbid_model, args=(model,))


def _meter() -> None:
    quota = application().search_quota.now()
    if quota.plan:
        limit = f"of {quota.limit:,} credits" if quota.limit else "credits"
        text = f"{quota.used:,} {limit} used, as Tavily told within the last hour ({markdown.label(quota.plan, 60)})"
    else:
        text = f"{words.count(quota.used, 'search', 'searches')} this month of {quota.limit:,} in Tavily's free plan"
        text += words.grey(", as counted here: only Tavily knows your plan and what else used the key")
    st.progress(min(1.0, quota.used / quota.limit) if quota.limit else 0.0, text=text)
    if st.button("Ask Tavily", icon=":material/sync:", type="tertiary"):
        try:
            application().search_quota.ask()
        except CragError as error:
            st.warning(markdown.label(str(error)))
        else:
            st.rerun()


def _departures() -> None:
    ledger = application().ledger
    count = ledger.count_since(person=person())
    if others := ledger.count_since() - count:
        st.caption(f"{words.count(others, 'more departure')} of other people, or of commands, not shown here.")
    if not count:
        st.caption("Nothing of yours has left this machine." if others else "Nothing has left this machine.")
        return
    entries = ledger.entries(_SHOWN, person=person())
    chosen = _table(entries)
    if chosen is not None:
        st.caption(f"{exact(chosen.at)} · {chosen.kind} to {markdown.label(chosen.host, 100)}")
        st.text(markdown.visible(chosen.what))
    more = f"The last {_SHOWN} of {count:,}. " if count > _SHOWN else ""
    st.caption(f"{more}Choose a row to read all of it.")
    with st.container(horizontal=True):
        st.download_button(
            "Export as CSV",
            partial(_export, person()),
            file_name=f"crag-departures-{time.strftime('%Y-%m-%d')}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.button("Forget this list", icon=":material/delete:", on_click=dialogs.ask, args=(FORGET,))


def _export(whose: str | None) -> bytes:
    """Return the CSV file, created on demand outside of the script run that knows the user."""
    return as_csv(application().ledger.entries(_EXPORTED, person=whose))


def _table(entries: list[Departure]) -> Departure | None:
    """Draw the log as a table and return the selected record."""
    # A selection is kept by row number, so new records at the top would shift it: the key changes with them.
    newest = entries[0]
    state: Any = st.dataframe(
        {
            "When": [exact(entry.at) for entry in entries],
            "What": [" ".join(markdown.visible(entry.what).split()) for entry in entries],
            "Where to": [markdown.visible(entry.host) for entry in entries],
            "Kind": [entry.kind for entry in entries],
        },
        key=f"departures-{newest.at}-{len(entries)}",
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        height=tables.height(len(entries), _MOST_ROWS),
        alt=f"Table of {words.count(len(entries), 'departure')}",
        column_config={
            "When": st.column_config.TextColumn(width=145),
            "What": st.column_config.TextColumn(width=260),
            "Where to": st.column_config.TextColumn(width=130),
            "Kind": st.column_config.TextColumn(width=95),
        },
    )
    rows = state.selection.rows
    return entries[rows[0]] if rows and rows[0] < len(entries) else None


def as_csv(entries: list[Departure]) -> bytes:
    """Return the records as CSV in UTF-8 with a byte order mark; cells that look like formulas are quoted."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["when", "kind", "where to", "what"])
    for entry in entries:
        cells = (exact(entry.at), entry.kind, entry.host, entry.what)
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return text.getvalue().encode("utf-8-sig")


def _confirm() -> None:
    count = application().ledger.count_since(person=person())
    st.markdown(f"{words.count(count, 'entry', 'entries')} will be gone for good.")
    if application().settings.tavily_api_key:
        st.caption("The count of this month's searches begins at 0 again, whatever Tavily counts.")
    st.caption("It does not undo what was sent: those who got it may keep it.")
    with st.container(horizontal=True):
        if st.button("Forget", icon=":material/delete:"):
            _forget()
        if st.button("Cancel"):
            dialogs.close_and_redraw()


def _forget() -> None:
    try:
        application().ledger.clear(person())
    except CragError as error:
        st.warning(markdown.label(str(error)))
        return
    dialogs.close_and_redraw()
