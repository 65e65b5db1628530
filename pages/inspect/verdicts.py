"""Verdict table of a run, with actions to open, overrule and pin each passage."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.inspection import badges
from crag.runs import Trace
from crag.types import Passage, Ruling
from pages.inspect import moves
from pages.parts import dialogs, markdown, pins, steps, tables, words
from pages.parts.device import is_phone

_COLOURS = {
    badge.word: badge.colour for badge in (*badges.VERDICTS.values(), badges.of_verdict(None), *badges.RULINGS.values())
}
_OPEN = ":material/visibility: Open"
_RIGHT = {":material/quiz: Pin as a right passage": True, ":material/close: Unpin the right passage": False}
_RULINGS: dict[str, Ruling] = {":material/add: Use it": "use", ":material/remove: Drop it": "drop"}
_MOST_ROWS = 12


def draw(run_id: str, trace: Trace) -> None:
    """Draw the passages, web results first, each group by rank."""
    st.header("Verdicts", anchor=False)
    passages = [trace.passages[found] for origin in ("web", "library") for found in trace.found.get(origin, ())]
    if not passages:
        st.caption("Nothing was found that could be judged.")
        return
    st.dataframe(
        _rows(run_id, passages, trace),
        hide_index=True,
        key=f"verdicts-{run_id}",
        height=tables.height(len(passages), _MOST_ROWS),
        alt=f"Table of {words.count(len(passages), 'verdict')}",
        column_config=_columns(run_id, passages),
    )
    if judged := steps.graded_by(trace):
        st.caption(judged)


def _rows(run_id: str, passages: list[Passage], trace: Trace) -> dict[str, list[Any]]:
    right = pins.of_run(run_id).passages
    verdicts = [trace.verdicts.get(passage.id) for passage in passages]
    columns: dict[str, list[Any]] = {
        "Verdict": [[badges.of_verdict(verdict).word] for verdict in verdicts],
        "Score": [verdict.score if verdict else None for verdict in verdicts],
        "Passage": [_place(passage, right=passage.id in right) for passage in passages],
    }
    if not is_phone():  # no room; the reason is shown when the passage is opened
        columns["Reason"] = [markdown.visible(verdict.reason) if verdict else "" for verdict in verdicts]
    if trace.state == "running":  # redrawn every second, so a click could get lost
        return columns
    may_rule = trace.state != "waiting"
    rulings = [tuple(_RULINGS) if verdict and may_rule else () for verdict in verdicts]
    pinning = [_pinning(passage, right=passage.id in right) for passage in passages]
    return columns | {"Actions": [[_OPEN, *ruling, *pin] for ruling, pin in zip(rulings, pinning, strict=True)]}


def _pinning(passage: Passage, *, right: bool) -> list[str]:
    """Return the pin or unpin action of a passage; none for a web page, whose content may change."""
    return [] if passage.origin == "web" else [word for word, pins_it in _RIGHT.items() if pins_it != right]


def _place(passage: Passage, *, right: bool) -> str:
    where = "web · " if passage.origin == "web" else "" if passage.page is None else f"p. {passage.page} · "
    return f"{'pinned · ' if right else ''}{where}{markdown.visible(passage.title)}"


def _columns(run_id: str, passages: list[Passage]) -> dict[str, Any]:
    click = f"verdict-of-{run_id}"

    def clicked() -> None:
        chosen = st.session_state[click]
        passage_id = passages[chosen.row].id
        if chosen.label == _OPEN:
            dialogs.ask(moves.SOURCE, (run_id, passage_id))
        elif chosen.label in _RIGHT:
            pins.set_right(run_id, passage_id, right=_RIGHT[chosen.label])
        else:
            moves.overrule(run_id, passage_id, _RULINGS[chosen.label])

    config = st.column_config
    return {
        "Verdict": config.MultiselectColumn(options=list(_COLOURS), color=list(_COLOURS.values()), width=105),
        "Score": config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0, width=80),
        "Passage": config.TextColumn(width=120 if is_phone() else 135),
        "Reason": config.TextColumn(width=120),
        "Actions": config.ButtonColumn("", key=click, on_click=clicked, type="tertiary", width=44),
    }
