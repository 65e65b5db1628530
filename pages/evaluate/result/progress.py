"""Progress of a running evaluation: share done, time left, figures so far, and Stop."""

from __future__ import annotations

import streamlit as st

from crag.amounts import duration
from crag.evaluate.values import Evaluation
from crag.types import Progress
from pages.evaluate.result import figures
from pages.parts import markdown, words
from pages.parts.person import person
from pages.parts.resources import application

_LOOK_AGAIN_SECONDS = 1.0
MOVING = ("queued", "running")


def draw(evaluation: Evaluation, variant: int) -> None:
    """Draw a fragment that reruns every second; start, first answer and end redraw the whole page."""
    st.fragment(_draw, run_every=_LOOK_AGAIN_SECONDS)(evaluation.id, variant, _stage(evaluation))


def _stage(evaluation: Evaluation) -> tuple[str, bool]:
    """Return what the rest of the page depends on: the state, and whether there is any answer."""
    return evaluation.state, evaluation.done > 0


def _draw(evaluation_id: str, variant: int, drawn: tuple[str, bool]) -> None:
    evaluation = application().evaluations.get(evaluation_id, person())
    if _stage(evaluation) != drawn:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        made_ready = application().evaluations.preparing(evaluation_id)
        how_far = made_ready or Progress("", evaluation.done + evaluation.judgements, _steps(evaluation))
        share = min(1.0, how_far.done / how_far.total) if how_far.total else 0.0
        st.progress(share, text=words.grey(_told(evaluation, made_ready)))
        st.button(
            "Stop",
            icon=":material/stop:",
            key=f"stop-{evaluation_id}",
            on_click=application().evaluations.stop,
            args=(evaluation_id,),
        )
    figures.draw_first(evaluation, variant)


def _steps(evaluation: Evaluation) -> int:
    """Return the number of steps: one for each answer, and one for each judgement."""
    return evaluation.total * (2 if evaluation.judge else 1)


def _told(evaluation: Evaluation, made_ready: Progress | None) -> str:
    """Return activity, progress and time left as safe Markdown."""
    if made_ready:
        return f"{markdown.label(made_ready.stage)} · {made_ready.done:,} of {made_ready.total:,}"
    if evaluation.state == "queued":
        return "Waits until the one before it is done"
    told = [f"{evaluation.done:,} of {words.count(evaluation.total, 'answer')}"]
    if evaluation.judge:
        told.append(f"{evaluation.judgements:,} judged")
    if evaluation.failed:
        told.append(f"{evaluation.failed:,} failed")
    if evaluation.seconds_left is not None:
        told.append(f"{duration(evaluation.seconds_left)} left")
    return " · ".join(told)
