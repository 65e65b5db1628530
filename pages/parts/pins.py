"""Pinned passages and answers of a run, and the switch for one passage."""

from __future__ import annotations

import streamlit as st

from crag.errors import NotFound
from crag.evaluation.datasets import RunPins
from crag.translation import _
from crag.types import Passage
from pages.parts.services import application


def run_pins(run_id: str) -> RunPins:
    """Return what is pinned for a run; empty if the run is gone."""
    try:
        return application().datasets.pins.get_pins(run_id)
    except NotFound:
        return RunPins()


def draw_pin_switch(run_id: str, passage: Passage) -> None:
    """Draw the switch that pins a passage as one that the question must find.

    Web passages have none, since the page may change at any time.
    """
    if passage.origin == "web" or not run_id:
        return
    key = f"right-{run_id}-{passage.id}"
    st.toggle(
        _("Pin as expected passage"),
        value=passage.id in run_pins(run_id).passages,
        key=key,
        help=_("Adds the question to your test questions. Evaluate checks whether this passage is still found."),
        on_change=_save_pin_switch,
        args=(key, run_id, passage.id),
    )


def set_right_passage(run_id: str, passage_id: int, *, right: bool) -> None:
    """Pin or unpin a passage as a right one for the question of a run."""
    pins = application().datasets.pins
    (pins.pin_passage if right else pins.unpin_passage)(run_id, passage_id)


def _save_pin_switch(key: str, run_id: str, passage_id: int) -> None:
    set_right_passage(run_id, passage_id, right=st.session_state[key])
