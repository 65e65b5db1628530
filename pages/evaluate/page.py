"""Evaluate page: run a dataset through chosen options, show the figures and compare evaluations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from crag.translation import _
from pages.evaluate import (
    comparison,
    dataset,
    evaluation_list,
    pinned_questions,
    result,
    result_head,
    selection,
    start,
    start_options,
)
from pages.evaluate.results import ComparedVariant
from pages.parts import dialogs
from pages.parts.layout import draw_sidebar_opener
from pages.parts.routes import Page
from pages.parts.session import is_phone

_DIALOGS: dict[str, Callable[[Any], None]] = {
    start_options.OPTIONS_DIALOG: start_options.draw_options_dialog,
    dataset.UPLOAD_DIALOG: dataset.draw_upload_dialog,
    dataset.DATASET_DIALOG: dataset.draw_dataset_dialog,
    dataset.DELETE_DATASET_DIALOG: dataset.draw_delete_dataset_dialog,
    selection.DELETE_EVALUATIONS_DIALOG: evaluation_list.draw_delete_evaluations_dialog,
    result_head.RENAME_DIALOG: result_head.draw_rename_dialog,
    start.JUDGE_DIALOG: start.draw_judge_dialog,
    result_head.EXPORT_DIALOG: result_head.draw_export_dialog,
}


def main() -> None:
    """Draw a comparison, one evaluation or the overview; on a phone, a back button in place of the sidebar."""
    evaluation_id, compared = selection.read_address()
    is_overview = not (evaluation_id or compared)
    if is_phone():
        if not is_overview:
            _draw_back_button()
    else:
        if evaluation_id:
            draw_sidebar_opener(_("Evaluations"))
        with st.sidebar:
            evaluation_list.draw_sidebar("" if compared else evaluation_id, is_overview=is_overview)
    if compared:
        _draw_comparison(compared)
    elif evaluation_id:
        result.draw_evaluation(evaluation_id)
    else:
        _draw_overview()
    dialogs.draw_open_dialog(_DIALOGS)


def _draw_back_button() -> None:
    st.button(_("All evaluations"), icon=":material/arrow_back:", type="tertiary", on_click=selection.show_overview)


def _draw_comparison(compared: list[ComparedVariant]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(_("Comparison"), anchor=False, width="content")
        if not is_phone():
            _draw_back_button()
    comparison.draw_comparison(compared)


def _draw_overview() -> None:
    st.title(Page.EVALUATE.title, anchor=False)
    st.caption(_("Ask many questions whose answers you know, and see how many are answered right."))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        start.draw_start_card()
    below = st.container()
    with below:
        evaluation_list.draw_evaluation_table()
        if is_phone():
            evaluation_list.draw_datasets()
    with right:  # last, because checking what has changed may take a moment
        pinned_questions.draw_pinned_questions()


main()
