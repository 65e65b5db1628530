"""Tables of the differences between two runs: settings, verdicts, time and tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import streamlit as st

from crag.events import Node
from crag.preferences import CATALOG, Setting
from crag.runs import Trace
from crag.types import Passage
from pages.parts import markdown, settings, steps, words

Row = tuple[str, str, str]
Names = tuple[str, str]
_NONE = ":gray[–]"
_DIFFERS = ":small[:blue[differs]]"


def _name(setting: Setting) -> str:
    """Return the title that identifies a setting among all settings."""
    return f"{setting.title} model" if setting.kind == "model" else setting.title


def _chosen(setting: Setting, trace: Trace) -> str:
    """Return the requested value."""
    return settings.value_word(setting.name, trace.options)


# Shown with the value resolved in the run instead of the requested one.
_CAME_TO = ("model", "grader")
_SETTINGS: dict[str, Callable[[Trace], str]] = {
    "Model": lambda trace: markdown.label(trace.model, 60),
    "Grader": lambda trace: words.grader_label(trace.grader),
    "Thresholds": lambda trace: _thresholds(trace),
    **{_name(setting): partial(_chosen, setting) for setting in CATALOG.values() if setting.name not in _CAME_TO},
    "Documents": lambda trace: _documents(trace),
    "What you decided": lambda trace: _rulings(trace),
}
_COSTS: dict[str, Callable[[Trace], str]] = {
    "**In all**": lambda trace: "" if trace.seconds is None else f"**{words.duration(trace.seconds)}**",
    "Prompt tokens": lambda trace: _prompt_tokens(trace),
    "Answer tokens": lambda trace: _number(trace.usage.answer_tokens),
    "Web searches": lambda trace: "1, for 1 credit" if trace.query_sent else "none",
}


def different_settings(one: Trace, other: Trace) -> list[Row]:
    """Return the settings that differ, with both values."""
    return [row for row in _settings(one, other) if row[1] != row[2]]


def draw_settings(names: Names, one: Trace, other: Trace) -> None:
    """Draw the settings that differ; the others are folded."""
    different = [(f"**{name}**", left, right) for name, left, right in different_settings(one, other)]
    if different:
        _table(("Setting", *names), different)
    else:
        st.caption("Both ran under the same settings.")
    same = [row for row in _settings(one, other) if row[1] == row[2]]
    with st.expander(f"The same in both: {len(same)}", type="compact", key="same"):
        _table(("Setting", *names), same)


def verdict_rows(one: Trace, other: Trace) -> tuple[list[Row], list[Row]]:
    """Return both verdicts on every passage that either run found: the differing ones, then the equal ones."""
    found = {_identity(passage): passage for trace in (other, one) for passage in trace.passages.values()}
    rows = [_compared(steps.where(passage), _verdict(one, key), _verdict(other, key)) for key, passage in found.items()]
    return [row for row in rows if row[1] != row[2]], [row for row in rows if row[1] == row[2]]


def draw_verdicts(names: Names, one: Trace, other: Trace) -> None:
    """Draw the verdicts that differ and the resulting actions; equal verdicts are folded."""
    different, same = verdict_rows(one, other)
    if different or one.action != other.action:
        action = _compared("**Action**", words.action_badge(one.action), words.action_badge(other.action))
        _table(("Passage", *names), [*different, action])
    else:
        st.caption("Both found and judged the same passages alike.")
    for name, trace in zip(names, (one, other), strict=True):
        if trace.action_reason:
            st.caption(f"{name}: {markdown.label(trace.action_reason)}")
    if same:
        with st.expander(f"The same verdict in both: {len(same)}", type="compact", key="same-verdicts"):
            _table(("Passage", *names), same)


def draw_costs(names: Names, one: Trace, other: Trace) -> None:
    """Draw the seconds of each step and in total, tokens, and web searches."""
    nodes = [node for node in words.NODES if one.step(node) or other.step(node)]
    steps_taken = [(words.NODES[node], _seconds(one, node), _seconds(other, node)) for node in nodes]
    facts = [(name, value(one), value(other)) for name, value in _COSTS.items()]
    _table(("Step", *names), [*steps_taken, *facts])
    for name, trace in zip(names, (one, other), strict=True):
        if trace.query_sent:
            st.caption(f"{name} sent to {markdown.label(trace.web_provider)}: “{markdown.label(trace.query_sent)}”")
    if one.parent or other.parent:
        st.caption("Steps that a version took over from an earlier one show the times of that one.")


def _settings(one: Trace, other: Trace) -> list[Row]:
    return [(name, value(one), value(other)) for name, value in _SETTINGS.items()]


def _table(head: Row, rows: Iterable[Row]) -> None:
    lines = (f"| {' | '.join(cell or _NONE for cell in row)} |" for row in (head, *rows))
    first, *rest = lines
    st.markdown("\n".join([first, "|:--|:--|:--|", *rest]))


def _compared(name: str, left: str, right: str) -> Row:
    return (name if left == right else f"{name} {_DIFFERS}", left, right)


def _identity(passage: Passage) -> tuple[str, ...]:
    """Return a key that is equal for the same passage in both runs; each run numbers web passages itself."""
    return ("web", passage.location, passage.text) if passage.origin == "web" else ("library", str(passage.id))


def _verdict(trace: Trace, key: tuple[str, ...]) -> str:
    own = next((passage for passage in trace.passages.values() if _identity(passage) == key), None)
    return ":gray[not found]" if own is None else words.verdict_badge(trace.verdicts.get(own.id))


def _documents(trace: Trace) -> str:
    if chosen := trace.options.source_ids:
        return f"Only {words.count(len(chosen), 'document')}"
    return markdown.label(trace.options.collection, 60) or "All documents"


def _thresholds(trace: Trace) -> str:
    thresholds = trace.thresholds
    if thresholds is None:
        return ""
    origin = words.threshold_origin(trace.options, calibrated=trace.calibrated)
    return f"{words.score(thresholds.lower)} and {words.score(thresholds.upper)}, {origin}"


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
