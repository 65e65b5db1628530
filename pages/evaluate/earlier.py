"""Table of all evaluations with their results; selected rows can be opened, compared or deleted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.evaluate import signs
from crag.evaluate.figures.wording import brief_in_words
from crag.evaluate.values import Evaluation
from crag.models.choice import model_label
from crag.moments import local
from pages.evaluate import chosen, reading
from pages.evaluate.comparison import sides
from pages.evaluate.result import progress
from pages.parts import dialogs, markdown, refusals, tables, words
from pages.parts.device import is_phone
from pages.parts.person import person
from pages.parts.resources import application

DELETE = "delete evaluations"
_MOST = 100
_MOMENT_SECONDS, _AGAIN_SECONDS = 0.2, 1.0
_NAMED = 8
_MOST_ROWS = 12


def draw() -> None:
    """Draw the table, newest first, with actions for selected rows; missing figures are filled in by later reruns."""
    found = application().evaluations.list(person(), _MOST)
    if not found:
        return
    st.header("Evaluations so far", anchor=False)
    _sum_up(found)
    # Streamlit keeps a selection by row number, so a changed list needs a new key or other rows would be selected.
    state: Any = st.dataframe(
        _columns(found),
        key=f"evaluations-{hash(tuple(one.id for one in found))}",
        hide_index=True,
        on_select="rerun",
        selection_mode="multi-row",
        height=tables.height(len(found), _MOST_ROWS),
        alt=f"Table of {words.count(len(found), 'evaluation')}",
        column_config=_config(),
    )
    selected = [found[row] for row in state.selection.rows if row < len(found)]
    if selected:
        _draw_actions(selected)
    else:
        st.caption("Choose one to open it, two or more to compare them.")
    if not all(map(_is_known, found)):
        st.fragment(_draw_more, run_every=_AGAIN_SECONDS)(found)


def _is_known(one: Evaluation) -> bool:
    """Return whether no figures are missing; a running evaluation shows none in this table."""
    return not one.done or one.state in progress.MOVING or reading.is_summed_up(one, 0)


def _sum_up(found: Sequence[Evaluation]) -> None:
    """Summarize evaluations until the time budget is used up; 1,000 answers take about half a second."""
    end = time.monotonic() + _MOMENT_SECONDS
    for one in found:
        if not _is_known(one) and time.monotonic() < end:
            reading.summary(one, 0)


def _draw_more(found: Sequence[Evaluation]) -> None:
    """Load missing figures in a later fragment run, and redraw the page if any were added."""
    before = sum(map(_is_known, found))
    _sum_up(found)
    if sum(map(_is_known, found)) > before:
        st.rerun()


def _draw_actions(selected: Sequence[Evaluation]) -> None:
    with st.container(horizontal=True):
        if len(selected) == 1:
            st.button(
                "Open",
                icon=":material/analytics:",
                key="open-evaluation",
                on_click=chosen.open_evaluation,
                args=(selected[0].id,),
            )
        else:
            st.button(
                f"Compare these {len(selected)}",
                icon=":material/compare_arrows:",
                on_click=sides.choose,
                args=([f"{one.id}.0" for one in sorted(selected, key=lambda one: one.started_at)],),
            )
        st.button(
            f"Delete {words.count(len(selected), 'evaluation')}",
            icon=":material/delete:",
            type="tertiary",
            on_click=dialogs.ask,
            args=(DELETE, [one.id for one in selected]),
        )


def _columns(found: Sequence[Evaluation]) -> dict[str, list[Any]]:
    name = {
        "Evaluation": [markdown.visible(one.name) for one in found],
        "Right": [_right(one) for one in found],
    }
    if is_phone():
        return name | {"Right": [_right(one) or signs.STATES[one.state].word for one in found]}
    return {
        **name,
        "Dataset": [markdown.visible(one.dataset) for one in found],
        "Model": [markdown.visible(_model(one)) for one in found],
        "State": [[signs.STATES[one.state].word] for one in found],
        "When": [local(one.started_at) for one in found],
    }


def _config() -> dict[str, Any]:
    states = signs.STATES.values()
    config = st.column_config
    return {
        "Evaluation": config.TextColumn(width=135 if is_phone() else 200),
        "Right": config.TextColumn("Right answers", width=185, help="With the interval that 95% of samples lie in."),
        "Dataset": config.TextColumn(width=150),
        "Model": config.TextColumn(width=110),
        "State": config.MultiselectColumn(
            options=[one.word for one in states], color=[one.colour for one in states], width=90
        ),
        "When": config.DatetimeColumn(format="D MMM YYYY, HH:mm", width=130),
    }


def _right(one: Evaluation) -> str:
    """Return the share of right answers of the first variant, with its interval and n."""
    if not one.done or one.state in progress.MOVING:
        return ""
    if not reading.is_summed_up(one, 0):
        return "…"
    figure = reading.summary(one, 0).figures.get("answer_right")
    if figure is None:
        return "not measured"
    return brief_in_words(figure)


def _model(one: Evaluation) -> str:
    first = one.variants[0]
    return model_label(first.environment.model or first.options.model)


def draw_delete(ids: Sequence[str]) -> None:
    """Ask for confirmation and name the evaluations to delete."""
    title = f"Delete {words.count(len(ids), 'evaluation')}?"
    st.dialog(title, icon=":material/delete:", on_dismiss=dialogs.close)(_confirm)(ids)


def _confirm(ids: Sequence[str]) -> None:
    for one in [one for one in application().evaluations.list(person(), _MOST) if one.id in ids][:_NAMED]:
        st.markdown(f"**{markdown.label(one.name, 100)}** {words.grey(words.count(one.done, 'answer'))}")
    if len(ids) > _NAMED:
        st.caption(f"and {len(ids) - _NAMED:,} more")
    st.caption("They go with their answers and the runs behind them, for good. The datasets stay.")
    with st.container(horizontal=True):
        if st.button("Delete", icon=":material/delete:", key="delete-evaluations"):
            _delete(ids)
            chosen.leave()
            st.rerun()
        if st.button("Keep", type="tertiary"):
            dialogs.close_and_redraw()


def _delete(ids: Sequence[str]) -> None:
    for evaluation_id in ids:
        try:
            application().evaluations.delete(evaluation_id)
        except CragError as error:
            refusals.keep(error)
