"""Trace of a run, painted from its step descriptions, live and afterwards in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.events import NODES
from crag.inspection.steps import (
    PassageDescription,
    PromptSize,
    SentenceDescription,
    StepDescription,
    describe_activity,
    describe_duration,
    describe_step,
    describe_steps,
)
from crag.runs.trace import Trace
from crag.translation import _, translate_text
from crag.types import Strip
from pages.parts import labels, markdown
from pages.parts.address import open_page
from pages.parts.routes import Page

_STRIP_LENGTH = 240
_LINE_LENGTH = 600
_MANY_PASSAGES = 8

OpenPassage = Callable[[int], None]


def current_activity(trace: Trace, waits: str = "") -> str:
    """Return the current activity of a run, and its progress or what it `waits` for; safe Markdown."""
    doing, progress = describe_activity(trace)
    return shimmer_text(doing, waits or markdown.escape_line(progress, 100))


def shimmer_text(doing: str, fact: str) -> str:
    """Return animated text for a running activity with a fact beside it; both must be safe Markdown."""
    return f":small[:shimmer[{doing}]] {labels.grey_text(fact)}"


def step_icon(step: StepDescription) -> str:
    """Return the icon of a step as Streamlit names it."""
    return "spinner" if step.state == "running" else f":material/{step.icon}:"


_COMPARISON = re.compile(r"best \S+ \\?[≥<] ")


def step_label(step: StepDescription) -> str:
    """Return title, badge and summary of a step; a line does not end within a comparison such as “0.94 ≥ 0.59”."""
    badge = labels.badge_markdown(step.badge) if step.badge else ""
    summary = _COMPARISON.sub(lambda found: found[0].replace(" ", "\u00a0"), markdown.escape_line(step.summary))
    return " ".join(part for part in (step.title, badge, labels.grey_text(summary)) if part)


def strip_markdown(strip: Strip, quote: str = "", length: int = 0, columns: str = "") -> str:
    """Return a kept or discarded strip, marked by badge, word and strikethrough; `quote` is highlighted.

    With a `length`, it is one line of at most so many characters. `columns` are the names above its rows.
    """
    label = (
        _(":green-badge[:material/check: kept] {text}")
        if strip.kept
        else _(":gray-badge[:material/content_cut: left out] {text}")
    )
    style = "{}" if strip.kept else ":gray[~~{}~~]"
    if length:
        text = style.format(markdown.escape_line(strip.text, length))
    else:
        text = markdown.escape_passage(strip.text, quote if strip.kept else "", style, columns)
    return label.format(text=f"\n\n{text}" if text.startswith("|") else text)


def draw_prompt_size(prompt: PromptSize) -> None:
    """Draw how much of the model's context window the prompt takes, and what did not fit."""
    st.progress(prompt.share, text=labels.grey_text(markdown.escape_line(prompt.text)))
    if prompt.counted:
        sign = ":orange[:material/warning:] " if prompt.cut else ""
        st.caption(f"{sign}{markdown.escape_line(prompt.counted)}")


def draw_strips(passage: PassageDescription, length: int = 2_000) -> None:
    """Draw the strips of a passage below its place."""
    st.caption(markdown.escape_line(passage.place, 120), wrap=False)
    for strip in passage.strips:
        st.markdown(f":small[{strip_markdown(strip, length=length)}]")


def _draw_sentence(sentence: SentenceDescription) -> None:
    st.markdown(f":small[{labels.badge_markdown(sentence.badge)} {markdown.escape_line(sentence.text, _LINE_LENGTH)}]")


@dataclass(slots=True)
class VerdictRows:
    """Container for new verdicts of the running step, and the ids of the passages already drawn."""

    place: DeltaGenerator
    reasons: bool
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
        unknown = _("Getting ready") if trace.state == "running" else _("This run ended before its first step.")
        st.caption(markdown.escape_line(trace.question) or unknown, wrap=False)
        if trace.change:
            st.caption(f":material/history: {labels.version_change(trace.change)}", wrap=False)
        with st.container(gap="xxsmall"):
            for index, step in enumerate(describe_steps(trace)):
                self._draw_step(index, step)
        self._draw_footer()

    def append_verdicts(self) -> None:
        """Append the verdicts that arrived since the last draw to the running step."""
        if self.live is None or not self.trace.steps:
            return
        for passage in describe_step(self.trace.steps[-1], self.trace).passages:
            if passage.id not in self.live.shown:
                self.live.shown.add(passage.id)
                with self.live.place:
                    self._draw_passage(passage, reason=self.live.reasons)

    def _draw_footer(self) -> None:
        """Draw the error, the total duration and the link to Inspect."""
        if self.trace.state == "failed":
            st.caption(f":red[:material/error:] {markdown.escape_line(translate_text(self.trace.error))}")
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.caption(describe_duration(self.trace), width="content")
            key = f"{self.prefix}-{self.run_id}-inspect"
            st.button(
                _("Open in {title}").format(title=Page.INSPECT.title),
                icon=Page.INSPECT.icon,
                type="tertiary",
                key=key,
                on_click=open_page,
                args=(Page.INSPECT,),
                kwargs={"run": self.run_id},
            )

    def _draw_step(self, index: int, step: StepDescription) -> None:
        # A step that is open only while it runs gets a new key when it ends: the old key would keep it open.
        ended = "" if step.expanded else f"-{step.state}"
        key = f"{self.prefix}-{self.run_id}-{index}-{step.node}{ended}"
        with st.expander(step_label(step), expanded=step.expanded, type="step", key=key, icon=step_icon(step)):
            self._draw_content(step)

    def _draw_content(self, step: StepDescription) -> None:
        for line in step.lines:
            st.caption(markdown.escape_line(line, _LINE_LENGTH))
        if step.prompt:
            draw_prompt_size(step.prompt)
        for sentence in step.sentences:
            _draw_sentence(sentence)
        if step.node == "refine_knowledge":
            for passage in step.passages:
                draw_strips(passage, _STRIP_LENGTH)
        elif step.candidates:
            self._draw_verdicts(step)
        if step.state == "running" and self.waiting:
            st.caption(f":material/hourglass_empty: {self.waiting}")

    def _draw_verdicts(self, step: StepDescription) -> None:
        """Draw the judged passages; among many, fold the irrelevant ones and leave out the reasons."""
        many = step.candidates > _MANY_PASSAGES
        folded = [passage for passage in step.passages if many and passage.irrelevant]
        place = st.container(gap="xsmall")
        with place:
            for passage in step.passages:
                if passage not in folded:
                    self._draw_passage(passage, reason=not many)
        if step.state == "running":
            self.live = VerdictRows(place, reasons=not many, shown={passage.id for passage in step.passages})
        if folded:
            key = f"{self.prefix}-{self.run_id}-{step.node}-rest"
            with st.expander(_("{folded} not relevant").format(folded=len(folded)), type="compact", key=key):
                for passage in folded:
                    self._draw_passage(passage, reason=False)

    def _draw_passage(self, passage: PassageDescription, *, reason: bool) -> None:
        with st.container(gap=None):
            st.button(
                f"{labels.badge_markdown(passage.badge)} {markdown.escape_line(passage.place, 120)}",
                key=f"{self.prefix}-{self.run_id}-passage-{passage.id}",
                type="tertiary",
                wrap=False,
                on_click=self.open_passage,
                args=(passage.id,),
            )
            if reason and passage.reason:
                st.caption(markdown.escape_line(translate_text(passage.reason)), wrap=False)


def draw_legend() -> None:
    """Draw the list of steps before the first run."""
    st.caption(_("How each answer is made. Steps appear here live."))
    with st.container(gap="xxsmall"):
        for node, spec in NODES.items():
            if spec.meaning:
                st.expander(f"{_(spec.title)} {labels.grey_text(_(spec.meaning))}", type="step", key=f"legend-{node}")
