"""What two runs differ in, as tables: their settings, their verdicts, and what they took. Differences stand out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from crag.events import Node
from crag.runs import Trace
from crag.types import Passage
from pages.parts import markdown, steps, words

Row = tuple[str, str, str]
_NONE = ":gray[–]"
_DIFFERS = ":small[:blue[differs]]"
_SETTINGS: dict[str, Callable[[Trace], str]] = {
    "Model": lambda trace: markdown.label(trace.model, 60),
    "Policy": lambda trace: words.POLICIES[trace.options.policy][0],
    "Passages graded (k)": lambda trace: str(trace.options.k),
    "Grader": lambda trace: markdown.label(trace.grader, 60),
    "Thresholds": lambda trace: _thresholds(trace),
    "Refine knowledge": lambda trace: "on" if trace.options.refine else "off",
    "Web search": lambda trace: words.WEB_MODES[trace.options.web][0],
    "Query for the web": lambda trace: words.REWRITES[trace.options.rewrite][0],
    "Whole web pages": lambda trace: "read" if trace.options.fetch_pages else "not read",
    "Documents": lambda trace: markdown.label(trace.options.collection, 60) or "All documents",
    "What you decided": lambda trace: _rulings(trace),
}


def draw_settings(one: Trace, other: Trace) -> None:
    """Those that differ; the others folded."""
    rows = [(name, value(one), value(other)) for name, value in _SETTINGS.items()]
    different = [(f"**{name}**", left, right) for name, left, right in rows if left != right]
    if different:
        _table("Setting", different)
    else:
        st.caption("Both ran under the same settings.")
    with st.expander(f"The same in both {words.grey(f'{len(rows) - len(different)}')}", type="compact", key="same"):
        _table("Setting", [row for row in rows if row[1] == row[2]])


def draw_verdicts(one: Trace, other: Trace) -> None:
    """Every passage that either of them found, with both verdicts, and what the verdicts add up to."""
    found = {_identity(passage): passage for trace in (other, one) for passage in trace.passages.values()}
    if not found:
        st.caption("No passages yet.")
        return
    rows = [
        _compared(steps.where(passage), one, other, lambda trace, key=key: _verdict(trace, key))
        for key, passage in found.items()
    ]
    rows.sort(key=lambda row: _DIFFERS not in row[0])
    _table("Passage", [*rows, _compared("**Action**", one, other, lambda trace: words.action_badge(trace.action))])
    for name, trace in (("First", one), ("Second", other)):
        if trace.action_reason:
            st.caption(f"{name}: {markdown.label(trace.action_reason)}")


def draw_costs(one: Trace, other: Trace) -> None:
    """Seconds for each step and in all, tokens, and what went to the web."""
    nodes = [node for node in words.NODES if one.step(node) or other.step(node)]
    rows = [(words.NODES[node], *(_seconds(trace, node) for trace in (one, other))) for node in nodes]
    facts: dict[str, Callable[[Trace], str]] = {
        "**In all**": lambda trace: "" if trace.seconds is None else f"**{words.duration(trace.seconds)}**",
        "Prompt tokens": lambda trace: _prompt_tokens(trace),
        "Answer tokens": lambda trace: _number(trace.usage.answer_tokens),
        "Sent to the web": lambda trace: f"“{markdown.label(trace.query_sent, 80)}”" if trace.query_sent else "nothing",
        "Web searches": lambda trace: "1, a credit of Tavily's" if trace.query_sent else "0",
    }
    _table("Step", [*rows, *((name, fact(one), fact(other)) for name, fact in facts.items())])
    if one.parent or other.parent:
        st.caption(
            "Where a version went on from an earlier one, the times of the steps before *Decide* are that one's."
        )


def _table(first: str, rows: Iterable[Row]) -> None:
    lines = (f"| {' | '.join(cell or _NONE for cell in row)} |" for row in rows)
    st.markdown("\n".join([f"| {first} | First | Second |", "|:--|:--|:--|", *lines]))


def _compared(name: str, one: Trace, other: Trace, value: Callable[[Trace], str]) -> Row:
    left, right = value(one), value(other)
    return (name if left == right else f"{name} {_DIFFERS}", left, right)


def _identity(passage: Passage) -> tuple[str, ...]:
    """The same for a passage of both runs; those of the web are numbered anew in each."""
    return ("web", passage.location, passage.text) if passage.origin == "web" else ("library", str(passage.id))


def _verdict(trace: Trace, key: tuple[str, ...]) -> str:
    own = next((passage for passage in trace.passages.values() if _identity(passage) == key), None)
    return ":gray[not found]" if own is None else words.verdict_badge(trace.verdicts.get(own.id))


def _thresholds(trace: Trace) -> str:
    held = trace.thresholds
    if held is None:
        return ""
    origin = words.threshold_origin(trace.options, calibrated=trace.calibrated)
    return f"{held.lower:.2f} and {held.upper:.2f}, {origin}"


def _rulings(trace: Trace) -> str:
    ruled = [verdict for verdict in trace.verdicts.values() if verdict.ruling]
    return ", ".join(f"{words.verdict_badge(one)} {steps.where(trace.passages[one.passage_id])}" for one in ruled)


def _seconds(trace: Trace, node: Node) -> str:
    step = trace.step(node)
    if step is None:
        return ""
    return "…" if step.seconds is None else words.duration(step.seconds)


def _prompt_tokens(trace: Trace) -> str:
    counted = _number(trace.usage.prompt_tokens)
    if trace.prompt is None or not trace.prompt.window:
        return counted
    return f"{counted or f'{trace.prompt.tokens:,}'} of {trace.prompt.window:,}"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
