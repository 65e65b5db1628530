"""Embedder choice and embedding spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crag.app.model_checks import NOMIC_CHECK
from crag.models.model_choice import embedder_label
from crag.retrieval.ranking import WEIGHT_ORIGINS
from crag.storage.preferences import ValueOrigin
from crag.text.formatting import format_count, format_number
from crag.translation import _, translate_text
from pages.parts import labels, markdown, setup_checklist
from pages.parts.layout import draw_watching, progress_share
from pages.parts.services import application
from pages.settings import setting_row
from pages.settings.model_settings import server_status

if TYPE_CHECKING:
    from crag.retrieval.space_switch import SpaceStatus
    from crag.types import Progress


_REFRESH_SECONDS = 1.0
EMBEDDING_WORDS = "embeddings embedder vectors space Nomic CRAG_EMBEDDER switching going back download dimensions"
_AUTOMATIC = ""
_STATE_ICONS = {
    "answering": ":green[:material/check_circle:]",
    "building": ":gray[:material/progress_activity:]",
    "kept": ":gray[:material/history:]",
}


def draw_embeddings() -> None:
    """Draw the section, refreshed every second while a space is built, and Nomic's check while it needs action."""
    is_building = _is_building()
    draw_watching(is_building, _is_building, _REFRESH_SECONDS if is_building else None, _draw_section)
    _draw_nomic()


def _is_building() -> bool:
    return application().library.space_work.progress is not None


def _draw_nomic() -> None:
    """Draw the download of Nomic's weights, then the offer to switch the library to them."""
    check = setup_checklist.find_check(NOMIC_CHECK)
    if check is None or check.action is None:
        return
    with (
        st.container(border=True),
        setting_row.lay_out_row(_(NOMIC_CHECK), setup_checklist.describe_check(check)),
    ):
        setup_checklist.draw_check_action(NOMIC_CHECK, "embeddings")


def _draw_section() -> None:
    work = application().library.space_work
    with st.container(border=True):
        _draw_embedder_choice()
        for report in application().library.spaces.statuses():
            _draw_space(report)
        notice = work.fault or application().library.spaces.active_embedder.known_fault()
        if notice:
            st.markdown(f":orange[:material/warning:] {markdown.escape_line(translate_text(notice))}")


def _draw_embedder_choice() -> None:
    app = application()
    switch = app.library.space_work.choose
    answering = app.library.spaces.active_embedder
    chosen, overruled = answering.choices().chosen, answering.overruled()
    is_locked = app.settings.embedder not in ("", "auto")
    origin: ValueOrigin = "environment" if is_locked else "saved" if chosen else "default"
    wanted = app.embedders.wanted()
    meaning, variable = translate_text(wanted.reason), ""
    if overruled:
        meaning = _("CRAG_EMBEDDER is {overruled}, but you switched back to {label}.").format(
            overruled=overruled, label=translate_text(wanted.label)
        )
    elif is_locked:
        meaning, variable = "", "CRAG_EMBEDDER"
    with setting_row.lay_out_row(_("Embedder"), meaning, origin, variable):
        names = {choice.name: translate_text(choice.label) for choice in [*server_status().embedders, wanted]}
        options = [_AUTOMATIC, *names]
        st.selectbox(
            _("Embedder"),
            options,
            index=options.index(wanted.name if chosen or is_locked else _AUTOMATIC),
            format_func=lambda name: (
                names[name] if name else _("Automatic ({label})").format(label=translate_text(wanted.label))
            ),
            disabled=is_locked,
            label_visibility="collapsed",
            key=f"embedder-{chosen}",
            on_change=lambda: switch(st.session_state[f"embedder-{chosen}"]),
        )
        if overruled:
            st.button(
                _("Use {overruled}").format(overruled=markdown.escape_line(overruled)),
                type="tertiary",
                on_click=switch,
                args=(overruled,),
            )
        elif chosen and not is_locked:
            st.button(
                _("Back to default"),
                icon=":material/undo:",
                type="tertiary",
                on_click=switch,
                args=(_AUTOMATIC,),
            )


def _draw_space(report: SpaceStatus) -> None:
    spaces, work = application().library.spaces, application().library.space_work
    name = markdown.escape_line(translate_text(embedder_label(report.space.name)), 60)
    facts = f"{format_count(report.space.dimension, 'dimension')} · {format_count(report.vectors, 'passage')}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        counts = _("meaning weighs {share:.0%}, {weight_origins}").format(
            share=report.weight.share, weight_origins=_(WEIGHT_ORIGINS[report.weight.origin])
        )
        state = f" · {_('in use')} · {counts}" if report.state == "answering" else ""
        st.markdown(f"{_STATE_ICONS[report.state]} {name} {labels.grey_text(f'{facts}{state}')}", width="content")
        if report.state == "building":
            st.button(_("Cancel"), type="tertiary", key="cancel-space", on_click=work.cancel)
        elif report.state == "kept":
            with st.container(horizontal=True, width="content"):
                if report.space == spaces.previous_space():
                    st.button(
                        _("Go back to {name}").format(name=name),
                        type="tertiary",
                        key="space-back",
                        on_click=work.go_back,
                    )
                drop = f"drop-{report.space.id}"
                st.button(
                    _("Remove"),
                    type="tertiary",
                    key=drop,
                    on_click=spaces.drop,
                    args=(report.space.id,),
                )
    if report.state == "building":
        made = max(report.vectors, _vectors_made(work.progress, report.passages))
        caption = _("{made} of {passages} passages; the current embeddings stay in use until it is done").format(
            made=format_number(made), passages=format_number(report.passages)
        )
        st.progress(progress_share(made, report.passages), text=labels.grey_text(caption))


def _vectors_made(progress: Progress | None, passages: int) -> int:
    """Return how many passages have a vector, counting those this process has not stored yet.

    Vectors are stored in batches, so the database lags behind.
    """
    lacking = progress.total - progress.done if progress and progress.total else passages
    return max(0, passages - lacking)
