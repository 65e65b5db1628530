"""Thinking of a model before its answer: folded above the answer and never part of it."""

from __future__ import annotations

import re

import streamlit as st

from crag.runs import Trace
from pages.parts import markdown, words

_SENTENCE_ENDS = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_LINE = 90


def draw(run_id: str, trace: Trace) -> None:
    """Draw the folded thinking with its duration; the text is sent to the browser only when opened."""
    if not trace.thought.strip():
        return
    seconds = trace.thought_until - trace.thought_from
    taken = f" for {words.duration(seconds)}" if seconds >= 1 else ""
    folded = st.expander(
        f"Thought{taken}", type="compact", icon=":material/neurology:", key=f"thought-{run_id}", on_change="rerun"
    )
    if folded.open:
        with folded:
            st.caption(markdown.paragraphs(trace.thought))


def is_thinking(trace: Trace) -> bool:
    """Return whether the model is thinking and has not started to answer."""
    return bool(trace.thought) and not trace.text and trace.state == "running"


def last_sentence(trace: Trace) -> str:
    """Return the last complete sentence of the thinking; safe Markdown, empty before the first one."""
    sentences = [part for part in _SENTENCE_ENDS.split(trace.thought[-2000:]) if part.strip()]
    return markdown.label(sentences[-2], _LINE) if len(sentences) > 1 else ""
