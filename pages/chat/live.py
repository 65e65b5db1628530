"""A run that is being answered, drawn in slices: the page stays free for other clicks between them.

A fragment draws the run as it stands, follows it for a moment while it only appends rows and rewrites handles, and
returns. A step that begins or ends makes it draw anew, since labels and signs change only then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from crag.runs import Trace
from crag.runs.run import Run
from pages.chat import state
from pages.parts import markdown, words
from pages.parts.trace import TraceDrawing, progress

_SLICE = 0.45  # after half a second Streamlit would lay its own running sign over the header
_FIRST_SLICE = 0.3  # part of a whole run of the page, which must end soon
_BETWEEN = 0.15  # clicks elsewhere on the page are served between slices
_BETWEEN_WITH_DRAWER = 0.4
_FRAME = 1 / 15


@dataclass(slots=True)
class Followed:
    """The trace of a run as far as this session has seen it."""

    run_id: str
    number: int = 0
    trace: Trace = field(default_factory=Trace)

    def take(self, run: Run, seconds: float) -> bool:
        """Apply what happened, waiting at most `seconds` for it; whether anything did."""
        before = self.number
        for number, event in run.follow(after=self.number, seconds=seconds):
            self.number = number
            self.trace.apply(event)
        return self.number > before

    @property
    def outline(self) -> tuple[object, ...]:
        """What cannot be rewritten in place: the steps and how they stand."""
        return tuple((step.node, step.state) for step in self.trace.steps)


def draw(run: Run, trace_place: DeltaGenerator | None) -> None:
    """The answer in the message that is open now and, with a place for it, the trace in the sidebar."""
    interval = _BETWEEN_WITH_DRAWER if state.drawer_is_open() else _SLICE + _BETWEEN
    seconds = iter([_FIRST_SLICE])
    st.fragment(_slice, run_every=interval)(run, trace_place, seconds)


def _slice(run: Run, trace_place: DeltaGenerator | None, first: Iterator[float]) -> None:
    followed = _followed(run)
    followed.take(run, seconds=0)
    _leave_when_ended(followed)
    drawing = TraceDrawing(followed.trace, run.id, state.passage_opener(run.id))
    if trace_place is not None:
        with trace_place:
            drawing.draw()
    status = st.markdown(_status(followed.trace))
    text = st.markdown(_text(followed), anchors=False) if followed.trace.text else st.skeleton(height=64)
    if not state.drawer_is_open():
        _follow(followed, run, drawing, status, text, next(first, _SLICE))


def _follow(
    followed: Followed, run: Run, drawing: TraceDrawing, status: DeltaGenerator, text: DeltaGenerator, seconds: float
) -> None:
    until = time.monotonic() + seconds
    outline = followed.outline
    while time.monotonic() < until:
        began = time.monotonic()
        if not followed.take(run, seconds=_FRAME):
            continue
        _leave_when_ended(followed)
        if followed.outline != outline:
            _draw_anew()
        status.markdown(_status(followed.trace))
        drawing.append_verdicts()
        if followed.trace.text:
            text.markdown(_text(followed), anchors=False)
        time.sleep(max(0.0, _FRAME - (time.monotonic() - began)))


def _followed(run: Run) -> Followed:
    followed = st.session_state.get("followed")
    if followed is None or followed.run_id != run.id:
        followed = st.session_state.followed = Followed(run.id)
    return followed


def _leave_when_ended(followed: Followed) -> None:
    if followed.trace.state != "running":
        st.session_state.pop("followed", None)
        st.rerun()


def _draw_anew() -> None:
    try:
        st.rerun(scope="fragment")
    except StreamlitAPIException:  # the first slice is part of a whole run of the page
        st.rerun()


def _status(trace: Trace) -> str:
    if not trace.steps:
        return ":small[:shimmer[Getting ready]]"
    return f":small[:shimmer[{words.DOING[trace.steps[-1].node]}]] {words.grey(progress(trace))}"


def _text(followed: Followed) -> str:
    return markdown.answer(followed.trace.text)
