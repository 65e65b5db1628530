"""Evaluate page: run a dataset through chosen options, show the figures and compare evaluations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.evaluate import chosen, dataset_view, earlier, judging, listing, pinned
from pages.evaluate.comparison import comparing, sides
from pages.evaluate.result import evaluation, exporting, head
from pages.evaluate.start import setting_up, starting
from pages.parts import dialogs, refusals
from pages.parts.device import is_phone

_DIALOGS: dict[str, Callable[[Any], None]] = {
    setting_up.SETTINGS: setting_up.draw_dialog,
    dataset_view.UPLOAD: dataset_view.draw_upload,
    dataset_view.LOOK: dataset_view.draw_dialog,
    dataset_view.DELETE: dataset_view.draw_delete,
    earlier.DELETE: earlier.draw_delete,
    head.RENAME: head.draw_rename,
    judging.JUDGE: judging.draw_dialog,
    exporting.EXPORT: exporting.draw_dialog,
}


def main() -> None:
    """Draw a comparison, one evaluation or the overview; on a phone, a back button in place of the sidebar."""
    refusals.tell()
    evaluation_id, compared = chosen.evaluation_id(), sides.of_address()
    is_overview = not (evaluation_id or compared)
    if is_phone():
        if not is_overview:
            _draw_way_back()
    else:
        with st.sidebar:
            listing.draw("" if compared else evaluation_id, is_overview=is_overview)
    if compared:
        _draw_comparison(compared)
    elif evaluation_id:
        evaluation.draw(evaluation_id)
    else:
        _draw_overview()
    dialogs.draw(_DIALOGS)


def _draw_way_back() -> None:
    st.button("All evaluations", icon=":material/arrow_back:", type="tertiary", on_click=chosen.leave)


def _draw_comparison(compared: list[sides.Side]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Comparison", anchor=False, width="content")
        if not is_phone():
            _draw_way_back()
    comparing.draw(compared)


def _draw_overview() -> None:
    st.title("Evaluate", anchor=False)
    st.caption("Change a model, a threshold or the size of passages, and see with figures whether it still works.")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        starting.draw()
    below = st.container()
    with below:
        earlier.draw()
        if is_phone():
            listing.draw_datasets()
    with right:  # last, because checking what has changed may take a moment
        pinned.draw()


main()
