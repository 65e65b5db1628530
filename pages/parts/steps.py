"""Steps of a trace: label, count and content. Passages with verdicts are drawn by the trace."""

from __future__ import annotations

import streamlit as st

from crag.events import PromptBuilt
from crag.inspection.facts import bounds, counted
from crag.runs import Step, Trace
from crag.types import Passage, Strip
from pages.parts import markdown, words

_STRIP_LENGTH = 240


def label(step: Step, trace: Trace) -> str:
    """Return the title of a step, with its count and duration."""
    if step.node == "decide":
        return f"{words.NODES['decide']} {words.action_badge(trace.action) if trace.action_reason else ''}"
    if step.state == "waiting":
        return f"{words.NODES[step.node]} {words.grey('waiting for you')}"
    facts = [counted(step, trace)]
    if step.seconds is not None and step.node != "check_answer":
        facts.append(words.duration(step.seconds))
    return f"{words.NODES[step.node]} {words.grey(' · '.join(fact for fact in facts if fact))}"


def under_way(trace: Trace, waits: str = "") -> str:
    """Return the current activity of a run, and its progress or what it `waits` for; safe Markdown."""
    doing = words.DOING[trace.steps[-1].node] if trace.steps else "Getting ready"
    return shimmering(doing, waits or _progress(trace))


def shimmering(doing: str, fact: str) -> str:
    """Return animated text for a running activity with a fact beside it; both must be safe Markdown."""
    return f":small[:shimmer[{doing}]] {words.grey(fact)}"


def _progress(trace: Trace) -> str:
    """Return how far the running step is."""
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


def draw(step: Step, trace: Trace) -> None:
    """Draw the content of a step."""
    match step.node:
        case "decide":
            _decision(trace)
        case "generate":
            draw_prompt(trace)
        case "refine_knowledge":
            _strips(trace)
        case "check_answer":
            _check(trace)
        case "transform_query":
            st.caption(f"“{markdown.label(trace.query)}”" if trace.query else "Written from your question alone.")
        case "condense_question":
            st.caption(f"“{markdown.label(trace.condensed)}”" if trace.condensed else "Reading what was said before.")
        case "retrieve":
            _retrieved(trace)


def draw_sent(trace: Trace) -> None:
    """Draw the query sent to the web search, or why none was sent."""
    if trace.waiting:
        st.caption(f"“{markdown.label(trace.waiting.query)}” has not been sent.")
    elif trace.query_sent:
        st.caption(f"Sent to {markdown.label(trace.web_provider)}: “{markdown.label(trace.query_sent)}”")
    elif "web" in trace.found:
        st.caption("Found for an earlier version of this answer; nothing was sent now.")
    if trace.web_skipped:
        st.caption(markdown.label(trace.web_skipped))


def strip_line(strip: Strip, quote: str = "", length: int = 2_000) -> str:
    """Return a kept or discarded strip, marked by badge, word and strikethrough; `quote` is highlighted."""
    if not strip.kept:
        return f":gray-badge[:material/content_cut: struck out] :gray[~~{markdown.label(strip.text, length)}~~]"
    text = marked(strip.text, quote) if quote else markdown.label(strip.text, length)
    return f":green-badge[:material/check: kept] {text}"


def marked(text: str, quote: str) -> str:
    """Return the text with `quote`, the deciding sentence, highlighted in yellow."""
    before, found, after = text.partition(quote) if quote else (text, "", "")
    strong = f":yellow-background[{markdown.label(found, 2_000)}]" if found.strip() else ""
    return " ".join(part for part in (markdown.paragraphs(before), strong, markdown.paragraphs(after)) if part)


def where(passage: Passage) -> str:
    """Return page and title of a passage; the page comes first, since long lines are cut at the end."""
    page = "" if passage.page is None else f"p. {passage.page} · "
    return f"{page}{markdown.label(passage.title, 120)}"


def total(trace: Trace) -> str:
    """Return how long a run took and how it ended."""
    taken = words.duration(trace.seconds or 0.0)
    return {"stopped": f"Stopped after {taken}", "failed": f"Failed after {taken}", "interrupted": "Interrupted"}.get(
        trace.state, f"{taken} in all"
    )


def graded_by(trace: Trace) -> str:
    """Return the grader, its thresholds and their origin; empty if nothing was graded."""
    thresholds = trace.thresholds
    if thresholds is None or not trace.grader or not trace.verdicts:
        return ""
    origin = words.threshold_origin(trace.options, calibrated=trace.calibrated)
    return f"Graded by: {words.grader_label(trace.grader)} · {bounds(thresholds)} · {origin}"


def _retrieved(trace: Trace) -> None:
    if "library" not in trace.found:
        st.caption("Looking for the nearest passages.")
    elif trace.found["library"]:
        st.caption(f"Nearest by meaning and by words, with {markdown.label(trace.embedder)}.")
    else:
        st.caption("Nothing was found.")


def _decision(trace: Trace) -> None:
    st.caption(markdown.label(trace.action_reason) or "Adding the verdicts up.")
    if judged := graded_by(trace):
        st.caption(judged)


def draw_prompt(trace: Trace) -> None:
    """Draw how much of the model's context window the prompt takes, and what did not fit."""
    prompt = trace.prompt
    if prompt is None:
        st.caption(
            "Putting the knowledge together." if trace.state == "running" else "There was nothing to write from."
        )
    elif prompt.window == 0:
        st.caption("Quoted from the passages; no language model is running.")
    else:
        text = words.grey(f"Prompt {prompt.tokens:,} of {prompt.window:,} tokens · {_left_out(trace, prompt)}")
        st.progress(min(1.0, prompt.tokens / prompt.window), text=text)
        if counted := trace.usage.prompt_tokens:
            sign = ":orange[:material/warning:] " if trace.usage.prompt_cut else ""
            st.caption(f"{sign}The server counted {counted:,}.")


def _left_out(trace: Trace, prompt: PromptBuilt) -> str:
    """Return which parts of the question and the strips were left out of the prompt."""
    question = trace.shortened and f"{words.count(trace.shortened.left_out, 'token')} of your question left out"
    strips = prompt.left_out and f"{words.count(prompt.left_out, 'strip')} left out"
    return " · ".join(part for part in (question, strips) if part) or "nothing left out"


def _strips(trace: Trace) -> None:
    if not trace.strips:
        st.caption("Nothing to cut." if trace.state != "running" else "Cutting the passages into strips.")
    for passage_id, cut in trace.strips.items():
        st.caption(where(trace.passages[passage_id]), wrap=False)
        for strip in cut:
            st.markdown(f":small[{strip_line(strip, length=_STRIP_LENGTH)}]")


def _check(trace: Trace) -> None:
    unsupported = [sentence for sentence in trace.sentences if sentence.strength == "unsupported"]
    weak = [sentence for sentence in trace.sentences if sentence.strength == "weak"]
    if not unsupported and not weak:
        st.caption("Every sentence rests on its sources." if trace.sentences else "There was nothing to check.")
    for sentence in unsupported:
        st.markdown(f":small[:orange[:material/link_off: no source] {markdown.label(sentence.sentence)}]")
    for sentence in weak:
        st.caption(f":material/contrast: weak source · {markdown.label(sentence.sentence)}")
