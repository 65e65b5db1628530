"""What one can do with the last answer: judge it, copy it, have it made again, or compared under other settings."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crag.graph.presets import PRESETS
from crag.options import RunOptions, with_changes
from crag.runs import Trace
from pages.chat.questions import answer_again
from pages.parts import away, markdown, words
from pages.parts.components import copy_button
from pages.parts.resources import answering, application, models

_AGAIN = "Same settings"
COMPARE = f"Compare with other settings {words.grey('both answers side by side')}"


def draw(run_id: str, trace: Trace) -> None:
    """One row of buttons."""
    key = f"again-{run_id}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.feedback("thumbs", key=f"thumbs-{run_id}", default=_given(run_id), on_change=_thumb, args=(run_id,))
        if trace.text:
            copy_button(trace.text, key=f"copy-{run_id}")
        st.menu_button(
            "Again",
            [*again_choices(trace.options), COMPARE],
            icon=":material/refresh:",
            type="tertiary",
            key=key,
            on_click=_again_with,
            args=(key, run_id, trace.options),
        )


def again_choices(options: RunOptions) -> dict[str, RunOptions]:
    """What `Again` offers, by the words of its menu: the same settings, other models and policies, saved presets."""
    choices = {_AGAIN: options}
    used = answering(options)
    for model in models():
        if model.name != used:
            choices[f"With {away.marked(model.name)}"] = replace(options, model=model.name, preset="")
    for policy, (name, meaning) in words.POLICIES.items():
        if policy != options.policy:
            choices[f"Policy {name} {words.grey(meaning)}"] = replace(options, policy=policy, preset="")
    for preset, changes in application().preferences.presets().items():
        if preset not in (*PRESETS, options.preset):  # known variants are many: comparing offers them
            choices[f"Preset {markdown.label(preset, 60)}"] = with_changes(options, {**changes, "preset": preset})
    return choices


def _again_with(key: str, run_id: str, options: RunOptions) -> None:
    chosen = st.session_state[key]
    if chosen == COMPARE:
        st.session_state.comparing = (run_id, options)
    else:
        answer_again(run_id, again_choices(options)[chosen])


def _given(run_id: str) -> int | None:
    helpful = application().conversations.feedback(run_id)
    return None if helpful is None else int(helpful)


def _thumb(run_id: str) -> None:
    value = st.session_state[f"thumbs-{run_id}"]
    if value is None:
        return
    application().conversations.give_feedback(run_id, bool(value))
    if value == 0:
        st.session_state.asks_why = run_id


def ask_why(run_id: str) -> None:
    """A small dialog: what was wrong with the answer."""

    def content() -> None:
        reason = st.text_area("What was wrong?", height=90, max_chars=500, placeholder="It missed the second failure")
        if st.button("Send", icon=":material/send:"):
            application().conversations.give_feedback(run_id, helpful=False, reason=reason)
            st.session_state.pop("asks_why", None)
            st.rerun()

    st.dialog("Thank you", on_dismiss=lambda: st.session_state.pop("asks_why", None))(content)()
