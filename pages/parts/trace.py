"""The trace of a run, drawn from its fold: live while it runs, and the same way ever after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.events import Node
from crag.runs import Step, Trace
from crag.types import Passage, RunState
from pages.parts import markdown, words

OpenPassage = Callable[[int], None]
ICONS: dict[RunState, str] = {
    "running": "spinner",
    "done": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "failed": ":material/error:",
    "interrupted": ":material/stop_circle:",
}
_OPEN: frozenset[Node] = frozenset({"grade_documents", "decide", "web_search"})
_MANY = 8


@dataclass(slots=True)
class VerdictRows:
    """Where verdicts of a step that still runs are appended, and which are drawn already."""

    place: DeltaGenerator
    shown: set[int] = field(default_factory=set)


@dataclass(slots=True)
class TraceDrawing:
    """Draws one run's trace; `prefix` keeps the keys of two drawings of the same run apart."""

    trace: Trace
    run_id: str
    open_passage: OpenPassage
    prefix: str = "trace"
    live: VerdictRows | None = None

    def draw(self) -> None:
        """Every step that ran, in order, then how long it took."""
        trace = self.trace
        unknown = "Getting ready" if trace.state == "running" else "This run ended before its first step."
        st.caption(markdown.label(trace.question) or unknown, wrap=False)
        with st.container(gap="xxsmall"):
            for index, step in enumerate(trace.steps):
                self._step(index, step)
                if step.node == "decide" and trace.web_skipped and trace.step("web_search") is None:
                    self._web_not_allowed()
        if trace.seconds is not None:
            st.caption(_total(trace))

    def append_verdicts(self) -> None:
        """Add the verdicts that arrived since the drawing, below those of the step that runs."""
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
        # A step that is open only while it runs gets another key when it ends: a key keeps what was open.
        ended = "" if step.node in _OPEN or step.state == "running" else f"-{step.state}"
        key = f"{self.prefix}-{self.run_id}-{index}-{step.node}{ended}"
        with st.expander(_label(step, self.trace), expanded=opened, type="step", key=key, icon=icon):
            self._content(step)

    def _content(self, step: Step) -> None:
        trace = self.trace
        match step.node:
            case "grade_documents" | "web_search":
                self._verdicts(step)
            case "decide":
                st.caption(markdown.label(trace.action_reason) or "Adding the verdicts up.")
            case "generate":
                _prompt(trace)
            case "refine_knowledge":
                _strips(trace)
            case "check_answer":
                _check(trace)
            case "transform_query":
                st.caption(f"“{markdown.label(trace.query)}”" if trace.query else "Written from your question alone.")
            case "condense_question":
                st.caption(
                    f"“{markdown.label(trace.condensed)}”" if trace.condensed else "Reading what was said before."
                )
            case "retrieve":
                _retrieved(trace)

    def _graded(self) -> list[int]:
        """The passages of the origin that is graded now, as far as they have verdicts."""
        origin = "web" if "web" in self.trace.found else "library"
        return [found for found in self.trace.found.get(origin, ()) if found in self.trace.verdicts]

    def _verdicts(self, step: Step) -> None:
        trace = self.trace
        origin = "web" if step.node == "web_search" else "library"
        if origin == "web":
            _sent(trace)
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
                f"{words.verdict_badge(verdict)} {_where(self.trace.passages[passage_id])}",
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
    """The steps before there is a run: what will be seen here."""
    st.caption("How an answer is made. Each step shows up here, live.")
    with st.container(gap="xxsmall"):
        for node, meaning in words.LEGEND.items():
            st.expander(f"{words.NODES[node]} {words.grey(meaning)}", type="step", key=f"legend-{node}")


def progress(trace: Trace) -> str:
    """How far the step that runs is, in a few words."""
    step = trace.steps[-1] if trace.steps else None
    if step is None:
        return ""
    found = trace.found.get("library", ())
    match step.node:
        case "grade_documents" if found:
            return f"{sum(item in trace.verdicts for item in found)} of {len(found)}"
        case "web_search" if trace.query_sent:
            return f"for “{markdown.label(trace.query_sent, 80)}”"
        case "generate" if trace.verdicts:
            usable = sum(verdict.word != "irrelevant" for verdict in trace.verdicts.values())
            return f"from {usable} of {words.count(len(trace.verdicts), 'passage')}"
    return ""


def _label(step: Step, trace: Trace) -> str:
    if step.node == "decide":
        return f"{words.NODES['decide']} {words.action_badge(trace.action) if trace.action_reason else ''}"
    facts = [_count(step, trace)]
    if step.seconds is not None and step.node != "check_answer":
        facts.append(words.duration(step.seconds))
    return f"{words.NODES[step.node]} {words.grey(' · '.join(fact for fact in facts if fact))}"


def _count(step: Step, trace: Trace) -> str:
    found = trace.found.get("library", ())
    match step.node:
        case "retrieve" if "library" in trace.found:
            return f"{len(found)} of {words.count(trace.searched, 'passage')}"
        case "grade_documents":
            return f"{sum(item in trace.verdicts for item in found)} of {len(found)}"
        case "web_search" if "web" in trace.found:
            return words.count(len(trace.found["web"]), "result")
        case "refine_knowledge" if trace.strips:
            strips = [strip for cut in trace.strips.values() for strip in cut]
            return f"{sum(strip.kept for strip in strips)} of {words.count(len(strips), 'strip')} kept"
        case "generate" if trace.prompt and (trace.pieces or trace.usage.answer_tokens):
            return words.count(trace.usage.answer_tokens or trace.pieces, "token")
        case "check_answer" if trace.sentences:
            held = sum(sentence.strength != "unsupported" for sentence in trace.sentences)
            return f"{held} of {words.count(len(trace.sentences), 'sentence')} supported"
    return ""


def _where(passage: Passage) -> str:
    page = "" if passage.page is None else f"p. {passage.page} · "
    return f"{page}{markdown.label(passage.title, 120)}"


def _total(trace: Trace) -> str:
    taken = words.duration(trace.seconds or 0.0)
    return {"stopped": f"Stopped after {taken}", "failed": f"Failed after {taken}", "interrupted": "Interrupted"}.get(
        trace.state, f"{taken} in all"
    )


def _retrieved(trace: Trace) -> None:
    if "library" not in trace.found:
        st.caption("Looking for the nearest passages.")
    elif trace.found["library"]:
        st.caption(f"Nearest by meaning and by words, with {markdown.label(trace.embedder)}.")
    else:
        st.caption("Nothing was found.")


def _sent(trace: Trace) -> None:
    if trace.query_sent:
        st.caption(f"Sent to {markdown.label(trace.web_provider)}: “{markdown.label(trace.query_sent)}”")
    if trace.web_skipped:
        st.caption(markdown.label(trace.web_skipped))


def _prompt(trace: Trace) -> None:
    prompt = trace.prompt
    if prompt is None:
        st.caption("Putting the knowledge together.")
    elif prompt.window == 0:
        st.caption("Quoted from the passages; no language model is running.")
    else:
        left_out = "nothing left out" if not prompt.left_out else f"{words.count(prompt.left_out, 'strip')} left out"
        text = f":small[:gray[Prompt {prompt.tokens:,} of {prompt.window:,} tokens, {left_out}]]"
        st.progress(min(1.0, prompt.tokens / prompt.window), text=text)


def _strips(trace: Trace) -> None:
    if not trace.strips:
        st.caption("Nothing to cut." if trace.state != "running" else "Cutting the passages into strips.")
    for passage_id, cut in trace.strips.items():
        st.caption(_where(trace.passages[passage_id]), wrap=False)
        for strip in cut:
            text = markdown.label(strip.text, 240)
            kept = f":small[:green[:material/check:] {text}]"
            st.markdown(kept if strip.kept else f":small[:gray[:material/content_cut: ~~{text}~~]]")


def _check(trace: Trace) -> None:
    bare = [sentence for sentence in trace.sentences if sentence.strength == "unsupported"]
    if not bare:
        st.caption("Every sentence rests on its sources." if trace.sentences else "There was nothing to check.")
    for sentence in bare:
        st.caption(f":orange[:material/link_off:] {markdown.label(sentence.sentence)}")
