"""Running answer, drawn in time slices so that the page stays responsive between them.

A fragment draws the run, follows it for one slice while only rows and text are appended, and returns. When a step
begins or ends the fragment reruns, since labels and icons change only then.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.runs import Trace
from crag.runs.run import Run
from pages.chat import state, thoughts, versions, waits
from pages.parts import markdown, steps
from pages.parts.trace import TraceDrawing

_SLICE = 0.4  # after half a second Streamlit shows its own running indicator in the header
_FIRST_SLICE = 0.25
_BETWEEN = 0.2  # clicks elsewhere on the page are handled between slices
_BETWEEN_WITH_DRAWER = 0.4
_FRAME = 1 / 15


@dataclass(slots=True)
class Followed:
    """Trace of a run as seen by this session; a run resumed after consent starts a new one."""

    run_id: str
    number: int = 0
    trace: Trace = field(default_factory=Trace)

    def take(self, run: Run, seconds: float) -> bool:
        """Apply new events, waiting `seconds` at most for the first; return whether there were any."""
        before = self.number
        for number, event in run.follow(after=self.number, seconds=seconds):
            self.number = number
            self.trace.apply(event)
        return self.number > before

    @property
    def outline(self) -> tuple[object, ...]:
        """Steps and their states: what cannot be updated in place."""
        return tuple((step.node, step.state) for step in self.trace.steps)


@dataclass(slots=True)
class _Line:
    """Line already on the page; rewritten only when its text changes."""

    place: DeltaGenerator
    shown: str

    def show(self, text: str) -> None:
        if text != self.shown:
            self.shown = text
            self.place.markdown(text)


def draw(run: Run, trace_place: DeltaGenerator | None) -> None:
    """Draw the running answer in its message and, if a place is given, its trace in the sidebar."""
    drawer = state.drawer_is_open()
    slices = _Slices(run, trace_place, 0.0 if drawer else _SLICE)
    st.fragment(slices.draw, run_every=_BETWEEN_WITH_DRAWER if drawer else _SLICE + _BETWEEN)()


@dataclass(slots=True)
class _Slices:
    """Repeated drawing of a run; the first slice belongs to a run of the whole page, which must end soon."""

    run: Run
    trace_place: DeltaGenerator | None
    seconds: float
    first: bool = True

    def draw(self) -> None:
        first, self.first = self.first, False
        if self.seconds and state.drawer_is_open():  # a passage was clicked, and only the whole page can open a drawer
            st.rerun()
        followed = _followed(self.run)
        unseen = followed.number == 0
        followed.take(self.run, seconds=0)
        _leave_at_rest(followed)
        until = time.monotonic() + min(self.seconds, _first_slice(followed, unseen) if first else _SLICE)
        waiting = waits.waiting_for(self.run.id)
        drawing = TraceDrawing(followed.trace, self.run.id, state.passage_opener(self.run.id), waiting=waiting)
        if self.trace_place is not None:
            with self.trace_place:
                drawing.draw()
        line = _status(followed.trace, waiting)
        status = _Line(st.markdown(line), line)
        if followed.trace.parent:
            versions.draw_earlier(self.run.id)
        text = st.markdown(_text(followed), anchors=False) if followed.trace.text else st.skeleton(height=64)
        changed = self._follow(followed, drawing, status, text, until)
        if changed and not first:
            st.rerun(scope="fragment")

    def _follow(
        self, followed: Followed, drawing: TraceDrawing, status: _Line, text: DeltaGenerator, until: float
    ) -> bool:
        """Append and rewrite until the deadline; return True as soon as a step begins or ends."""
        outline = followed.outline
        while (began := time.monotonic()) < until:
            happened = followed.take(self.run, seconds=_FRAME)
            status.show(_status(followed.trace, waits.waiting_for(self.run.id)))
            if not happened:
                continue
            _leave_at_rest(followed)
            if followed.outline != outline:
                return True
            drawing.append_verdicts()
            if followed.trace.text:
                text.markdown(_text(followed), anchors=False)
            time.sleep(max(0.0, _FRAME - (time.monotonic() - began)))
        return False


def _first_slice(followed: Followed, unseen: bool) -> float:
    """Return the length of the first slice in seconds.

    It is zero when the run replaces a consent card or an older version: those disappear only when the script ends.
    """
    replaces = followed.trace.parent or followed.trace.steps
    return 0.0 if unseen and replaces else _FIRST_SLICE


def _followed(run: Run) -> Followed:
    followed = st.session_state.get("followed")
    if followed is None or followed.run_id != run.id:
        followed = st.session_state.followed = Followed(run.id)
    return followed


def _leave_at_rest(followed: Followed) -> None:
    if followed.trace.state != "running":
        st.session_state.pop("followed", None)
        st.rerun()


def _status(trace: Trace, waiting: str) -> str:
    waits = f"· {waiting}" if waiting else ""
    if thoughts.is_thinking(trace):
        return steps.shimmering("Thinking", waits or thoughts.last_sentence(trace))
    return steps.under_way(trace, waits)


def _text(followed: Followed) -> str:
    return markdown.answer(followed.trace.text)
