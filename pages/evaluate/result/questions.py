"""Filtered table of the answers of an evaluation, with the selected answer next to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.evaluate import signs
from crag.evaluate.figures.verdicts import AnswerVerdict, verdict
from crag.evaluate.values import Evaluation, Result
from pages.evaluate import reading
from pages.evaluate.result import agreeing, answer
from pages.parts import markdown, tables, words
from pages.parts.device import is_phone
from pages.parts.search import search_field

_ALL = "all"
_MOST_ROWS = 14
_HINT = (
    "Choose a row to read the answer beside its reference, and to say whether it is right; on a keyboard with"
    " Shift and Space."
)
_LABELS = {True: "right", False: "wrong", None: ""}

Row = tuple[Result, AnswerVerdict]


def draw(evaluation: Evaluation, variant: int) -> None:
    """Draw table and selected answer; runs as a fragment, so that selecting a row redraws nothing else."""
    st.header("Each answer", anchor=False)
    cutoffs = reading.cutoffs()
    rows = [(result, verdict(result, cutoffs)) for result in reading.results(evaluation, variant)]
    left, right = st.columns([5, 3], gap="medium")
    with left:
        shown = _filtered(rows)
        if not shown:
            st.caption("No answer is like this.")
            return
        chosen = _draw_table(evaluation, shown)
        agreeing.draw(evaluation, variant)
    with right:
        if chosen is None:
            st.caption(_HINT)
        else:
            answer.draw(evaluation, *chosen)


def _filtered(rows: Sequence[Row]) -> list[Row]:
    """Draw the filters; return the rows of the chosen verdict whose question contains every search word."""
    counts = {kind: sum(one == kind for _, one in rows) for kind in signs.VERDICTS}
    kinds = [_ALL, *(kind for kind, count in counts.items() if count)]
    with st.container(gap="small"):
        kind = st.segmented_control(
            "Which answers",
            kinds,
            default=_ALL,
            required=True,
            format_func=lambda one: f"All {len(rows):,}" if one == _ALL else _counted(one, counts[one]),
            key=f"answers-of-{'-'.join(kinds)}",
            label_visibility="collapsed",
        )
        wanted = search_field("Find a question", "evaluate-search").casefold().split()
    return [
        (result, verdict)
        for result, verdict in rows
        if kind in (_ALL, verdict) and all(word in result.example.question.casefold() for word in wanted)
    ]


def _counted(kind: AnswerVerdict, count: int) -> str:
    badge = signs.VERDICTS[kind]
    return f":{badge.colour}[:material/{badge.icon}:] {badge.word} {count:,}"


def _draw_table(evaluation: Evaluation, rows: Sequence[Row]) -> Row | None:
    """Draw the table and return the selected row."""
    # Streamlit keeps a selection by row number, so a changed list needs a new key or another row would be selected.
    names = tuple((result.variant, result.number, result.repetition) for result, _ in rows)
    state: Any = st.dataframe(
        _columns(evaluation, rows),
        key=f"answers-{evaluation.id}-{hash(names)}",
        hide_index=True,
        placeholder="",
        on_select="rerun",
        selection_mode="single-row",
        height=tables.height(len(rows), _MOST_ROWS),
        alt=f"Table of {words.count(len(rows), 'answer')}",
        column_config=_config(),
    )
    chosen = [rows[row] for row in state.selection.rows if row < len(rows)]
    return chosen[0] if chosen else None


def _columns(evaluation: Evaluation, rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the columns of the table: two on a phone, and no column without any value."""
    results = [result for result, _ in rows]
    columns: dict[str, list[Any]] = {
        "Answer": [[signs.VERDICTS[verdict].word] for _, verdict in rows],
        "Question": [markdown.visible(result.example.question) for result in results],
    }
    if is_phone():
        return columns
    more: dict[str, list[Any]] = {
        "Time": [result.scored.seconds if result.state == "done" else None for result in results],
        "Decided": [result.scored.action for result in results],
        "Recall": [result.scored.scores.get("recall") for result in results],
        "You": [_LABELS[result.label] or None for result in results],
    }
    if evaluation.repetitions > 1:
        columns["No."] = [result.repetition for result in results]
    return columns | {name: values for name, values in more.items() if any(value is not None for value in values)}


def _config() -> dict[str, Any]:
    badges = signs.VERDICTS.values()
    config = st.column_config
    return {
        "Answer": config.MultiselectColumn(
            options=[one.word for one in badges], color=[one.colour for one in badges], width=75
        ),
        "Question": config.TextColumn(width=160),
        "No.": config.NumberColumn(width=35, help="Which repetition"),
        "Decided": config.TextColumn(width=72, help="What grading made of retrieval: correct, ambiguous or incorrect"),
        "Recall": config.NumberColumn(format="percent", width=55),
        "Time": config.NumberColumn("Seconds", format="%.2f", width=60),
        "You": config.TextColumn(width=50, help="Your word on it"),
    }
