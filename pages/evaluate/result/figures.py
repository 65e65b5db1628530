"""Figures of an evaluation, each with its interval and number of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.summary import Summary
from crag.evaluate.figures.wording import interval_in_words, value_in_words
from crag.evaluate.values import Evaluation, Figure
from pages.evaluate import reading
from pages.parts import words

_FIRST = ("answer_right", "steps_match", "refusal_right", "seconds")
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Answers": ("answer_right", "judged", "contained", "token_f1", "mentions", "avoids"),
    "Route and refusals": ("steps_match", "action_match", "refusal_right", "answered", "refused"),
    "Retrieval": ("recall", "reciprocal_rank"),
    "Grader": ("grader_precision", "grader_recall", "grader_auc"),
    "Citations": ("supported", "cited"),
    "Cost": ("seconds", "tokens"),
}
_HEAD_ROWS = 3  # height of a heading in table rows
_NOTE = (
    "95% interval: where the figure would mostly lie with other questions of this kind (95% of bootstrap samples). "
    "n: how many questions it rests on."
)


def draw(evaluation: Evaluation, variant: int) -> None:
    """Draw the main figures as cards, then all figures by group."""
    summary = reading.summary(evaluation, variant)
    if not summary.figures:
        st.caption("No figures: not one question was answered.")
        return
    draw_first(evaluation, variant)
    groups = {title: _known(names, summary) for title, names in _GROUPS.items()}
    _draw_groups({title: found for title, found in groups.items() if found})
    _draw_nodes(summary)
    failed = f" {words.count(summary.failed, 'answer')} failed and count as wrong." if summary.failed else ""
    st.caption(f"{_NOTE}{failed}")


def draw_first(evaluation: Evaluation, variant: int) -> None:
    """Draw the main figures as cards; also used while the evaluation runs."""
    figures = reading.summary(evaluation, variant).figures
    with st.container(horizontal=True):
        for figure in (figures[name] for name in _FIRST if name in figures):
            metric = METRICS[figure.metric]
            st.metric(
                metric.title,
                value_in_words(figure.metric, figure.value),
                delta=f"{interval_in_words(figure)} · n = {figure.n:,}",
                delta_color="off",
                delta_arrow="off",
                help=metric.meaning,
                border=True,
            )


def _known(names: Sequence[str], summary: Summary) -> list[Figure]:
    return [summary.figures[name] for name in names if name in summary.figures]


def _draw_groups(groups: Mapping[str, Sequence[Figure]]) -> None:
    """Draw the groups in two columns of similar height."""
    heights = [0, 0]
    columns = st.columns(len(heights), gap="medium")
    for title, figures in groups.items():
        place = heights.index(min(heights))
        heights[place] += len(figures) + _HEAD_ROWS
        with columns[place]:
            st.header(title, anchor=False, help=_meanings(figures))
            st.table(_rows(figures), border="horizontal", hide_index=True, alt=f"Figures: {title}")


def _meanings(figures: Sequence[Figure]) -> str:
    return "\n\n".join(f"**{METRICS[one.metric].title}** {METRICS[one.metric].meaning}" for one in figures)


def _rows(figures: Sequence[Figure]) -> dict[str, list[str]]:
    return {
        "Figure": [METRICS[one.metric].title for one in figures],
        "Value": [f"**{value_in_words(one.metric, one.value)}**" for one in figures],
        "95% interval": [words.unbroken(interval_in_words(one)) for one in figures],
        "n": [f"{one.n:,}" for one in figures],
    }


def _draw_nodes(summary: Summary) -> None:
    """Draw average time and tokens of each step."""
    if not summary.nodes:
        return
    with st.expander("Time and tokens of each step", type="compact"):
        st.table(
            {
                "Step": [words.NODES.get(node, node) for node in summary.nodes],  # type: ignore[call-overload]
                "Time": [words.duration(cost.seconds) for cost in summary.nodes.values()],
                "Tokens read": [f"{cost.prompt_tokens:,.0f}" for cost in summary.nodes.values()],
                "Tokens written": [f"{cost.answer_tokens:,.0f}" for cost in summary.nodes.values()],
            },
            border="horizontal",
            hide_index=True,
            width="content",
            alt="What each step takes on average",
        )
        st.caption("On average over all answers, also over those that a step had no part in.")
