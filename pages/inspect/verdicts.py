"""Verdict table of a run, with actions to open, overrule and pin a passage."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.inspection import run_labels
from crag.inspection.steps import describe_grading
from crag.runs.trace import Trace
from crag.text import sanitization
from crag.text.formatting import format_count, format_place
from crag.types import Passage, Ruling
from pages.inspect import navigation
from pages.parts import layout, markdown, pins
from pages.parts.session import is_phone

_VERDICT_COLOURS = {
    badge.word: badge.colour
    for badge in (
        *run_labels.VERDICT_BADGES.values(),
        run_labels.verdict_badge(None),
        *run_labels.RULING_BADGES.values(),
    )
}
_OPEN_LABEL = ":material/visibility: Open"
_PIN_LABELS = {":material/quiz: Pin as expected passage": True, ":material/close: Unpin": False}
_RULING_LABELS: dict[str, Ruling] = {":material/add: Use anyway": "use", ":material/remove: Leave out": "drop"}
_VISIBLE_ROWS = 12


def draw_verdicts(run_id: str, trace: Trace) -> None:
    """Draw the passages, web results first, each group by rank."""
    st.header("Verdicts", anchor=False)
    passages = [trace.passages[found] for origin in ("web", "library") for found in trace.found.get(origin, ())]
    if not passages:
        st.caption("No passages found, so nothing was graded.")
        return
    st.dataframe(
        _table_columns(run_id, passages, trace),
        hide_index=True,
        key=f"verdicts-{run_id}",
        height=layout.table_height(len(passages), _VISIBLE_ROWS),
        alt=f"Table of {format_count(len(passages), 'verdict')}",
        column_config=_column_config(run_id, passages),
    )
    if judged := describe_grading(trace):
        st.caption(markdown.escape_line(judged))


def _table_columns(run_id: str, passages: list[Passage], trace: Trace) -> dict[str, list[Any]]:
    right = pins.run_pins(run_id).passages
    verdicts = [trace.verdicts.get(passage.id) for passage in passages]
    columns: dict[str, list[Any]] = {
        "Verdict": [[run_labels.verdict_badge(verdict).word] for verdict in verdicts],
        "Score": [verdict.score if verdict else None for verdict in verdicts],
        "Passage": [_describe_passage(passage, right=passage.id in right) for passage in passages],
    }
    if not is_phone():  # no room; the reason is shown when the passage is opened
        columns["Reason"] = [sanitization.strip_invisible(verdict.reason) if verdict else "" for verdict in verdicts]
    if trace.state == "running":  # redrawn every second, so a click could get lost
        return columns
    may_rule = trace.state != "waiting"
    rulings = [tuple(_RULING_LABELS) if verdict and may_rule else () for verdict in verdicts]
    pinning = [_pin_actions(passage, right=passage.id in right) for passage in passages]
    return columns | {"Actions": [[_OPEN_LABEL, *ruling, *pin] for ruling, pin in zip(rulings, pinning, strict=True)]}


def _pin_actions(passage: Passage, *, right: bool) -> list[str]:
    """Return the pin or unpin action of a passage; none for a web page, whose content may change."""
    return [] if passage.origin == "web" else [word for word, pins_it in _PIN_LABELS.items() if pins_it != right]


def _describe_passage(passage: Passage, *, right: bool) -> str:
    origin = "web · " if passage.origin == "web" else ""
    place = format_place(sanitization.strip_invisible(passage.title), passage.locator, locator_first=True)
    return f"{'pinned · ' if right else ''}{origin}{place}"


def _column_config(run_id: str, passages: list[Passage]) -> dict[str, Any]:
    click = f"verdict-of-{run_id}"

    def clicked() -> None:
        chosen = st.session_state[click]
        passage_id = passages[chosen.row].id
        if chosen.label == _OPEN_LABEL:
            navigation.open_passage(run_id, passage_id)
        elif chosen.label in _PIN_LABELS:
            pins.set_right_passage(run_id, passage_id, right=_PIN_LABELS[chosen.label])
        else:
            navigation.overrule_verdict(run_id, passage_id, _RULING_LABELS[chosen.label])

    config = st.column_config
    return {
        "Verdict": config.MultiselectColumn(
            options=list(_VERDICT_COLOURS), color=list(_VERDICT_COLOURS.values()), width=105
        ),
        "Score": config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0, width=80),
        "Passage": config.TextColumn(width=120 if is_phone() else 135),
        "Reason": config.TextColumn(width=120),
        "Actions": config.ButtonColumn("", key=click, on_click=clicked, type="tertiary", width=44),
    }
