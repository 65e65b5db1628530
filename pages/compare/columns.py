"""The two answers of a comparison, beside each other; below each other where there is no room."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.runs import Trace
from crag.types import Version
from pages.chat import consent
from pages.chat.answer import draw_text, headline
from pages.parts import markdown, steps, words


def draw(versions: Sequence[Version], traces: Sequence[Trace]) -> None:
    """Each with its version, where it comes from, its text, its sources and its notes."""
    for column, version, trace in zip(st.columns(2, gap="large"), versions, traces, strict=True):
        with column:
            st.header(f"Version {version.number} {words.grey(words.version_change(version.change))}", anchor=False)
            _draw(version.run_id, trace)


def _draw(run_id: str, trace: Trace) -> None:
    if trace.state == "running":
        st.markdown(_doing(trace))
    else:
        st.markdown(headline(trace))
    if trace.waiting:
        consent.draw(run_id, trace)
    elif trace.text:
        draw_text(run_id, trace, links=False)
    if trace.state == "failed":
        st.markdown(f"**{markdown.label(trace.error)}** {markdown.answer(trace.remedy)}")
    for cited in trace.citations:
        st.caption(f":blue[**{cited.n}**] {markdown.label(markdown.place(cited.title, cited.page), 90)}")
    for note in trace.notes:
        st.caption(f":material/info: {markdown.label(note)}")


def _doing(trace: Trace) -> str:
    doing = words.DOING[trace.steps[-1].node] if trace.steps else "Getting ready"
    return f":small[:shimmer[{doing}]] {words.grey(steps.progress(trace))}"
