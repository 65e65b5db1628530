"""Embedder choice, embedding spaces, running switch, and going back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crag.checks.embeddings import NOMIC_CHECK
from crag.errors import CragError
from crag.models.choice import embedder_label
from pages.parts import markdown, mending, setup, words
from pages.parts.resources import application
from pages.parts.settings import ORIGINS
from pages.settings import rows
from pages.settings.server import seen

if TYPE_CHECKING:
    from crag.library.spaces.switching import SpaceReport
    from crag.types import Progress

_AGAIN_SECONDS = 1.0
WORDS = "embeddings embedder vectors space Nomic CRAG_EMBEDDER switching going back download dimensions"
_AUTO = ""
_SIGNS = {
    "answering": ":green[:material/check_circle:]",
    "building": ":gray[:material/progress_activity:]",
    "kept": ":gray[:material/history:]",
}
_ORIGINS = {"fitted": "fitted to your documents", "measured": "as measured", "default": "by default"}


def draw() -> None:
    """Draw the section, refreshed every second while a space is built, and Nomic's check while it needs action."""
    busy = application().library.space_work.progress is not None
    st.fragment(_section, run_every=_AGAIN_SECONDS if busy else None)(busy)
    _nomic()


def _nomic() -> None:
    """Draw the download of Nomic's weights, then the offer to switch the library to them."""
    check = mending.find(NOMIC_CHECK)
    if check is None or check.action is None:
        return
    with st.container(border=True), rows.control(NOMIC_CHECK, "", f"{check.detail[:1].upper()}{check.detail[1:]}."):
        setup.draw_action(NOMIC_CHECK, "embeddings")


def _section(was_busy: bool) -> None:
    work = application().library.space_work
    if was_busy != (work.progress is not None):
        st.rerun()
    with st.container(border=True):
        _choice()
        for report in application().library.spaces.reports():
            _space(report)
        notice = work.fault or application().library.spaces.answering.notice()
        if notice:
            st.markdown(f":orange[:material/warning:] {markdown.label(notice)}")


def _choice() -> None:
    app = application()
    answering = app.library.spaces.answering
    chosen, overruled = answering.choices().chosen, answering.overruled()
    is_locked = app.settings.embedder not in ("", "auto")
    badge = ORIGINS["environment" if is_locked else "saved" if chosen else "default"]
    wanted = app.embedders.wanted()
    meaning = wanted.reason
    if overruled:
        meaning = f"CRAG_EMBEDDER names {overruled}, but you went back to {wanted.label}. It stays so until you choose."
    elif is_locked:
        meaning = "Set by CRAG_EMBEDDER; change it there."
    with rows.control("Embedder", badge, meaning):
        names = {choice.name: choice.label for choice in [*seen().embedders, wanted]}
        options = [_AUTO, *names]
        st.selectbox(
            "Embedder",
            options,
            index=options.index(wanted.name if chosen or is_locked else _AUTO),
            format_func=lambda name: names[name] if name else f"Automatic ({wanted.label})",
            disabled=is_locked,
            label_visibility="collapsed",
            key=f"embedder-{chosen}",
            on_change=_choose,
            args=(f"embedder-{chosen}",),
        )
        if overruled:
            st.button(f"Use {markdown.label(overruled)} after all", type="tertiary", on_click=_use, args=(overruled,))
        elif chosen and not is_locked:
            st.button("Back to default", icon=":material/undo:", type="tertiary", on_click=_use, args=(_AUTO,))


def _space(report: SpaceReport) -> None:
    spaces, work = application().library.spaces, application().library.space_work
    name = markdown.label(embedder_label(report.space.name), 60)
    facts = f"{report.space.dimension} dimensions · {words.count(report.vectors, 'passage')}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        counts = f"meaning counts {report.weight.share:.0%}, {_ORIGINS[report.weight.origin]}"
        state = f" · answers · {counts}" if report.state == "answering" else ""
        st.markdown(f"{_SIGNS[report.state]} {name} {words.grey(f'{facts}{state}')}", width="content")
        if report.state == "building":
            st.button("Cancel", type="tertiary", key="cancel-space", on_click=work.cancel)
        elif report.state == "kept":
            with st.container(horizontal=True, width="content"):
                if report.space == spaces.previous():
                    st.button(f"Go back to {name}", type="tertiary", key="space-back", on_click=work.go_back)
                drop = f"drop-{report.space.id}"
                st.button("Drop", type="tertiary", key=drop, on_click=_drop, args=(report.space.id,))
    if report.state == "building":
        made = max(report.vectors, _made(work.progress, report.passages))
        caption = f"{made:,} of {report.passages:,} passages; the other space answers till it is done"
        st.progress(min(1.0, made / max(1, report.passages)), text=words.grey(caption))


def _made(progress: Progress | None, passages: int) -> int:
    """Return how many passages have a vector, counting those this process has not stored yet.

    Vectors are stored in batches, so the database lags behind.
    """
    lacking = progress.total - progress.done if progress and progress.total else passages
    return max(0, passages - lacking)


def _choose(key: str) -> None:
    _use(st.session_state[key])


def _use(name: str) -> None:
    application().library.space_work.choose(name)


def _drop(space_id: str) -> None:
    try:
        application().library.spaces.drop(space_id)
    except CragError as error:
        st.toast(markdown.label(str(error)))
