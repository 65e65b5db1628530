"""Trace of a run: its steps, their facts and the verdicts, drawn live and afterwards in the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.events import NODES, NodeName, PromptBuilt
from crag.inspection.run_labels import describe_thresholds, step_count_label
from crag.runs.trace import Step, Trace
from crag.text.formatting import format_count, format_duration
from crag.types import RunState, Strip
from pages.parts import labels, markdown
from pages.parts.routes import Page

_STRIP_LENGTH = 240


def _step_label(step: Step, trace: Trace) -> str:
    """Return the title of a step, with its count and duration."""
    if step.node == "decide":
        return f"{NODES['decide'].title} {labels.action_badge(trace.action) if trace.action_reason else ''}"
    if step.state == "waiting":
        return f"{NODES[step.node].title} {labels.grey_text('waiting for you')}"
    facts = [step_count_label(step, trace)]
    if step.seconds is not None and step.node != "check_answer":
        facts.append(format_duration(step.seconds))
    return f"{NODES[step.node].title} {labels.grey_text(' · '.join(fact for fact in facts if fact))}"


def current_activity(trace: Trace, waits: str = "") -> str:
    """Return the current activity of a run, and its progress or what it `waits` for; safe Markdown."""
    doing = NODES[trace.steps[-1].node].activity if trace.steps else "Getting ready"
    return shimmer_text(doing, waits or _step_progress(trace))


def shimmer_text(doing: str, fact: str) -> str:
    """Return animated text for a running activity with a fact beside it; both must be safe Markdown."""
    return f":small[:shimmer[{doing}]] {labels.grey_text(fact)}"


def _step_progress(trace: Trace) -> str:
    """Return how far the running step is."""
    step = trace.steps[-1] if trace.steps else None
    if step is None:
        return ""
    found = trace.found.get("library", ())
    match step.node:
        case "grade_documents" if found:
            return f"{sum(item in trace.verdicts for item in found)} of {len(found)}"
        case "web_search" if trace.query_sent:
            return f"for “{markdown.escape_line(trace.query_sent, 80)}”"
        case "generate" if trace.verdicts:
            usable = sum(verdict.word != "irrelevant" for verdict in trace.verdicts.values())
            return f"from {usable} of {format_count(len(trace.verdicts), 'passage')}"
    return ""


def _draw_step(step: Step, trace: Trace) -> None:
    """Draw the content of a step."""
    match step.node:
        case "decide":
            _draw_decision(trace)
        case "generate":
            draw_prompt_size(trace)
        case "refine_knowledge":
            _draw_strips(trace)
        case "check_answer":
            _draw_check(trace)
        case "transform_query":
            st.caption(f"“{markdown.escape_line(trace.query)}”" if trace.query else "Written from your question alone.")
        case "condense_question":
            st.caption(
                f"“{markdown.escape_line(trace.condensed)}”" if trace.condensed else "Reading what was said before."
            )
        case "retrieve":
            _draw_retrieval(trace)


def _draw_sent_query(trace: Trace) -> None:
    """Draw the query sent to the web search, or why none was sent."""
    if trace.waiting:
        st.caption(f"“{markdown.escape_line(trace.waiting.query)}” has not been sent.")
    elif trace.query_sent:
        st.caption(f"Sent to {markdown.escape_line(trace.web_provider)}: “{markdown.escape_line(trace.query_sent)}”")
    elif "web" in trace.found:
        st.caption("Found for an earlier version of this answer; nothing was sent now.")
    if trace.web_skipped:
        st.caption(markdown.escape_line(trace.web_skipped))


def strip_markdown(strip: Strip, quote: str = "", length: int = 2_000) -> str:
    """Return a kept or discarded strip, marked by badge, word and strikethrough; `quote` is highlighted."""
    if not strip.kept:
        return f":gray-badge[:material/content_cut: struck out] :gray[~~{markdown.escape_line(strip.text, length)}~~]"
    text = highlight_quote(strip.text, quote) if quote else markdown.escape_line(strip.text, length)
    return f":green-badge[:material/check: kept] {text}"


def highlight_quote(text: str, quote: str) -> str:
    """Return the text with `quote`, the deciding sentence, highlighted in yellow."""
    before, found, after = text.partition(quote) if quote else (text, "", "")
    strong = f":yellow-background[{markdown.escape_line(found, 2_000)}]" if found.strip() else ""
    return " ".join(
        part for part in (markdown.escape_paragraphs(before), strong, markdown.escape_paragraphs(after)) if part
    )


def _total_duration(trace: Trace) -> str:
    """Return how long a run took and how it ended."""
    taken = format_duration(trace.seconds or 0.0)
    return {"stopped": f"Stopped after {taken}", "failed": f"Failed after {taken}", "interrupted": "Interrupted"}.get(
        trace.state, f"{taken} in all"
    )


def grading_summary(trace: Trace) -> str:
    """Return the grader, its thresholds and their origin; empty if nothing was graded."""
    thresholds = trace.thresholds
    if thresholds is None or not trace.grader or not trace.verdicts:
        return ""
    origin = labels.threshold_origin(trace.options, calibrated=trace.calibrated)
    return f"Graded by: {labels.grader_label(trace.grader)} · {describe_thresholds(thresholds)} · {origin}"


def _draw_retrieval(trace: Trace) -> None:
    if "library" not in trace.found:
        st.caption("Looking for the nearest passages.")
    elif trace.found["library"]:
        st.caption(f"Nearest by meaning and by words, with {markdown.escape_line(trace.embedder)}.")
    else:
        st.caption("Nothing was found.")


def _draw_decision(trace: Trace) -> None:
    st.caption(markdown.escape_line(trace.action_reason) or "Adding the verdicts up.")
    if judged := grading_summary(trace):
        st.caption(judged)


def draw_prompt_size(trace: Trace) -> None:
    """Draw how much of the model's context window the prompt takes, and what did not fit."""
    prompt = trace.prompt
    if prompt is None:
        st.caption(
            "Putting the knowledge together." if trace.state == "running" else "There was nothing to write from."
        )
    elif prompt.window == 0:
        st.caption("Quoted from the passages; no language model is running.")
    else:
        text = labels.grey_text(
            f"Prompt {prompt.tokens:,} of {prompt.window:,} tokens · {_describe_left_out(trace, prompt)}"
        )
        st.progress(min(1.0, prompt.tokens / prompt.window), text=text)
        if counted := trace.usage.prompt_tokens:
            sign = ":orange[:material/warning:] " if trace.usage.prompt_cut else ""
            st.caption(f"{sign}The server counted {counted:,}.")


def _describe_left_out(trace: Trace, prompt: PromptBuilt) -> str:
    """Return which parts of the question and the strips were left out of the prompt."""
    question = trace.shortened and f"{format_count(trace.shortened.left_out, 'token')} of your question left out"
    strips = prompt.left_out and f"{format_count(prompt.left_out, 'strip')} left out"
    return " · ".join(part for part in (question, strips) if part) or "nothing left out"


def _draw_strips(trace: Trace) -> None:
    if not trace.strips:
        st.caption("Nothing to cut." if trace.state != "running" else "Cutting the passages into strips.")
    for passage_id, cut in trace.strips.items():
        st.caption(markdown.escape_page_and_title(trace.passages[passage_id]), wrap=False)
        for strip in cut:
            st.markdown(f":small[{strip_markdown(strip, length=_STRIP_LENGTH)}]")


def _draw_check(trace: Trace) -> None:
    unsupported = [sentence for sentence in trace.sentences if sentence.strength == "unsupported"]
    weak = [sentence for sentence in trace.sentences if sentence.strength == "weak"]
    if not unsupported and not weak:
        st.caption("Every sentence rests on its sources." if trace.sentences else "There was nothing to check.")
    for sentence in unsupported:
        st.markdown(f":small[:orange[:material/link_off: no source] {markdown.escape_line(sentence.sentence)}]")
    for sentence in weak:
        st.caption(f":material/contrast: weak source · {markdown.escape_line(sentence.sentence)}")


OpenPassage = Callable[[int], None]
STATE_ICONS: dict[RunState, str] = {
    "running": "spinner",
    "waiting": ":material/pause_circle:",
    "done": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "failed": ":material/error:",
    "interrupted": ":material/stop_circle:",
}
_EXPANDED_NODES: frozenset[NodeName] = frozenset({"grade_documents", "decide", "web_search"})
_MANY_PASSAGES = 8


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
        st.caption(markdown.escape_line(trace.question) or unknown, wrap=False)
        if trace.change:
            st.caption(f":material/history: {labels.version_change(trace.change)}", wrap=False)
        with st.container(gap="xxsmall"):
            for index, step in enumerate(trace.steps):
                self._draw_step(index, step)
                if step.node == "decide" and trace.web_skipped and trace.step("web_search") is None:
                    self._draw_web_skipped()
        self._draw_footer()

    def _draw_footer(self) -> None:
        """Draw the error, the total duration and the link to Inspect."""
        if self.trace.state == "failed":
            st.caption(f":red[:material/error:] {markdown.escape_line(self.trace.error)}")
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.caption(_total_duration(self.trace) if self.trace.seconds is not None else "", width="content")
            key = f"{self.prefix}-{self.run_id}-inspect"
            st.button(
                f"Open in {Page.INSPECT.title}",
                icon=Page.INSPECT.icon,
                type="tertiary",
                key=key,
                on_click=st.switch_page,
                args=(Page.INSPECT.path,),
                kwargs={"query_params": {"run": self.run_id}},
            )

    def append_verdicts(self) -> None:
        """Append the verdicts that arrived since the last draw to the running step."""
        if self.live is None:
            return
        for passage_id in self._graded_passages():
            if passage_id not in self.live.shown:
                self.live.shown.add(passage_id)
                with self.live.place:
                    self._passage(passage_id, reasons=True)

    def _draw_step(self, index: int, step: Step) -> None:
        opened = step.node in _EXPANDED_NODES or step.state == "running"
        if step.node == "web_search" and self.trace.web_skipped:
            icon = ":material/remove_circle_outline:"
        else:
            icon = STATE_ICONS[step.state]
        # A step that is open only while it runs gets a new key when it ends: the old key would keep it open.
        ended = "" if step.node in _EXPANDED_NODES or step.state == "running" else f"-{step.state}"
        key = f"{self.prefix}-{self.run_id}-{index}-{step.node}{ended}"
        with st.expander(_step_label(step, self.trace), expanded=opened, type="step", key=key, icon=icon):
            self._content(step)

    def _content(self, step: Step) -> None:
        if step.node in ("grade_documents", "web_search"):
            self._verdicts(step)
        else:
            _draw_step(step, self.trace)
        if step.state == "running" and self.waiting:
            st.caption(f":material/hourglass_empty: {self.waiting}")

    def _graded_passages(self) -> list[int]:
        """Return the passages with verdicts, of the origin that is being graded."""
        origin = "web" if "web" in self.trace.found else "library"
        return [found for found in self.trace.found.get(origin, ()) if found in self.trace.verdicts]

    def _verdicts(self, step: Step) -> None:
        trace = self.trace
        origin = "web" if step.node == "web_search" else "library"
        if origin == "web":
            _draw_sent_query(trace)
        ids = [found for found in trace.found.get(origin, ()) if found in trace.verdicts]
        if not ids and origin == "library" and step.state != "running":
            st.caption("No verdicts.")
        many = len(trace.found.get(origin, ())) > _MANY_PASSAGES
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
                f"{labels.verdict_badge(verdict)} {markdown.escape_page_and_title(self.trace.passages[passage_id])}",
                key=f"{self.prefix}-{self.run_id}-passage-{passage_id}",
                type="tertiary",
                wrap=False,
                on_click=self.open_passage,
                args=(passage_id,),
            )
            if reasons and verdict and verdict.reason:
                st.caption(markdown.escape_line(verdict.reason), wrap=False)

    def _draw_web_skipped(self) -> None:
        key = f"{self.prefix}-{self.run_id}-web-skipped"
        icon = ":material/remove_circle_outline:"
        with st.expander(
            f"{NODES['web_search'].title} {labels.grey_text('not done')}",
            True,
            type="step",
            key=key,
            icon=icon,
        ):
            st.caption(markdown.escape_line(self.trace.web_skipped))


def draw_legend() -> None:
    """Draw the list of steps before the first run."""
    st.caption("How an answer is made. Each step shows up here, live.")
    with st.container(gap="xxsmall"):
        for node, spec in NODES.items():
            if spec.meaning:
                st.expander(f"{spec.title} {labels.grey_text(spec.meaning)}", type="step", key=f"legend-{node}")
