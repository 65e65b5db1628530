"""Nodes of a run: outputs, inputs and every prompt as it was sent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from crag.inspection.facts import came_to, state_word
from crag.inspection.nodes import Value, view
from crag.model_calls import ModelCall
from crag.runs import Step, Trace
from crag.runs.revisions import nodes_to_go_on_from
from crag.types import Turn
from pages.inspect import calls, moves, values
from pages.parts import dialogs, words
from pages.parts.device import is_phone
from pages.parts.folding import draw_folded
from pages.parts.person import person
from pages.parts.resources import application
from pages.parts.trace import ICONS

_ASK_NO_MODEL = ("retrieve", "decide", "check_answer")


def draw(run_id: str, trace: Trace, sent: Sequence[ModelCall]) -> None:
    """Draw the nodes that ran, in order; a collapsed one is drawn once expanded."""
    st.header("Nodes", anchor=False)
    if not trace.steps:
        st.caption("No node has run.")
        return
    with st.container(gap="xxsmall"):
        for index, step in enumerate(trace.steps):
            own = [call for call in sent if call.node == step.node]
            inside = partial(_draw, run_id, trace, step, own, bool(sent))
            draw_folded(_label(step, trace), f"node-{run_id}-{index}", inside, type="step", icon=ICONS[step.state])


def _label(step: Step, trace: Trace) -> str:
    """Return title, graph name (except on a phone), outcome and duration of a step."""
    time = "kept from the version before" if step.kept else state_word(step)
    if not time and step.seconds is not None:
        time = words.duration(step.seconds)
    told = " · ".join(part for part in (came_to(step, trace).replace("<", "\\<"), time) if part)
    own = "" if is_phone() else f" :small[:gray-badge[{step.node}]]"
    return f"{words.NODES[step.node]}{own} {words.grey(told)}"


def _draw(run_id: str, trace: Trace, step: Step, own: Sequence[ModelCall], any_calls: bool) -> None:
    shown = view(step.node, trace, _history(run_id) if step.node == "condense_question" else ())
    output, given, prompts = st.tabs(["Output", "Input", "Prompt as sent"])
    with output:
        _values(shown.outputs, trace, "Nothing came of it.")
    with given:
        _values(shown.inputs, trace, "It was given nothing.")
    with prompts:
        if own:
            calls.draw(run_id, own)
        else:
            st.caption(_no_prompts(step, trace, any_calls))
    if step.node in nodes_to_go_on_from(trace):
        st.button(
            "Go on from here with changes",
            icon=":material/alt_route:",
            key=f"revise-{run_id}-{step.node}",
            on_click=dialogs.ask_at_once,
            args=(moves.REVISE, (run_id, step.node)),
        )


def _values(held: Sequence[Value], trace: Trace, none: str) -> None:
    if not held:
        st.caption(none)
    for value in held:
        values.draw(value, trace)


def _no_prompts(step: Step, trace: Trace, any_calls: bool) -> str:
    """Say why no prompt is shown."""
    if step.node in _ASK_NO_MODEL:
        return "This node asks no model."
    if step.kept:
        return "It ran for the version before: its prompts are there."
    if any_calls or (trace.prompt and not trace.prompt.window):
        return "No model was asked here."
    return "No prompt was kept: none was sent, or it is an older run, of which they are not there any more."


def _history(run_id: str) -> tuple[Turn, ...]:
    """Return the turns before the question, in the branch that is shown; empty outside a conversation."""
    conversation = application().conversations.of_run(run_id, person())
    if conversation is None:
        return ()
    family = {version.run_id for version in application().runs.versions(run_id)}
    said = application().conversations.messages(conversation.id)
    at = next((index for index, message in enumerate(said) if message.run_id in family), 1)
    return tuple(Turn(message.role, message.text) for message in said[: max(0, at - 1)])
