"""Actions on an answer: feedback, copy, regenerate with other options, compare, menu."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crag.graph.presets import PRESETS
from crag.options import RunOptions, with_changes
from crag.runs import Trace
from pages.chat import feedback, more, pinning
from pages.chat.questions import answer_again
from pages.parts import away, markdown, words
from pages.parts.components import copy_button
from pages.parts.resources import answering, application, models

_AGAIN = "Same settings"
COMPARE = f"Compare with other settings {words.grey('both answers side by side')}"


def draw(run_id: str, trace: Trace, question_id: int) -> None:
    """Draw a row of buttons and, below it, the user's feedback."""
    key = f"again-{run_id}"
    given = application().conversations.feedback(run_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        feedback.draw_thumbs(run_id, given)
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
        more.draw(run_id, trace, question_id)
    feedback.draw_reason(run_id, given)
    pinning.draw(run_id, given)


def are_open(run_id: str) -> bool:
    """Return whether the actions of this earlier answer were opened; they are hidden otherwise, for speed."""
    return bool(st.session_state.get("acted_on") == run_id)


def again_choices(options: RunOptions) -> dict[str, RunOptions]:
    """Return the choices of `Again` by menu label: same settings, other models, policies, saved presets."""
    choices = {_AGAIN: options}
    used = answering(options)
    for model in models():
        if model.name != used:
            choices[f"With {away.marked(model.name)}"] = replace(options, model=model.name, preset="")
    for policy, (name, meaning) in words.POLICIES.items():
        if policy != options.policy:
            choices[f"Policy {name} {words.grey(meaning)}"] = replace(options, policy=policy, preset="")
    for preset, changes in application().preferences.presets().items():
        if preset not in (*PRESETS, options.preset):  # the many known variants are offered by the comparison
            choices[f"Preset {markdown.label(preset, 60)}"] = with_changes(options, {**changes, "preset": preset})
    return choices


def _again_with(key: str, run_id: str, options: RunOptions) -> None:
    chosen = st.session_state[key]
    if chosen == COMPARE:
        st.session_state.comparing = (run_id, options)
    else:
        answer_again(run_id, again_choices(options)[chosen])
