"""Pinned passages and answers of a run for the current user, and the switch for one passage."""

from __future__ import annotations

import streamlit as st

from crag.errors import NotFound
from crag.evaluate.datasets.pins import Pins
from crag.types import Passage
from pages.parts import refusals
from pages.parts.person import person
from pages.parts.resources import application


def of_run(run_id: str) -> Pins:
    """Return what is pinned for a run; empty if the run is gone."""
    try:
        return application().datasets.pins(run_id, person())
    except NotFound:
        return Pins()


def has_answer(run_id: str) -> bool:
    """Return whether the answer of a run is pinned."""
    try:
        return application().datasets.is_pinned(run_id, person())
    except NotFound:
        return False


def draw_switch(run_id: str, passage: Passage) -> None:
    """Draw the switch that pins a passage as relevant to the question.

    Web passages have none, since the page may change at any time.
    """
    if passage.origin == "web" or not run_id:
        return
    key = f"right-{run_id}-{passage.id}"
    st.toggle(
        "Right passage",
        value=passage.id in of_run(run_id).passages,
        key=key,
        help="Pins the question with a sentence of this passage: Evaluate then tells whether it is still found.",
        on_change=_switch,
        args=(key, run_id, passage.id),
    )


def set_right(run_id: str, passage_id: int, *, right: bool) -> None:
    """Pin or unpin a passage as a right one for the question of a run."""
    datasets = application().datasets
    with refusals.kept():
        (datasets.pin_passage if right else datasets.unpin_passage)(run_id, passage_id, person())


def _switch(key: str, run_id: str, passage_id: int) -> None:
    set_right(run_id, passage_id, right=st.session_state[key])
