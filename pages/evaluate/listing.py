"""Sidebar of the page: evaluations, newest first, and datasets."""

from __future__ import annotations

import streamlit as st

from crag.evaluate import signs
from crag.evaluate.datasets.examples import Dataset
from crag.evaluate.values import Evaluation
from crag.moments import day_and_minute
from pages.evaluate import chosen, dataset_view, reading
from pages.inspect.signs import icon
from pages.parts import dialogs, markdown, words
from pages.parts.person import person
from pages.parts.resources import application

_FEW, _MOST = 12, 200
_ALL = "evaluations_all"
_DATASET_ICONS = {"builtin": "auto_stories", "pinned": "keep", "uploaded": "table_rows"}


def draw(evaluation_id: str, *, is_overview: bool) -> None:
    """Draw both lists; `evaluation_id` is the selected evaluation, empty for none."""
    with st.container(gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            st.markdown("**Evaluations**", width="content")
            if not is_overview:
                st.button("New", icon=":material/add:", type="tertiary", key="evaluate-new", on_click=chosen.leave)
        _draw_evaluations(evaluation_id)
    draw_datasets()


def draw_datasets() -> None:
    """Draw the datasets and the Upload button."""
    with st.container(gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            st.markdown("**Datasets**", width="content")
            st.button(
                "Upload",
                icon=":material/upload:",
                type="tertiary",
                key="evaluate-upload",
                on_click=dialogs.ask,
                args=(dataset_view.UPLOAD,),
            )
        for dataset in reading.datasets():
            _draw_dataset(dataset)


def _draw_evaluations(evaluation_id: str) -> None:
    limit = _MOST if st.session_state.get(_ALL) else _FEW
    found = application().evaluations.list(person(), limit + 1)
    if not found:
        st.caption("None yet. Choose a dataset and run it.")
    with st.container(gap="xsmall"):
        for one in found[:limit]:
            _draw_evaluation(one, is_chosen=one.id == evaluation_id)
    if limit == _FEW < len(found):
        st.button("Show more", icon=":material/expand_more:", type="tertiary", on_click=_show_all)


def _show_all() -> None:
    st.session_state[_ALL] = True


def _draw_evaluation(one: Evaluation, *, is_chosen: bool) -> None:
    title = markdown.label(one.name, 80)
    with st.container(gap=None):
        st.button(
            f"{icon(signs.STATES[one.state])} {f'**{title}**' if is_chosen else title}",
            key=f"evaluation-{one.id}",
            type="tertiary",
            wrap=False,
            on_click=chosen.open_evaluation,
            args=(one.id,),
        )
        done = f"{one.done:,} of {words.count(one.total, 'answer')}" if one.done < one.total else ""
        facts = [signs.STATES[one.state].word, done or words.count(one.total, "answer"), day_and_minute(one.started_at)]
        st.caption(" · ".join(facts), wrap=False)


def _draw_dataset(dataset: Dataset) -> None:
    count = words.count(len(dataset.examples), "question")
    st.button(
        f"{markdown.label(dataset.name, 60)} {words.grey(count)}",
        icon=f":material/{_DATASET_ICONS[dataset.kind]}:",
        key=f"dataset-{dataset.id}",
        type="tertiary",
        wrap=False,
        on_click=dialogs.ask,
        args=(dataset_view.LOOK, dataset.id),
    )
