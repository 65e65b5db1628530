"""Nodes of a run: outputs, inputs and model calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from crag.events import NODES
from crag.inspection.node_values import NodeValue, describe_node
from crag.inspection.steps import PassageDescription, PromptSize, SentenceDescription, describe_step
from crag.models.model_choice import model_label
from crag.runs.revisions import resumable_nodes
from crag.runs.trace import Step, Trace
from crag.text import sanitization
from crag.text.formatting import format_count, format_duration, format_number
from crag.translation import _, format_list, translate_text
from crag.types import ModelCall, Passage, Turn
from pages.inspect import navigation
from pages.parts import dialogs, labels, markdown
from pages.parts.layout import draw_folded
from pages.parts.services import application
from pages.parts.trace import draw_prompt_size, draw_strips, step_icon, step_label

_MAX_INLINE_LENGTH = 120  # characters; longer text is shown below its name


def draw_value(value: NodeValue) -> None:
    """Draw the name of a value and its content."""
    name, content = value.name, value.content
    if isinstance(content, str):
        _draw_text_value(name, content)
    elif isinstance(content, PromptSize):
        st.caption(f"**{name}**")
        draw_prompt_size(content)
    elif content:
        strips = sum(len(one.strips) for one in content if isinstance(one, PassageDescription))
        st.caption(f"**{name}** {strips or len(content)}")
        for rank, one in enumerate(content, start=1):
            _draw_item(rank, one)


def _draw_text_value(name: str, text: str) -> None:
    if len(text) <= _MAX_INLINE_LENGTH and "\n" not in text:
        st.markdown(f":small[:gray[**{name}**]] {markdown.escape_line(text)}")
    else:
        st.caption(f"**{name}**")
        st.text(sanitization.strip_invisible(text))


def _draw_item(rank: int, one: Passage | PassageDescription | SentenceDescription | Turn) -> None:
    match one:
        case Passage():
            _draw_passage(rank, one)
        case PassageDescription() if one.strips:
            draw_strips(one)
        case PassageDescription():
            place, reason = markdown.escape_line(one.place, 120), labels.grey_text(markdown.escape_line(one.reason))
            st.markdown(f"{labels.badge_markdown(one.badge)} {place} {reason}")
        case SentenceDescription():
            cited = labels.grey_text("".join(f"\\[{number}\\]" for number in one.citations))
            st.markdown(f"{labels.badge_markdown(one.badge)} {markdown.escape_line(one.text, 600)} {cited}")
        case Turn():
            st.markdown(f":small[:gray[{one.role}]] {markdown.escape_line(one.text, 400)}")


def _draw_passage(rank: int, passage: Passage) -> None:
    address = f" · {markdown.escape_line(passage.location, 160)}" if passage.origin == "web" else ""
    score = _("score {score}").format(score=f"{passage.score:.3f}")
    head = f"{rank}. {markdown.escape_page_and_title(passage)} {labels.small_text(f'{score}{address}')}"
    with st.expander(head, type="compact"):
        st.text(sanitization.strip_invisible(passage.text))


_CALL_TEXT_HEIGHT = 320  # pixels; longer texts scroll
_LONG_TEXT_LENGTH = 1_400  # characters


def draw_calls(run_id: str, calls: Sequence[ModelCall]) -> None:
    """Draw each call, collapsed if there are several; a collapsed one is drawn once expanded."""
    for number, call in enumerate(calls, start=1):
        key = f"call-{run_id}-{call.node}-{number}"
        label = _("Call {number} {call_facts}").format(number=number, call_facts=labels.small_text(_call_facts(call)))
        draw_folded(label, key, partial(_draw_call, call), expanded=len(calls) == 1, type="compact")


def _draw_call(call: ModelCall) -> None:
    for prompt in call.prompts:
        _draw_call_text(prompt.role.capitalize(), prompt.text)
    if call.thought:
        _draw_call_text(_("Thought"), call.thought)
    _draw_call_text(_("Reply"), call.reply or _("(empty)"))
    if call.fault:
        st.caption(f":material/error: {markdown.escape_line(translate_text(call.fault))}")


def _draw_call_text(name: str, text: str) -> None:
    """Draw a complete text verbatim, to read and to copy."""
    st.caption(f"**{markdown.escape_line(name)}** {format_count(len(text), 'character')}")
    st.code(
        text, language=None, wrap_lines=True, height=_CALL_TEXT_HEIGHT if len(text) > _LONG_TEXT_LENGTH else "content"
    )


def _call_facts(call: ModelCall) -> str:
    tokens = [
        f"{format_number(number)} {name}"
        for number, name in ((call.prompt_tokens, _("in")), (call.answer_tokens, _("out")))
        if number is not None
    ]
    counted = [_("{counts} tokens").format(counts=format_list(tokens, "and"))] if tokens else []
    fault = [_("failed")] if call.fault else []
    return " · ".join(
        [
            markdown.escape_line(translate_text(model_label(call.model)), 60),
            format_duration(call.seconds),
            *counted,
            *fault,
        ]
    )


def draw_nodes(run_id: str, trace: Trace, sent: Sequence[ModelCall]) -> None:
    """Draw the nodes that ran, in order; a collapsed one is drawn once expanded."""
    st.header(_("Steps"), anchor=False)
    if not trace.steps:
        st.caption(_("No step has run."))
        return
    with st.container(gap="xxsmall"):
        for index, step in enumerate(trace.steps):
            own = [call for call in sent if call.node == step.node]
            inside = partial(_draw_node, run_id, trace, step, own, bool(sent))
            shown = describe_step(step, trace)
            draw_folded(step_label(shown), f"node-{run_id}-{index}", inside, type="step", icon=step_icon(shown))


def _draw_node(run_id: str, trace: Trace, step: Step, own: Sequence[ModelCall], any_calls: bool) -> None:
    shown = describe_node(step.node, trace, _load_history(run_id) if step.node == "condense_question" else ())
    output, given, prompts = st.tabs([_("Output"), _("Input"), _("Prompt as sent")])
    with output:
        _draw_values(shown.outputs, _("No output."))
    with given:
        _draw_values(shown.inputs, _("No input."))
    with prompts:
        if own:
            draw_calls(run_id, own)
        else:
            st.caption(_explain_missing_prompts(step, trace, any_calls))
    if step.node in resumable_nodes(trace):
        st.button(
            _("Continue from here with changes"),
            icon=":material/alt_route:",
            key=f"revise-{run_id}-{step.node}",
            on_click=dialogs.open_dialog_from_fragment,
            args=(navigation.REVISE_DIALOG, (run_id, step.node)),
        )


def _draw_values(held: Sequence[NodeValue], none: str) -> None:
    if not held:
        st.caption(none)
    for value in held:
        draw_value(value)


def _explain_missing_prompts(step: Step, trace: Trace, any_calls: bool) -> str:
    """Say why no prompt is shown."""
    if not NODES[step.node].asks_model:
        return _("This step does not use a model.")
    if step.kept:
        return _("Reused from the previous version; see its prompts there.")
    if any_calls or (trace.prompt and not trace.prompt.window):
        return _("No model was used here.")
    return _("No prompt was kept. None was sent, or the run is too old.")


def _load_history(run_id: str) -> tuple[Turn, ...]:
    """Return the turns before the question, in the branch that is shown; empty outside a conversation."""
    conversation = application().conversations.find_by_run(run_id)
    if conversation is None:
        return ()
    family = {version.run_id for version in application().runs.versions(run_id)}
    messages = application().conversations.messages(conversation.id)
    at = next((index for index, message in enumerate(messages) if message.run_id in family), 1)
    return tuple(Turn(message.role, message.text) for message in messages[: max(0, at - 1)])
