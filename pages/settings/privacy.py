"""Outbound log, search quota, allowed models, LangSmith, and the key of this browser."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.settings import format_command
from crag.storage.outbound_log import OutboundLog
from crag.storage.preferences import ValueOrigin
from crag.text import sanitization
from crag.text.formatting import format_count, format_number, format_timestamp
from crag.translation import N_, _, bind_language, join_texts
from crag.types import OutboundRecord, is_account
from pages.parts import dialogs, external_hosts, labels, layout, markdown
from pages.parts.services import application, current_owner, may_administer
from pages.parts.session import NOT_REMEMBERED, is_browser_remembered
from pages.settings import setting_row

_KEY_INTRODUCTION = N_("Conversations started in this browser are visible only here. Its key:")
_KEY_MEANING = N_("The key identifies this browser. It opens nothing on its own.")
_TAKING_OVER = N_(
    "To move one conversation, export it there as JSON and import it here, both under *History* in the chat. "
    "To move several, or those of another port or from before you cleared site data, list all conversations on the "
    "server, then transfer the ones you name, or all with `--all`. "
    "People who log in have their conversations in every browser."
)


def _draw_browser_key() -> None:
    """Draw the key, if each browser has its own conversations."""
    key = current_owner()
    if key is None or is_account(key):
        return
    with st.container(gap=None):
        st.header(_("This browser"), anchor=False)
        with st.container(border=True):
            st.markdown(_(_KEY_INTRODUCTION))
            st.code(key, language=None, wrap_lines=True)
            st.caption(_(_KEY_MEANING))
            if not is_browser_remembered():
                st.markdown(f":orange[:material/info:] {_(NOT_REMEMBERED)}")
            with st.expander(_("Transfer conversations from another browser"), type="compact"):
                st.markdown(_(_TAKING_OVER))
                commands = ("conversations list", f"conversations give --to={key} ID")
                home = application().settings.home
                st.code("\n".join(format_command(one, home) for one in commands), None, wrap_lines=True)


_TRACES_TITLE = N_("Traces of answers")
_TRACES_KEY = "traces-allowed"
_NO_KEY_NOTE = N_("No key, so nothing is sent. To add one, put `LANGSMITH_API_KEY=…` into the file `.env`.")
_LANGSMITH_WORDS = (
    "LangSmith traces of answers LANGSMITH_API_KEY LANGSMITH_TRACING CRAG_LANGSMITH evaluations sent away"
)


def _draw_langsmith() -> None:
    """Draw the part of the section about LangSmith."""
    with st.container(gap=None):
        st.header("LangSmith", anchor=False)
        with st.container(border=True):
            if not application().settings.langsmith.key:
                st.caption(_(_NO_KEY_NOTE))
                return
            host = markdown.escape_line(application().settings.langsmith.host, 60)
            st.markdown(_("Evaluations go to **{host}** only when you send them.").format(host=host))
            _draw_traces()


def _draw_traces() -> None:
    account = application().settings.langsmith
    allowed, traces = application().preferences.may_trace(), application().traces
    meaning = _(
        "While this is on, every question asked here, its conversation, every prompt with its "
        "passages and the answer go to {host}, project “{project}”. Each trace is listed above."
    ).format(host=account.host, project=account.project)
    origin: ValueOrigin = "environment" if account.always else "saved" if allowed else "default"
    row = setting_row.lay_out_row(_(_TRACES_TITLE), meaning, origin, "CRAG_LANGSMITH")
    with row, st.container(gap="xxsmall"):
        st.session_state[_TRACES_KEY] = allowed
        fixed = account.always or not (traces.is_configured or allowed)
        st.toggle(
            _(_TRACES_TITLE), key=_TRACES_KEY, label_visibility="collapsed", disabled=fixed, on_change=_switch_traces
        )
        setting_row.draw_refusal(_(_TRACES_TITLE))
        _draw_trace_state(allowed)


def _draw_trace_state(allowed: bool) -> None:
    """Draw whether traces are sent now, and otherwise what is missing."""
    if application().traces.on:
        st.markdown(
            _(":small[:orange[{external_icon}] Traces are being sent.]").format(
                external_icon=external_hosts.EXTERNAL_ICON
            )
        )
    elif not application().settings.langsmith.tracing:
        missing = _("Nothing is sent. To be able to switch this on, set `LANGSMITH_TRACING=true`, then restart.")
        st.caption(_("Nothing is sent. Set `LANGSMITH_TRACING=true`, then restart.") if allowed else missing)
    else:
        st.caption(_("Nothing is sent. LANGSMITH_TRACING asks for traces; switch this on to send them."))


def _switch_traces() -> None:
    setting_row.attempt_change(
        _(_TRACES_TITLE), application().preferences.allow_traces, bool(st.session_state[_TRACES_KEY])
    )


_RECORDS_SHOWN = 200
_EXPORT_LIMIT = 1_000_000
_ROWS_IN_VIEW = 8
CLEAR_LOG_DIALOG = "forget_departures"
PRIVACY_WORDS = (
    "what left this machine departures ledger meter of searches Tavily quota export as CSV forget this list "
    "models that may be sent to allowed take back cloud provider this browser key site data people conversations "
    f"{_LANGSMITH_WORDS}"
)


def draw_privacy() -> None:
    """Draw the section: outbound log, allowed models, LangSmith, and the key of this browser."""
    with st.container(border=True):
        st.markdown(
            _("Everything sent from this machine is logged here first.")
            + f" {labels.grey_text(_('Data for models on this machine stays here and is not listed.'))}"
        )
        if application().preferences.search_settings().web_search_provider == "tavily" and may_administer():
            _draw_quota()
        _draw_outbound_log()
    with st.container(gap=None):
        st.header(_("Allowed models on other machines"), anchor=False)
        _draw_allowed_models()
    if may_administer():
        _draw_langsmith()
    _draw_browser_key()


def draw_clear_log_dialog(_unused: None) -> None:
    """Draw the confirmation before the log is cleared."""
    dialogs.confirm(
        _("Clear this list?"),
        _draw_cleared_entries,
        _("Clear"),
        application().outbound_log.clear,
    )


def _draw_allowed_models() -> None:
    """Draw the allowed external models, each with a button that withdraws the permission."""
    preferences = application().preferences
    with st.container(border=True):
        if not preferences.allowed_models():
            st.caption(_("None. Models on other machines are used only after you allow them."))
        for model in preferences.allowed_models():
            with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
                host = markdown.escape_line(external_hosts.model_host(model), 60)
                where = labels.grey_text(_("at {host}").format(host=host))
                st.markdown(
                    f"{external_hosts.EXTERNAL_ICON} {markdown.escape_line(model, 80)} {where}", width="content"
                )
                key = f"forbid-{model}"
                if may_administer():
                    st.button(_("Revoke"), type="tertiary", key=key, on_click=preferences.forbid_model, args=(model,))


def _draw_quota() -> None:
    quota = application().search_quota.current()
    if quota.plan:
        limit = _("of {limit} credits").format(limit=format_number(quota.limit)) if quota.limit else "credits"
        text = _("{used} {limit} used ({plan}, from Tavily)").format(
            used=format_number(quota.used), limit=limit, plan=markdown.escape_line(quota.plan, 60)
        )
    else:
        text = _("{searches} this month of {limit} in Tavily's free plan").format(
            searches=format_count(quota.used, "search", "searches"), limit=format_number(quota.limit)
        )
        text += labels.grey_text(_(", counted here. Tavily's own count may differ"))
    st.progress(layout.progress_share(quota.used, quota.limit), text=text)
    if st.button(_("Check with Tavily"), icon=":material/sync:", type="tertiary"):
        try:
            application().search_quota.fetch()
        except CragError as error:
            dialogs.toast_error(error)  # it outlasts a page that is drawn again because a model has been found
        else:
            st.rerun()


def _draw_outbound_log() -> None:
    outbound_log = application().outbound_log
    count = outbound_log.count_since()
    if others := outbound_log.count_hidden():
        st.caption(
            _("{entries} by other people or commands not shown.").format(
                entries=format_count(others, "more entry", "more entries")
            )
        )
    if not count:
        st.caption(_("Nothing of yours has left this machine.") if others else _("Nothing has left this machine."))
        return
    entries = outbound_log.entries(_RECORDS_SHOWN)
    chosen = _draw_outbound_table(entries)
    if chosen is not None:
        sent = _("{kind} to {host}").format(kind=_(chosen.kind), host=markdown.escape_line(chosen.host, 100))
        st.caption(f"{format_timestamp(chosen.at)} · {sent}")
        st.text(sanitization.strip_invisible(chosen.what))
    more = (
        _("The last {records_shown} of {count}.").format(records_shown=_RECORDS_SHOWN, count=format_number(count))
        if count > _RECORDS_SHOWN
        else ""
    )
    st.caption(join_texts(more, _("Choose a row to read the full text.")))
    with st.container(horizontal=True):
        st.download_button(
            _("Export as CSV"),
            bind_language(partial(export_csv, outbound_log)),
            file_name=f"crag-departures-{time.strftime('%Y-%m-%d')}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        dialogs.draw_opener(_("Clear list"), ":material/delete:", CLEAR_LOG_DIALOG)


def export_csv(outbound_log: OutboundLog) -> bytes:
    """Return everything that was sent, latest first, as CSV."""
    rows = ((format_timestamp(one.at), _(one.kind), one.host, one.what) for one in outbound_log.entries(_EXPORT_LIMIT))
    return sanitization.write_csv([(_("When"), _("Kind"), _("Sent to"), _("What")), *rows])


def _draw_outbound_table(entries: list[OutboundRecord]) -> OutboundRecord | None:
    """Draw the log as a table and return the selected record."""
    # A selection is kept by row number, so new records at the top would shift it: the key changes with them.
    newest = entries[0]
    state: Any = st.dataframe(
        {
            _("When"): [format_timestamp(entry.at) for entry in entries],
            _("What"): [" ".join(sanitization.strip_invisible(entry.what).split()) for entry in entries],
            _("Sent to"): [sanitization.strip_invisible(entry.host) for entry in entries],
            _("Kind"): [_(entry.kind) for entry in entries],
        },
        key=f"departures-{newest.at}-{len(entries)}",
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        height=layout.table_height(len(entries), _ROWS_IN_VIEW),
        alt=_("Table of {entries}").format(entries=format_count(len(entries), "entry", "entries")),
        column_config={
            _("When"): st.column_config.TextColumn(width=145),
            _("What"): st.column_config.TextColumn(width=260),
            _("Sent to"): st.column_config.TextColumn(width=130),
            _("Kind"): st.column_config.TextColumn(width=95),
        },
    )
    rows = state.selection.rows
    return entries[rows[0]] if rows and rows[0] < len(entries) else None


def _draw_cleared_entries() -> None:
    count = application().outbound_log.count_since()
    st.markdown(_("{entries} will be deleted permanently.").format(entries=format_count(count, "entry", "entries")))
    if application().preferences.search_settings().web_search_provider == "tavily":
        st.caption(_("This month's search count restarts at 0 here, but not at Tavily."))
    st.caption(_("This does not undo what was sent; recipients may keep it."))
