"""Head of a run: question, outcome, settings, versions and actions."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.errors import NotFound
from crag.model_calls import ModelCall
from crag.moments import day_and_minute
from crag.runs import Trace
from pages.chat.answer import draw_text
from pages.inspect import chosen, moves, signs
from pages.parts import dialogs, markdown, words
from pages.parts.resources import application


def draw(run_id: str, trace: Trace, calls: Sequence[ModelCall]) -> None:
    """Draw the title with its buttons, the badges, the version and the answer."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(markdown.label(trace.question, 160) or "Getting ready", anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            _buttons(run_id)
    st.markdown(f"{' '.join(_badges(trace))} {words.grey(' · '.join(_figures(trace, calls)))}")
    _versions(run_id)
    if trace.text:
        with st.expander("Answer", type="compact", key=f"answer-{run_id}"):
            draw_text(run_id, trace, links=False)


def _buttons(run_id: str) -> None:
    evaluation_id = application().runs.evaluation(run_id)
    if evaluation_id:  # such a run has no conversation
        if st.button("Evaluation", icon=":material/analytics:", type="tertiary", key=f"evaluation-of-{run_id}"):
            moves.open_evaluation(evaluation_id)
    elif st.button("Open in chat", icon=":material/forum:", type="tertiary", key=f"chat-{run_id}"):
        moves.open_chat(run_id)
    _dialog_button("Compare", ":material/compare_arrows:", moves.COMPARE, run_id)
    _dialog_button("Share", ":material/share:", moves.SHARE, run_id)


def _dialog_button(word: str, icon: str, dialog: str, run_id: str) -> None:
    """Draw a button that opens a dialog; it works in the fragment that refreshes while the run is running."""
    st.button(word, icon=icon, key=f"{dialog}-{run_id}", on_click=dialogs.ask_at_once, args=(dialog, run_id))


def _badges(trace: Trace) -> list[str]:
    """Return badges for state, action and outcome, then for the options."""
    came = [] if trace.state in ("running", "done") else [words.badge(signs.STATES[trace.state])]
    if trace.action_reason:
        came.append(words.action_badge(trace.action))
    if trace.outcome:
        came.append(words.outcome_badge(trace.outcome))
    options = trace.options
    chosen = words.count(len(options.source_ids), "document") if options.source_ids else options.collection
    under = [
        markdown.label(trace.model, 60),
        words.grader_label(trace.grader) if trace.grader else "",
        f"policy {words.POLICIES[options.policy][0]}",
        f"k {options.k}",
        f"cut to {words.count(options.passage_size, 'token')}" if options.passage_size else "",
        markdown.label(chosen, 60) or "All documents",
    ]
    return came + [f":gray-badge[{name}]" for name in under if name]


def _figures(trace: Trace, calls: Sequence[ModelCall]) -> list[str]:
    """Return start, duration and tokens of all calls; old runs know the tokens of the answer only."""
    figures = [day_and_minute(trace.started_at)] if trace.started_at else []
    if trace.seconds is not None:
        figures.append(words.duration(trace.seconds))
    counted = [number for call in calls for number in (call.prompt_tokens, call.answer_tokens) if number]
    usage = [number for number in (trace.usage.prompt_tokens, trace.usage.answer_tokens) if number]
    if total := sum(counted) or sum(usage):
        figures.append(words.count(total, "token"))
    return figures


def _versions(run_id: str) -> None:
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
        st.caption(words.version_caption(own, len(versions)), width="content")
        other = st.menu_button(
            "Show version",
            list(others),
            format_func=lambda other: words.version_name(others[other]),
            icon=":material/history:",
            type="tertiary",
            key=f"versions-{run_id}",
        )
    if other:
        chosen.open_run(other)
        st.rerun()
