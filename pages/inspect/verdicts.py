"""Verdict table of a run, with actions to open, overrule and pin a passage."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.inspection import run_labels
from crag.inspection.steps import describe_grading
from crag.runs.trace import Trace
from crag.text import sanitization
from crag.text.formatting import format_count, format_place
from crag.translation import N_, _, translate_text
from crag.types import Passage, Ruling
from pages.inspect import navigation
from pages.parts import layout, markdown, pins
from pages.parts.session import is_phone

_VERDICT_BADGES = (
    *run_labels.VERDICT_BADGES.values(),
    run_labels.verdict_badge(None),
    *run_labels.RULING_BADGES.values(),
)
_OPEN_LABEL = N_(":material/visibility: Open")
_PIN_LABELS = {N_(":material/quiz: Pin as expected passage"): True, N_(":material/close: Unpin"): False}
_RULING_LABELS: dict[str, Ruling] = {N_(":material/add: Use anyway"): "use", N_(":material/remove: Leave out"): "drop"}
_VISIBLE_ROWS = 12


def draw_verdicts(run_id: str, trace: Trace) -> None:
    """Draw the passages, web results first, each group by rank."""
    st.header(_("Verdicts"), anchor=False)
    passages = [trace.passages[found] for origin in ("web", "library") for found in trace.found.get(origin, ())]
    if not passages:
        st.caption(_("No passages found, so nothing was graded."))
        return
    st.dataframe(
        _table_columns(run_id, passages, trace),
        hide_index=True,
        key=f"verdicts-{run_id}",
        height=layout.table_height(len(passages), _VISIBLE_ROWS),
        alt=_("Table of {verdicts}").format(verdicts=format_count(len(passages), "verdict")),
        column_config=_column_config(run_id, passages),
    )
    if judged := describe_grading(trace):
        st.caption(markdown.escape_line(judged))


def _table_columns(run_id: str, passages: list[Passage], trace: Trace) -> dict[str, list[Any]]:
    right = pins.run_pins(run_id).passages
    verdicts = [trace.verdicts.get(passage.id) for passage in passages]
    columns: dict[str, list[Any]] = {
        _("Verdict"): [[run_labels.verdict_badge(verdict).word] for verdict in verdicts],
        _("Score"): [verdict.score if verdict else None for verdict in verdicts],
        _("Passage"): [_describe_passage(passage, right=passage.id in right) for passage in passages],
    }
    if not is_phone():  # no room; the reason is shown when the passage is opened
        columns[_("Reason")] = [
            sanitization.strip_invisible(translate_text(verdict.reason)) if verdict else "" for verdict in verdicts
        ]
    if trace.state == "running":  # redrawn every second, so a click could get lost
        return columns
    may_rule = trace.state != "waiting"
    rulings = [tuple(map(_, _RULING_LABELS)) if verdict and may_rule else () for verdict in verdicts]
    pinning = [_pin_actions(passage, right=passage.id in right) for passage in passages]
    return columns | {
        _("Actions"): [[_(_OPEN_LABEL), *ruling, *pin] for ruling, pin in zip(rulings, pinning, strict=True)]
    }


def _pin_actions(passage: Passage, *, right: bool) -> list[str]:
    """Return the pin or unpin action of a passage; none for a web page, whose content may change."""
    return [] if passage.origin == "web" else [_(word) for word, pins_it in _PIN_LABELS.items() if pins_it != right]


def _describe_passage(passage: Passage, *, right: bool) -> str:
    marks = [_("pinned")] if right else []
    marks += [_("web")] if passage.origin == "web" else []
    place = format_place(sanitization.strip_invisible(passage.title), passage.locator, locator_first=True)
    return " · ".join((*marks, place))


def _column_config(run_id: str, passages: list[Passage]) -> dict[str, Any]:
    click = f"verdict-of-{run_id}"

    def clicked() -> None:
        chosen = st.session_state[click]
        passage_id = passages[chosen.row].id
        if chosen.label == _(_OPEN_LABEL):
            navigation.open_passage(run_id, passage_id)
            return
        pinning = {_(label): pins_it for label, pins_it in _PIN_LABELS.items()}
        rulings = {_(label): ruling for label, ruling in _RULING_LABELS.items()}
        if chosen.label in pinning:
            pins.set_right_passage(run_id, passage_id, right=pinning[chosen.label])
        else:
            navigation.overrule_verdict(run_id, passage_id, rulings[chosen.label])

    config = st.column_config
    colours = {badge.word: badge.colour for badge in _VERDICT_BADGES}
    return {
        _("Verdict"): config.MultiselectColumn(options=list(colours), color=list(colours.values()), width=105),
        _("Score"): config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0, width=80),
        _("Passage"): config.TextColumn(width=120 if is_phone() else 135),
        _("Reason"): config.TextColumn(width=120),
        _("Actions"): config.ButtonColumn("", key=click, on_click=clicked, type="tertiary", width=44),
    }
