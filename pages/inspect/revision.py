"""Revision drawer: continue a run from one of its nodes with other verdicts, query or settings."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from crag.events import NODES
from crag.options import RunOptions, apply_changes
from crag.protocols import MAX_QUERY_LENGTH
from crag.runs.revisions import Revision, options_used_from
from crag.runs.trace import Trace
from crag.translation import N_, _
from crag.types import NodeName, Ruling, Verdict
from pages.chat.options import OptionControls
from pages.inspect import navigation
from pages.parts import dialogs, labels, markdown
from pages.parts.services import application

_DRAWER_WIDTH = 520
_AS_GRADED, _USE, _DROP = N_("As graded"), N_("Use anyway"), N_("Leave out")
_RULINGS: dict[str, Ruling] = {_USE: "use", _DROP: "drop"}
_NODES_BEFORE_VERDICTS = ("condense_question", "retrieve")
_NODES_WITH_QUERY = ("transform_query", "web_search")
_OPTIONS_KEY = "revised_options"
_ASKS_FIRST_NOTE = N_("You are asked before a query leaves this machine.")
_NO_CONSENT_NOTE = N_("Web search is on, so the query is sent without asking you.")


def draw_revision_drawer(about: tuple[str, NodeName]) -> None:
    """Draw the drawer for a (run id, node) pair."""
    run_id, node = about
    title = _("Continue from: {title}").format(title=_(NODES[node].title))
    dialog = st.dialog(
        title, icon=":material/alt_route:", position="right", width=_DRAWER_WIDTH, on_dismiss=_close_drawer
    )
    dialog(_draw_revision_form)(run_id, node)


def _close_drawer() -> None:
    st.session_state.pop(_OPTIONS_KEY, None)
    dialogs.close_dialog()


def _draw_revision_form(run_id: str, node: NodeName) -> None:
    trace = application().runs.trace(run_id)
    st.caption(_("Makes a new version of the answer. Earlier steps are reused, and the current answer is kept."))
    rulings = {} if node in _NODES_BEFORE_VERDICTS else _draw_rulings(run_id, trace)
    query = _draw_query_field(run_id, trace) if node in _NODES_WITH_QUERY else ""
    options = _current_options(run_id, trace)
    with st.expander(
        _("**Settings**"), node in _NODES_BEFORE_VERDICTS, type="compact", key=f"settings-{run_id}-{node}"
    ):
        st.caption(_("The settings used from this step on, for this version only."))
        change = partial(_change_options, run_id, trace)
        OptionControls(options, change, f"revise-{run_id}").draw_only(options_used_from(node))
    changed = bool(rulings or query or options != trace.options)
    label = _("Continue from here") if changed else _("Run this step again")
    if st.button(label, icon=":material/alt_route:", key=f"go-on-from-{run_id}"):
        revision = Revision(rulings, query, options if options != trace.options else None)
        with dialogs.catch_refusals():
            navigation.open_run(application().runs.revise(run_id, node, revision).id)
            _close_drawer()
        st.rerun()
    if options.web != "off":
        st.caption(f":material/arrow_circle_up: {_(_ASKS_FIRST_NOTE) if options.web == 'ask' else _(_NO_CONSENT_NOTE)}")


def _draw_rulings(run_id: str, trace: Trace) -> dict[int, Ruling]:
    """Draw a row for each graded passage; return the changed rulings by passage id."""
    if not trace.verdicts:
        return {}
    st.header(_("Verdicts"), anchor=False)
    rulings: dict[int, Ruling] = {}
    ranked = [found for origin in ("web", "library") for found in trace.found.get(origin, ())]
    for verdict in (trace.verdicts[found] for found in ranked if found in trace.verdicts):
        chosen = _draw_ruling(run_id, trace, verdict)
        if chosen in _RULINGS and _RULINGS[chosen] != verdict.ruling:
            rulings[verdict.passage_id] = _RULINGS[chosen]
    return rulings


def _draw_ruling(run_id: str, trace: Trace, verdict: Verdict) -> str:
    """Draw the choice for one passage and return it; an earlier ruling cannot return to the grader's verdict."""
    where = markdown.escape_page_and_title(trace.passages[verdict.passage_id])
    choices = [_USE, _DROP] if verdict.ruling else [_AS_GRADED, _USE, _DROP]
    stands = {"use": _USE, "drop": _DROP}.get(verdict.ruling or "", _AS_GRADED)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"{labels.verdict_badge(verdict)} {where}", width="content")
        chosen: str = st.segmented_control(
            _("Your verdict on {where}").format(where=where),
            choices,
            default=stands,
            format_func=_,
            required=True,
            key=f"ruling-{run_id}-{verdict.passage_id}",
            label_visibility="collapsed",
        )
    return chosen


def _draw_query_field(run_id: str, trace: Trace) -> str:
    """Draw the web query and return it; empty if unchanged."""
    st.header(_("Query for the web"), anchor=False)
    before = trace.query_sent or trace.query or trace.condensed or trace.question
    query: str = st.text_area(
        _("Query for the web"),
        value=before[:MAX_QUERY_LENGTH],
        max_chars=MAX_QUERY_LENGTH,
        height=68,
        key=f"revised-query-{run_id}",
        label_visibility="collapsed",
    )
    return "" if query.strip() == before.strip() else query.strip()


def _current_options(run_id: str, trace: Trace) -> RunOptions:
    """Return the options as changed so far, ignoring changes made for another run."""
    of_run, options = st.session_state.get(_OPTIONS_KEY, ("", trace.options))
    return options if of_run == run_id else trace.options


def _change_options(run_id: str, trace: Trace, **changes: Any) -> None:
    st.session_state[_OPTIONS_KEY] = (run_id, apply_changes(_current_options(run_id, trace), changes))
