"""Drawer that chooses the run to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from crag.inspection.archive import RunFilter, RunRow
from crag.moments import day_and_minute
from crag.runs import Trace
from pages.chat.versions import open_comparison
from pages.inspect import moves, signs
from pages.parts import dialogs, markdown, words
from pages.parts.person import person
from pages.parts.resources import application

_WIDTH = 560
_LATEST = 20


@dataclass(frozen=True, slots=True)
class Choice:
    """A run to choose, with its label."""

    run_id: str
    name: str


def draw(run_id: str) -> None:
    """Draw the drawer."""
    dialog = st.dialog(
        "Compare with", icon=":material/compare_arrows:", position="right", width=_WIDTH, on_dismiss=dialogs.close
    )
    dialog(_draw)(run_id)


def _draw(run_id: str) -> None:
    trace = application().runs.trace(run_id)
    versions = [
        Choice(one.run_id, words.version_name(one))
        for one in application().runs.versions(run_id)
        if one.run_id != run_id
    ]
    known = {run_id, *(one.run_id for one in versions)}
    same = _of_archive(trace.question, known, trace)
    latest = _of_archive("", known | {one.run_id for one in same})
    for title, choices in (
        ("Other versions of this answer", versions),
        ("The same question", same),
        ("Latest runs", latest),
    ):
        if choices:
            st.caption(title)
            _buttons(run_id, choices)
    if not (versions or same or latest):
        st.caption("There is no other run yet. Answer again, or go on from a node with changes.")


def _buttons(run_id: str, choices: Sequence[Choice]) -> None:
    with st.container(gap="xxsmall"):
        for one in choices:
            if st.button(one.name, key=f"{moves.COMPARE}-{one.run_id}", type="tertiary", wrap=False):
                dialogs.close()
                open_comparison(*sorted((one.run_id, run_id), key=_begun))


def _begun(run_id: str) -> float:
    """Return the start time; the earlier run is shown on the left."""
    return application().runs.trace(run_id).started_at


def _of_archive(search: str, without: set[str], same: Trace | None = None) -> list[Choice]:
    """Return the latest runs of the current user; with `same`, only those of exactly its question."""
    rows = application().archive.list(RunFilter(search=search), person(), _LATEST + len(without), 0)
    kept = [row for row in rows if row.run_id not in without and (same is None or row.question == same.question)]
    return [Choice(row.run_id, _named(row)) for row in kept[:_LATEST]]


def _named(row: RunRow) -> str:
    change = words.version_change(row.change) if row.change else ""
    facts = " · ".join(part for part in (change, day_and_minute(row.started_at)) if part)
    return f"{signs.of(signs.of_run(row))} {markdown.label(row.question, 80)} {words.grey(facts)}"
