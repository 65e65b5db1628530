"""Trace of a run, drawn from its fold: the same way while it runs and afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.events import Node
from crag.runs import Step, Trace
from crag.types import RunState
from pages.parts import markdown, steps, words

OpenPassage = Callable[[int], None]
ICONS: dict[RunState, str] = {
    "running": "spinner",
    "waiting": ":material/pause_circle:",
    "done": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "failed": ":material/error:",
    "interrupted": ":material/stop_circle:",
}
_OPEN: frozenset[Node] = frozenset({"grade_documents", "decide", "web_search"})
_MANY = 8
_INSPECT = "pages/inspect/page.py"


@dataclass(slots=True)
class VerdictRows:
    """Container for new verdicts of the running step, and the ids of the passages already drawn."""

    place: DeltaGenerator
    shown: set[int] = field(default_factory=set)


@dataclass(slots=True)
class TraceDrawing:
    """Trace of one run; `prefix` separates the widget keys of two traces of the same run.

    `waiting` says what the running step waits for, as safe Markdown.
    """

    trace: Trace
    run_id: str
    open_passage: OpenPassage
    prefix: str = "trace"
    waiting: str = ""
    live: VerdictRows | None = None

    def draw(self) -> None:
        """Draw the steps in order, then the total duration."""
        trace = self.trace
        unknown = "Getting ready" if trace.state == "running" else "This run ended before its first step."
        st.caption(markdown.label(trace.question) or unknown, wrap=False)
        if trace.change:
            st.caption(f":material/history: {words.version_change(trace.change)}", wrap=False)
        with st.container(gap="xxsmall"):
            for index, step in enumerate(trace.steps):
                self._step(index, step)
                if step.node == "decide" and trace.web_skipped and trace.step("web_search") is None:
                    self._web_not_allowed()
        self._last_line()

    def _last_line(self) -> None:
        """Draw the error, the total duration and the link to Inspect."""
        if self.trace.state == "failed":
            st.caption(f":red[:material/error:] {markdown.label(self.trace.error)}")
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.caption(steps.total(self.trace) if self.trace.seconds is not None else "", width="content")
            key = f"{self.prefix}-{self.run_id}-inspect"
            st.button(
                "Open in Inspect",
                icon=":material/account_tree:",
                type="tertiary",
                key=key,
                on_click=st.switch_page,
                args=(_INSPECT,),
                kwargs={"query_params": {"run": self.run_id}},
            )

    def append_verdicts(self) -> None:
        """Append the verdicts that arrived since the last draw to the running step."""
        if self.live is None:
            return
        for passage_id in self._graded():
            if passage_id not in self.live.shown:
                self.live.shown.add(passage_id)
                with self.live.place:
                    self._passage(passage_id, reasons=True)

    def _step(self, index: int, step: Step) -> None:
        opened = step.node in _OPEN or step.state == "running"
        if step.node == "web_search" and self.trace.web_skipped:
            icon = ":material/remove_circle_outline:"
        else:
            icon = ICONS[step.state]
        # A step that is open only while it runs gets a new key when it ends: the old key would keep it open.
        ended = "" if step.node in _OPEN or step.state == "running" else f"-{step.state}"
        key = f"{self.prefix}-{self.run_id}-{index}-{step.node}{ended}"
        with st.expander(steps.label(step, self.trace), expanded=opened, type="step", key=key, icon=icon):
            self._content(step)

    def _content(self, step: Step) -> None:
        if step.node in ("grade_documents", "web_search"):
            self._verdicts(step)
        else:
            steps.draw(step, self.trace)
        if step.state == "running" and self.waiting:
            st.caption(f":material/hourglass_empty: {self.waiting}")

    def _graded(self) -> list[int]:
        """Return the passages with verdicts, of the origin that is being graded."""
        origin = "web" if "web" in self.trace.found else "library"
        return [found for found in self.trace.found.get(origin, ()) if found in self.trace.verdicts]

    def _verdicts(self, step: Step) -> None:
        trace = self.trace
        origin = "web" if step.node == "web_search" else "library"
        if origin == "web":
            steps.draw_sent(trace)
        ids = [found for found in trace.found.get(origin, ()) if found in trace.verdicts]
        if not ids and origin == "library" and step.state != "running":
            st.caption("No verdicts.")
        many = len(trace.found.get(origin, ())) > _MANY
        folded = [found for found in ids if many and trace.verdicts[found].word == "irrelevant"]
        place = st.container(gap="xsmall")
        with place:
            for passage_id in ids:
                if passage_id not in folded:
                    self._passage(passage_id, reasons=not many)
        if step.state == "running":
            self.live = VerdictRows(place, set(ids))
        if folded:
            with st.expander(
                f"{len(folded)} irrelevant", type="compact", key=f"{self.prefix}-{self.run_id}-{origin}-rest"
            ):
                for passage_id in folded:
                    self._passage(passage_id, reasons=False)

    def _passage(self, passage_id: int, *, reasons: bool) -> None:
        verdict = self.trace.verdicts.get(passage_id)
        with st.container(gap=None):
            st.button(
                f"{words.verdict_badge(verdict)} {steps.where(self.trace.passages[passage_id])}",
                key=f"{self.prefix}-{self.run_id}-passage-{passage_id}",
                type="tertiary",
                wrap=False,
                on_click=self.open_passage,
                args=(passage_id,),
            )
            if reasons and verdict and verdict.reason:
                st.caption(markdown.label(verdict.reason), wrap=False)

    def _web_not_allowed(self) -> None:
        key = f"{self.prefix}-{self.run_id}-web-skipped"
        icon = ":material/remove_circle_outline:"
        with st.expander(
            f"{words.NODES['web_search']} {words.grey('not done')}", True, type="step", key=key, icon=icon
        ):
            st.caption(markdown.label(self.trace.web_skipped))


def legend() -> None:
    """Draw the list of steps before the first run."""
    st.caption("How an answer is made. Each step shows up here, live.")
    with st.container(gap="xxsmall"):
        for node, meaning in words.LEGEND.items():
            st.expander(f"{words.NODES[node]} {words.grey(meaning)}", type="step", key=f"legend-{node}")
