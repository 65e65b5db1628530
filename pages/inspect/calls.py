"""Model calls of a node: prompts as sent and replies as received."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from crag.model_calls import ModelCall
from crag.models.choice import model_label
from pages.parts import markdown, words
from pages.parts.folding import draw_folded

_HEIGHT = 320  # pixels; longer texts scroll
_LONG = 1_400  # characters


def draw(run_id: str, calls: Sequence[ModelCall]) -> None:
    """Draw each call, collapsed if there are several; a collapsed one is drawn once expanded."""
    for number, call in enumerate(calls, start=1):
        key = f"call-{run_id}-{call.node}-{number}"
        label = f"Call {number} {words.small(_facts(call))}"
        draw_folded(label, key, partial(_draw, call), expanded=len(calls) == 1, type="compact")


def _draw(call: ModelCall) -> None:
    for prompt in call.prompts:
        _text(prompt.role.capitalize(), prompt.text)
    if call.thought:
        _text("Thought", call.thought)
    _text("Reply", call.reply or "(nothing came)")
    if call.fault:
        st.caption(f":material/error: {markdown.label(call.fault)}")


def _text(name: str, text: str) -> None:
    """Draw a complete text verbatim, to read and to copy."""
    st.caption(f"**{markdown.label(name)}** {words.count(len(text), 'character')}")
    st.code(text, language=None, wrap_lines=True, height=_HEIGHT if len(text) > _LONG else "content")


def _facts(call: ModelCall) -> str:
    tokens = [
        f"{number:,} {name}"
        for number, name in ((call.prompt_tokens, "in"), (call.answer_tokens, "out"))
        if number is not None
    ]
    counted = [f"{' and '.join(tokens)} tokens"] if tokens else []
    fault = ["did not end well"] if call.fault else []
    return " · ".join([markdown.label(model_label(call.model), 60), words.duration(call.seconds), *counted, *fault])
