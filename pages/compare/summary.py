"""Summary of the differences between two runs, in a few lines at the top of the page."""

from __future__ import annotations

import streamlit as st

from crag.inspection.differences import only_in
from pages.compare import tables
from pages.compare.sides import Side
from pages.parts import words


def draw(one: Side, other: Side) -> None:
    """Draw one line per difference; equal facts are omitted."""
    if one.on_its_way or other.on_its_way:
        return
    lines = [*_came(one, other), *_settings(one, other), *_verdicts(one, other), *_path(one, other), *_cost(one, other)]
    st.header("What differs", anchor=False)
    st.markdown("\n".join(f"- {line}" for line in lines) or "Nothing but the time they took.")


def _came(one: Side, other: Side) -> list[str]:
    """Return the differences in action and outcome."""
    badges = [
        ("Action", *(words.action_badge(side.trace.action) for side in (one, other))),
        ("Outcome", *(words.outcome_badge(side.trace.outcome or "not_answered") for side in (one, other))),
    ]
    return [f"**{name}**: {left} → {right}" for name, left, right in badges if left != right]


def _settings(one: Side, other: Side) -> list[str]:
    rows = tables.different_settings(one.trace, other.trace)
    return [f"**Settings**: {', '.join(name for name, *_ in rows)}"] if rows else []


def _verdicts(one: Side, other: Side) -> list[str]:
    different, same = tables.verdict_rows(one.trace, other.trace)
    if not different:
        return []
    return [f"**Verdicts**: {len(different)} of {words.count(len(different) + len(same), 'passage')} differ"]


def _path(one: Side, other: Side) -> list[str]:
    """Return the nodes that only one of the runs visited."""
    lines = []
    for side, opposite in ((one, other), (other, one)):
        if nodes := only_in(side.trace, opposite.trace):
            lines.append(f"**Path**: only {side.name} took *{', '.join(words.NODES[node] for node in nodes)}*")
    return lines


def _cost(one: Side, other: Side) -> list[str]:
    seconds = [side.trace.seconds for side in (one, other)]
    times = [words.duration(value) for value in seconds if value is not None]
    return [f"**Time**: {times[0]} → {times[1]}"] if len(times) == 2 and times[0] != times[1] else []
