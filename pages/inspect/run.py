"""One run: head, state, path, timeline, verdicts and nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from crag.errors import NotFound
from crag.inspection import run_labels
from crag.inspection.run_archive import RunFilter, RunRow
from crag.runs.trace import Trace
from crag.text.formatting import format_count, format_date_time, format_duration
from crag.translation import N_, _, translate_text
from crag.types import ModelCall
from pages.chat.answer import draw_answer_text
from pages.chat.versions import open_comparison
from pages.inspect import navigation, nodes, revision, timeline, verdicts
from pages.parts import dialogs, labels, markdown, sharing
from pages.parts.layout import draw_watching
from pages.parts.routes import Page
from pages.parts.services import application
from pages.parts.session import is_phone
from pages.parts.trace import current_activity


def draw_run_head(run_id: str, trace: Trace, calls: Sequence[ModelCall]) -> None:
    """Draw the title with its buttons, the badges, the version and the answer."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(markdown.escape_line(trace.question, 160) or _("Getting ready"), anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            _draw_head_buttons(run_id)
    st.markdown(f"{' '.join(_run_badges(trace))} {labels.grey_text(' · '.join(_run_figures(trace, calls)))}")
    if (row := application().archive.find(run_id)) and row.imported:
        st.caption(f":material/upload: {labels.import_origin(row.imported)}")
    _draw_version_menu(run_id)
    if trace.text:
        with st.expander(_("Answer"), type="compact", key=f"answer-{run_id}"):
            draw_answer_text(run_id, trace, links=False)


def _draw_head_buttons(run_id: str) -> None:
    evaluation_id = application().runs.evaluation(run_id)
    if evaluation_id:  # such a run has no conversation
        if st.button(_("Evaluation"), icon=Page.EVALUATE.icon, type="tertiary", key=f"evaluation-of-{run_id}"):
            navigation.open_evaluation(evaluation_id)
    elif st.button(_("Open in chat"), icon=Page.CHAT.icon, type="tertiary", key=f"chat-{run_id}"):
        navigation.open_chat(run_id)
    _draw_dialog_button(_("Compare"), ":material/compare_arrows:", navigation.COMPARE_DIALOG, run_id)
    _draw_dialog_button(_("Share"), ":material/share:", navigation.SHARE_DIALOG, run_id)


def _draw_dialog_button(word: str, icon: str, dialog: str, run_id: str) -> None:
    """Draw a button that opens a dialog; it works in the fragment that refreshes while the run is running."""
    st.button(
        word, icon=icon, key=f"{dialog}-{run_id}", on_click=dialogs.open_dialog_from_fragment, args=(dialog, run_id)
    )


def _run_badges(trace: Trace) -> list[str]:
    """Return badges for state, action and outcome, then for the options."""
    badges = (
        [] if trace.state in ("running", "done") else [labels.badge_markdown(run_labels.RUN_STATE_BADGES[trace.state])]
    )
    result = trace.action, trace.outcome
    outcome = run_labels.outcome_badge(*result) if trace.outcome else None
    decision = run_labels.decision_badge(*result)
    if trace.action_reason and (outcome is None or outcome.word != decision.word):
        badges.append(labels.badge_markdown(decision))
    if outcome:
        badges.append(labels.badge_markdown(outcome))
    options = trace.options
    only = format_count(len(options.source_ids), "document") if options.source_ids else ""
    facts = [
        markdown.escape_line(translate_text(trace.model), 60),
        _("Grader: {trace_grader_label}").format(trace_grader_label=labels.trace_grader_label(trace))
        if trace.grader
        else "",
        run_labels.grading_label(options.policy),
        format_count(options.k, "passage"),
        run_labels.describe_option("passage_size", options.passage_size) if options.passage_size else "",
        only or labels.collection_label(options.collection),
    ]
    return badges + [f":gray-badge[{name}]" for name in facts if name]


def _run_figures(trace: Trace, calls: Sequence[ModelCall]) -> list[str]:
    """Return start, duration and tokens of all calls; old runs know the tokens of the answer only."""
    figures = [format_date_time(trace.started_at)] if trace.started_at else []
    if trace.seconds is not None:
        figures.append(format_duration(trace.seconds))
    counted = [number for call in calls for number in (call.prompt_tokens, call.answer_tokens) if number]
    usage = [number for number in (trace.usage.prompt_tokens, trace.usage.answer_tokens) if number]
    if total := sum(counted) or sum(usage):
        figures.append(format_count(total, "token"))
    return figures


def _draw_version_menu(run_id: str) -> None:
    """Draw the number of this version, what it changed, and a menu of the other versions."""
    try:
        versions = application().runs.versions(run_id)
    except NotFound:  # deleted while it was shown
        return
    if len(versions) < 2:
        return
    own = next(version for version in versions if version.run_id == run_id)
    others = {version.run_id: version for version in versions if version is not own}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(labels.version_caption(own, len(versions)), width="content")
        other = st.menu_button(
            _("Show version"),
            list(others),
            format_func=lambda other: labels.version_name(others[other]),
            icon=":material/history:",
            type="tertiary",
            key=f"versions-{run_id}",
        )
    if other:
        navigation.open_run(other)
        st.rerun()


_DRAWER_WIDTH = 560
_MAX_CHOICES = 20


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run to choose, with its label."""

    run_id: str
    name: str


@dialogs.dialog(N_("Compare with"), icon=":material/compare_arrows:", position="right", width=_DRAWER_WIDTH)
def draw_compare_drawer(run_id: str) -> None:
    """Draw the drawer."""
    trace = application().runs.trace(run_id)
    versions = [
        RunChoice(one.run_id, labels.version_name(one))
        for one in application().runs.versions(run_id)
        if one.run_id != run_id
    ]
    known = {run_id, *(one.run_id for one in versions)}
    same = _find_runs(trace.question, known, trace)
    latest = _find_runs("", known | {one.run_id for one in same})
    for title, choices in (
        (_("Other versions of this answer"), versions),
        (_("The same question"), same),
        (_("Latest runs"), latest),
    ):
        if choices:
            st.caption(title)
            _draw_choice_buttons(run_id, choices)
    if not (versions or same or latest):
        st.caption(_("There is no other run yet. Answer again, or continue from a step with changes."))


def _draw_choice_buttons(run_id: str, choices: Sequence[RunChoice]) -> None:
    with st.container(gap="xxsmall"):
        for one in choices:
            if st.button(one.name, key=f"{navigation.COMPARE_DIALOG}-{one.run_id}", type="tertiary", wrap=is_phone()):
                dialogs.close_dialog()
                earlier_first = sorted((one.run_id, run_id), key=lambda each: application().runs.trace(each).started_at)
                open_comparison(*earlier_first)


def _find_runs(search: str, without: set[str], same: Trace | None = None) -> list[RunChoice]:
    """Return the latest runs of the current user; with `same`, only those of exactly its question."""
    rows = application().archive.list(RunFilter(search=search), _MAX_CHOICES + len(without), 0)
    kept = [row for row in rows if row.run_id not in without and (same is None or row.question == same.question)]
    return [RunChoice(row.run_id, _run_label(row)) for row in kept[:_MAX_CHOICES]]


def _run_label(row: RunRow) -> str:
    change = labels.version_change(row.change) if row.change else ""
    facts = " · ".join(part for part in (change, format_date_time(row.started_at)) if part)
    question = markdown.escape_line(row.question, 80)
    badge = run_labels.run_badge(row)
    return f"{labels.badge_label(badge)} {question} {labels.grey_text(facts)}"


_REFRESH_SECONDS = 1.0
_PATH_WIDTH, _FIGURES_WIDTH = 390, 490  # pixels
_DIALOGS: dict[str, Callable[[Any], None]] = {
    navigation.PASSAGE_DIALOG: navigation.draw_passage,
    navigation.REVISE_DIALOG: revision.draw_revision_drawer,
    navigation.COMPARE_DIALOG: draw_compare_drawer,
    navigation.SHARE_DIALOG: sharing.draw_share_dialog,
}


def draw_run(run_id: str) -> None:
    """Draw a run, every second until it ends; report one that was deleted or belongs to another user as missing."""
    try:
        application().conversations.find_by_run(run_id)
        trace = application().runs.trace(run_id)
    except NotFound:
        st.title(_("This answer no longer exists"), anchor=False)
        st.caption(_("It was deleted, or it belongs to another browser. Choose another run."))
        if not is_phone():  # there the button is above every run
            st.button(_("All runs"), icon=":material/arrow_back:", key="all-runs", on_click=navigation.show_overview)
        return
    dialogs.draw_open_dialog(_DIALOGS)
    if trace.state == "running":
        draw_watching(
            "running", lambda: application().runs.trace(run_id).state, _REFRESH_SECONDS, lambda: _draw_running(run_id)
        )
        return
    calls = application().runs.calls(run_id)
    _draw_upper_part(run_id, trace, calls)
    st.fragment(nodes.draw_nodes)(run_id, trace, calls)


def _draw_running(run_id: str) -> None:
    trace, calls = application().runs.trace(run_id), application().runs.calls(run_id)
    _draw_upper_part(run_id, trace, calls)
    nodes.draw_nodes(run_id, trace, calls)


def _draw_upper_part(run_id: str, trace: Trace, calls: Sequence[ModelCall]) -> None:
    """Draw everything above the nodes."""
    draw_run_head(run_id, trace, calls)
    _draw_state(run_id, trace)
    with st.container(horizontal=True, gap="small"):  # unlike columns, it wraps where there is no room for both
        left, right = st.container(width=_PATH_WIDTH), st.container(width=_FIGURES_WIDTH)
    with left:
        timeline.draw_path(trace)
    with right:
        timeline.draw_timeline(trace, calls)
        verdicts.draw_verdicts(run_id, trace)


def _draw_state(run_id: str, trace: Trace) -> None:
    """Draw the state of a run that is not done, and what to do about it."""
    match trace.state:
        case "running":
            st.markdown(current_activity(trace))
        case "waiting":
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(_("**Waiting for you**: allow this search?"), width="content")
                if st.button(_("Decide in chat"), icon=Page.CHAT.icon):
                    navigation.open_chat(run_id)
        case "failed":
            st.markdown(
                f":red[:material/error:] **{markdown.escape_line(translate_text(trace.error))}**  \n"
                f"{markdown.sanitize_answer(translate_text(trace.remedy))}"
            )
        case "stopped":
            st.caption(_(":material/stop_circle: Stopped by you. The results so far are kept."))
        case "interrupted":
            st.caption(_(":material/stop_circle: The app closed during this run. The results so far are kept."))
