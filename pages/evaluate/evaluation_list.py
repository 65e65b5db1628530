"""List and table of all evaluations, with open, compare and delete."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.evaluation import metrics
from crag.evaluation.metrics import METRICS, format_figure_briefly
from crag.evaluation.types import Dataset, Evaluation
from crag.models.model_choice import model_label
from crag.text import sanitization
from crag.text.formatting import format_count, format_date_time, format_number, to_local_time
from crag.translation import _, translate_text
from pages.evaluate import results, selection
from pages.evaluate.dataset import DATASET_DIALOG, UPLOAD_DIALOG
from pages.evaluate.selection import DELETE_EVALUATIONS_DIALOG
from pages.parts import dialogs, labels, layout, markdown
from pages.parts.labels import badge_icon
from pages.parts.services import application
from pages.parts.session import is_phone

_SHORT_LIST_LENGTH, _MAX_IN_SIDEBAR = 12, 200
_SHOW_ALL_KEY = "evaluations_all"
_DATASET_ICONS = {"builtin": "auto_stories", "pinned": "keep", "uploaded": "table_rows"}


def draw_sidebar(evaluation_id: str, *, is_overview: bool) -> None:
    """Draw both lists; `evaluation_id` is the selected evaluation, empty for none."""
    with st.container(gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            st.markdown(_("**Evaluations**"), width="content")
            if not is_overview:
                st.button(
                    _("New evaluation"),
                    icon=":material/add:",
                    type="tertiary",
                    key="evaluation-new",
                    on_click=selection.show_overview,
                )
        _draw_evaluation_buttons(evaluation_id)
    draw_datasets()


def draw_datasets() -> None:
    """Draw the datasets and the Upload button."""
    with st.container(gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            st.markdown(_("**Datasets**"), width="content")
            dialogs.draw_opener(_("Upload"), ":material/upload:", UPLOAD_DIALOG, type="tertiary", key="evaluate-upload")
        st.caption(_("Lists of questions, best with the answers you expect."))
        for dataset in results.load_datasets():
            _draw_dataset_button(dataset)


def _draw_evaluation_buttons(evaluation_id: str) -> None:
    limit = _MAX_IN_SIDEBAR if st.session_state.get(_SHOW_ALL_KEY) else _SHORT_LIST_LENGTH
    found = application().evaluations.list(limit + 1)
    if not found:
        st.caption(_("No evaluations yet. Choose a dataset and run it."))
    with st.container(gap="xsmall"):
        for one in found[:limit]:
            _draw_evaluation_button(one, is_chosen=one.id == evaluation_id)
    if limit == _SHORT_LIST_LENGTH < len(found):
        st.button(_("Show more"), icon=":material/expand_more:", type="tertiary", on_click=_show_all)


def _show_all() -> None:
    st.session_state[_SHOW_ALL_KEY] = True


def _draw_evaluation_button(one: Evaluation, *, is_chosen: bool) -> None:
    title = markdown.escape_line(one.name, 80)
    with st.container(gap=None):
        st.button(
            f"{badge_icon(metrics.STATE_BADGES[one.state])} {f'**{title}**' if is_chosen else title}",
            key=f"evaluation-{one.id}",
            type="tertiary",
            wrap=False,
            on_click=selection.open_evaluation,
            args=(one.id,),
        )
        done = (
            _("{done} of {answers}").format(done=format_number(one.done), answers=format_count(one.total, "answer"))
            if one.done < one.total
            else ""
        )
        facts = [
            metrics.STATE_BADGES[one.state].word,
            done or format_count(one.total, "answer"),
            format_date_time(one.started_at),
        ]
        st.caption(" · ".join(facts), wrap=False)


def _draw_dataset_button(dataset: Dataset) -> None:
    count = format_count(len(dataset.examples), "question")
    label, icon = (
        f"{markdown.escape_line(translate_text(dataset.name), 60)} {labels.grey_text(count)}",
        _DATASET_ICONS[dataset.kind],
    )
    looks = {"key": f"dataset-{dataset.id}", "type": "tertiary", "wrap": False}
    dialogs.draw_opener(label, f":material/{icon}:", DATASET_DIALOG, dataset.id, **looks)


_MAX_IN_TABLE = 100
_SUMMARY_BUDGET_SECONDS, _REFRESH_SECONDS = 0.2, 1.0
_MAX_NAMED = 8
_VISIBLE_ROWS = 12


def draw_evaluation_table() -> None:
    """Draw the table, newest first, with actions for selected rows; missing figures are filled in by later reruns."""
    found = application().evaluations.list(_MAX_IN_TABLE)
    if not found:
        return
    st.header(_("Evaluations"), anchor=False)
    _load_summaries(found)
    # Streamlit keeps a selection by row number, so a changed list needs a new key or other rows would be selected.
    state: Any = st.dataframe(
        _table_columns(found),
        key=f"evaluations-{hash(tuple(one.id for one in found))}",
        hide_index=True,
        on_select="rerun",
        selection_mode="multi-row",
        height=layout.table_height(len(found), _VISIBLE_ROWS),
        alt=_("Table of {evaluations}").format(evaluations=format_count(len(found), "evaluation")),
        column_config=_column_config(found),
    )
    selected = [found[row] for row in state.selection.rows if row < len(found)]
    if selected:
        _draw_selection_actions(selected)
    else:
        st.caption(_("Click a name to open it; tick two or more to compare them."))
    if not all(map(_has_figures, found)):
        st.fragment(_load_missing_summaries, run_every=_REFRESH_SECONDS)(found)


def _has_figures(one: Evaluation) -> bool:
    """Return whether no figures are missing; a running evaluation shows none in this table."""
    return not one.done or one.state in results.ACTIVE_STATES or results.has_cached_summary(one)


def _load_summaries(found: Sequence[Evaluation]) -> None:
    """Summarize evaluations until the time budget is used up; 1,000 answers take about half a second."""
    end = time.monotonic() + _SUMMARY_BUDGET_SECONDS
    for one in found:
        if not _has_figures(one) and time.monotonic() < end:
            results.load_summary(one, 0)


def _load_missing_summaries(found: Sequence[Evaluation]) -> None:
    """Load missing figures in a later fragment run, and redraw the page if any were added."""
    before = sum(map(_has_figures, found))
    _load_summaries(found)
    if sum(map(_has_figures, found)) > before:
        st.rerun()


def _draw_selection_actions(selected: Sequence[Evaluation]) -> None:
    with st.container(horizontal=True):
        if len(selected) == 1:
            st.button(
                _("Open"),
                icon=":material/analytics:",
                key="open-evaluation",
                on_click=selection.open_evaluation,
                args=(selected[0].id,),
            )
        else:
            st.button(
                _("Compare these {selected}").format(selected=len(selected)),
                icon=":material/compare_arrows:",
                on_click=selection.select_variants,
                args=([results.variant_key(one, 0) for one in sorted(selected, key=lambda one: one.started_at)],),
            )
        label, ids = (
            _("Delete {evaluations}").format(evaluations=format_count(len(selected), "evaluation")),
            [one.id for one in selected],
        )
        dialogs.draw_opener(label, ":material/delete:", DELETE_EVALUATIONS_DIALOG, ids, type="tertiary")


def _table_columns(found: Sequence[Evaluation]) -> dict[str, list[Any]]:
    name = {
        _("Evaluation"): [sanitization.strip_invisible(one.name) for one in found],
        _("Right"): [_headline_figure(one) for one in found],
    }
    if is_phone():
        return name | {_("Right"): [_headline_figure(one) or metrics.STATE_BADGES[one.state].word for one in found]}
    return {
        **name,
        _("Dataset"): [sanitization.strip_invisible(translate_text(one.dataset)) for one in found],
        _("Model"): [sanitization.strip_invisible(_model_name(one)) for one in found],
        _("State"): [[metrics.STATE_BADGES[one.state].word] for one in found],
        _("When"): [to_local_time(one.started_at) for one in found],
    }


def _column_config(found: Sequence[Evaluation]) -> dict[str, Any]:
    states, headline = metrics.STATE_BADGES.values(), METRICS["truthfulness"]
    config = st.column_config
    return {
        _("Evaluation"): layout.link_column(
            lambda row: selection.open_evaluation(found[row].id), "clicked_evaluation", 135 if is_phone() else 200
        ),
        _("Right"): config.TextColumn(_(headline.title), width=185, help=_(headline.meaning)),
        _("Dataset"): config.TextColumn(width=150),
        _("Model"): config.TextColumn(width=110),
        _("State"): config.MultiselectColumn(
            options=[one.word for one in states], color=[one.colour for one in states], width=90
        ),
        _("When"): config.DatetimeColumn(format="D MMM YYYY, HH:mm", width=130),
    }


def _headline_figure(one: Evaluation) -> str:
    """Return right minus wrong answers of the first variant, with interval and n."""
    if not one.done or one.state in results.ACTIVE_STATES:
        return ""
    if not results.has_cached_summary(one):
        return "…"
    figure = results.load_summary(one, 0).figures.get("truthfulness")
    if figure is None:
        return _("not measured")
    return format_figure_briefly(figure)


def _model_name(one: Evaluation) -> str:
    first = one.variants[0]
    return translate_text(model_label(first.environment.model or first.options.model))


def draw_delete_evaluations_dialog(ids: Sequence[str]) -> None:
    """Ask for confirmation and name the evaluations to delete."""
    dialogs.confirm(
        _("Delete {evaluations}?").format(evaluations=format_count(len(ids), "evaluation")),
        lambda: _draw_evaluations_to_delete(ids),
        _("Delete"),
        lambda: _delete_evaluations(ids),
    )


def _draw_evaluations_to_delete(ids: Sequence[str]) -> None:
    for one in [one for one in application().evaluations.list(_MAX_IN_TABLE) if one.id in ids][:_MAX_NAMED]:
        st.markdown(f"**{markdown.escape_line(one.name, 100)}** {labels.grey_text(format_count(one.done, 'answer'))}")
    if len(ids) > _MAX_NAMED:
        st.caption(_("and {ids} more").format(ids=format_number(len(ids) - _MAX_NAMED)))
    st.caption(_("Their answers and runs are deleted permanently. The datasets are kept."))


def _delete_evaluations(ids: Sequence[str]) -> None:
    for evaluation_id in ids:
        application().evaluations.delete(evaluation_id)
    selection.show_overview()
