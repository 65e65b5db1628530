"""An evaluation that is under way: how far it is, how long it will take, what it has come to so far, and Stop."""

from __future__ import annotations

import streamlit as st

from crag.amounts import duration
from crag.evaluate.values import Evaluation
from pages.evaluate import figures
from pages.parts import words
from pages.parts.person import person
from pages.parts.resources import application

_LOOK_AGAIN_SECONDS = 1.0
MOVING = ("queued", "running")


def draw(evaluation: Evaluation, variant: int) -> None:
    """A fragment that looks again each second; when it has ended the whole page is drawn anew."""
    st.fragment(_draw, run_every=_LOOK_AGAIN_SECONDS)(evaluation.id, variant)


def _draw(evaluation_id: str, variant: int) -> None:
    evaluation = application().evaluations.get(evaluation_id, person())
    if evaluation.state not in MOVING:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        share = min(1.0, evaluation.done / evaluation.total) if evaluation.total else 0.0
        st.progress(share, text=words.grey(_told(evaluation)))
        st.button(
            "Stop",
            icon=":material/stop:",
            key=f"stop-{evaluation_id}",
            on_click=application().evaluations.stop,
            args=(evaluation_id,),
        )
    figures.draw_first(evaluation, variant)


def _told(evaluation: Evaluation) -> str:
    if evaluation.state == "queued":
        return "Waits until the one before it is done"
    told = [f"{evaluation.done:,} of {words.count(evaluation.total, 'answer')}"]
    if evaluation.failed:
        told.append(f"{evaluation.failed:,} failed")
    if evaluation.seconds_left is not None:
        told.append(f"{duration(evaluation.seconds_left)} left")
    return " · ".join(told)
