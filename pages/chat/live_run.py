"""Running answer, drawn in time slices so that the page stays responsive, and the reason for a wait.

A fragment draws the run, follows it for one slice while only rows and text are appended, and returns. When a step
begins or ends the fragment reruns, since labels and icons change only then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.cancellation import Wait
from crag.models.model_choice import model_label
from crag.models.ollama_api import find_by_name
from crag.runs.run import Run
from crag.runs.trace import Trace
from crag.text.formatting import format_count
from crag.translation import _, translate_text
from crag.types import Message
from pages.chat import answer, failures, state, versions
from pages.chat.messages import earlier_traces
from pages.parts import markdown, reruns
from pages.parts.services import server_monitor
from pages.parts.trace import TraceDrawing, current_activity, shimmer_text

_QUIET_SECONDS = 2.0  # most replies begin sooner
_SILENT_SECONDS = 20.0  # then the built-in engine is offered
_LOADING_SECONDS, _QUEUED_SECONDS = 1.0, 0.5


def _is_loaded(model: str) -> bool | None:
    """Return whether a model is in memory, as last seen; None if unknown."""
    provider, _unused, name = model.partition(":")
    if provider != "ollama":
        return None
    seen = server_monitor().seen(patience=0)
    if not seen.known or seen.fault:
        return None
    found = find_by_name(name, seen.models)
    return found is not None and found.loaded


def _wait_text(wait: Wait | None) -> str:
    """Return what the run waits for; empty if for nothing, or not long enough to mention."""
    if wait is None:
        return ""
    return describe_wait(wait, _is_loaded(wait.model), time.monotonic() - wait.since)


def _is_model_silent(wait: Wait | None) -> bool:
    """Return whether a model that was asked, perhaps one that is still loading, has not replied for long."""
    return wait is not None and wait.kind == "answering" and time.monotonic() - wait.since >= _SILENT_SECONDS


def describe_wait(wait: Wait, loaded: bool | None, seconds: float) -> str:
    """Describe a wait of `seconds`; safe Markdown. `loaded` is None if it is unknown whether the model is in memory."""
    name, so_far = (
        markdown.escape_line(translate_text(model_label(wait.model)), 60),
        _("{seconds} s so far").format(seconds=int(seconds)),
    )
    if wait.kind == "queued":
        left = wait.seconds_left or 0.0
        before = _("{questions} before yours").format(questions=format_count(wait.place, "question"))
        if seconds + left < _QUEUED_SECONDS:
            return ""
        return _("{before}, about {ceil} s").format(before=before, ceil=math.ceil(left)) if left else before
    if wait.kind == "retrying":
        return _("{name} was busy. Trying again (attempt {attempt})").format(name=name, attempt=wait.attempt)
    if seconds < (_LOADING_SECONDS if loaded is False else _QUIET_SECONDS):
        return ""
    if loaded is None:
        return _("{name} has not started answering, {so_far}").format(name=name, so_far=so_far)
    return _("{name} is {value}, {so_far}").format(
        name=name, value=_("reading the prompt") if loaded else "loading", so_far=so_far
    )


_SLICE_SECONDS = 0.4  # after half a second Streamlit shows its own running indicator in the header
_FIRST_SLICE_SECONDS = 0.25
_PAUSE_SECONDS = 0.2  # clicks elsewhere on the page are handled between slices
_PAUSE_WITH_DRAWER_SECONDS = 0.4
_MAX_PAUSE_SECONDS = 5.0  # while it is queued
_FRAME_SECONDS = 1 / 15
_LIVE_RUN = "live_run"  # key of the fragment


@dataclass(slots=True)
class FollowedRun:
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
class _StatusLine:
    """Line already on the page; rewritten only when its text changes."""

    place: DeltaGenerator
    shown: str

    def show(self, text: str) -> None:
        if text != self.shown:
            self.shown = text
            self.place.markdown(text)


def draw_live_run(run: Run, trace_place: DeltaGenerator | None, earlier: Sequence[Message]) -> LiveDrawing:
    """Draw the running answer in its message and, if a place is given, its trace in the sidebar.

    `earlier` are the messages before it.
    """
    drawer = state.is_drawer_open()
    drawing = LiveDrawing(run, trace_place, earlier, follows=not drawer)
    seconds = _PAUSE_WITH_DRAWER_SECONDS if drawer else _SLICE_SECONDS + _PAUSE_SECONDS
    st.fragment(drawing.draw, run_every=seconds, key=_LIVE_RUN)()
    return drawing


@dataclass(slots=True)
class _Slice:
    """What a slice drew and may still append to or rewrite."""

    followed: FollowedRun
    trace: TraceDrawing
    status: _StatusLine
    text: DeltaGenerator

    def follow(self, run: Run, seconds: float) -> bool:
        """Append and rewrite for some time; return True as soon as a step begins or ends."""
        until, outline, trace = time.monotonic() + seconds, self.followed.outline, self.followed.trace
        while (began := time.monotonic()) < until:
            with reruns.let_others_draw():
                happened = self.followed.take(run, seconds=_FRAME_SECONDS)
            wait = run.current_wait()
            self.status.show(_status_text(trace, _wait_text(wait)))
            if reruns.is_click_waiting() or reruns.are_others_waiting() or _next_draw(wait) > _SLICE_SECONDS:
                break
            if not happened:
                continue
            _rerun_when_ended(self.followed)
            if self.followed.outline != outline:
                return True
            self.trace.append_verdicts()
            if trace.text:
                self.text.markdown(_answer_text(self.followed), anchors=False)
            with reruns.let_others_draw():
                time.sleep(max(0.0, _FRAME_SECONDS - (time.monotonic() - began)))
        return False


@dataclass(slots=True)
class LiveDrawing:
    """Repeated drawing of a run; without `follows` each draw is a single frame."""

    run: Run
    trace_place: DeltaGenerator | None
    earlier: Sequence[Message]
    follows: bool
    first: _Slice | None = None

    def draw(self) -> None:
        """Draw the run, and follow it for a slice unless this is part of a run of the whole page."""
        if self.follows and state.is_drawer_open():  # a passage was clicked, and only the whole page can open a drawer
            st.rerun()
        drawn = self._draw_slice()
        if self.first is None:  # part of a run of the whole page
            self.first = drawn
        elif self.follows and drawn.follow(self.run, _SLICE_SECONDS):
            st.rerun(scope="fragment")

    def let_others_go_first(self) -> None:
        """Let sessions go first whose users have seen nothing yet, and meanwhile tell this user the place in the queue.

        If the run ends in that time, its answer is drawn instead of the rest of the page.
        """
        if drawn := self.first:
            trace = drawn.followed.trace
            reruns.let_others_go_first(lambda wait: drawn.status.show(_status_text(trace, _wait_text(wait))))
            drawn.followed.take(self.run, seconds=0)
            _rerun_when_ended(drawn.followed)

    def follow_first_slice(self) -> None:
        """Follow the run for the first slice; call it once the rest of the page is drawn, which must end soon."""
        if self.first and self.follows:
            is_outdated = self.first.follow(self.run, _first_slice_length(self.first.followed.trace))
            if is_outdated and not reruns.is_whole_page_drawn():
                reruns.rerun_part_next(_LIVE_RUN)

    def _draw_slice(self) -> _Slice:
        followed = _followed_run(self.run)
        followed.take(self.run, seconds=0)
        _rerun_when_ended(followed)
        wait = self.run.current_wait()
        if self.follows:
            reruns.change_interval(_next_draw(wait) + _PAUSE_SECONDS)
        waiting = _wait_text(wait)
        drawing = TraceDrawing(followed.trace, self.run.id, state.passage_opener(self.run.id), waiting=waiting)
        if self.trace_place is not None:
            with self.trace_place:
                drawing.draw()
        answer.draw_engine_change(followed.trace, earlier_traces(self.earlier))
        line = _status_text(followed.trace, waiting)
        status = _StatusLine(st.markdown(line), line)
        if followed.trace.parent:
            versions.draw_earlier_version(self.run.id)
        text = st.markdown(_answer_text(followed), anchors=False) if followed.trace.text else st.skeleton(height=64)
        if not followed.trace.text and _is_model_silent(wait):
            st.caption(_("Nothing from the model yet. Keep waiting, or get an answer quoted from your documents now."))
            failures.draw_builtin_offer(self.run.id, followed.trace.options)
        return _Slice(followed, drawing, status, text)


def _next_draw(wait: Wait | None) -> float:
    """Return in how many seconds the run is worth another look: while it is queued, after half of the expected wait."""
    left = wait.seconds_left if wait is not None and wait.seconds_left else 0.0
    return max(_SLICE_SECONDS, min(left / 2, _MAX_PAUSE_SECONDS))


def _first_slice_length(trace: Trace) -> float:
    """Return the length of the first slice in seconds.

    It is zero when the run may replace a consent card or an older version: those disappear only when the script ends.
    """
    return 0.0 if trace.parent or trace.step("web_search") else _FIRST_SLICE_SECONDS


def _followed_run(run: Run) -> FollowedRun:
    followed = st.session_state.get(state.FOLLOWED_RUN_KEY)
    if followed is None or followed.run_id != run.id:
        followed = st.session_state[state.FOLLOWED_RUN_KEY] = FollowedRun(run.id)
    return followed


def _rerun_when_ended(followed: FollowedRun) -> None:
    if followed.trace.state != "running":
        st.session_state.pop(state.FOLLOWED_RUN_KEY, None)
        reruns.rerun_part(state.CURRENT_PART)


def _status_text(trace: Trace, waiting: str) -> str:
    waits = f"· {waiting}" if waiting else ""
    if answer.is_thinking(trace):
        return shimmer_text(_("Thinking"), waits or answer.last_thought(trace))
    return current_activity(trace, waits)


def _answer_text(followed: FollowedRun) -> str:
    return markdown.sanitize_answer(followed.trace.text)
