"""Risk–coverage curve of an evaluation, from which a threshold can be chosen and used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.errors import NotFound
from crag.evaluation.chart_data import RiskCurve, RiskPoint, compute_risk_curve
from crag.evaluation.metrics import METRICS, format_metric_value
from crag.evaluation.statistics import bootstrap_interval, ratio_statistic
from crag.evaluation.threshold_proposal import Calibration, ProbeScore, ThresholdProposal
from crag.evaluation.types import Evaluation, EvaluationResult
from crag.runs.trace import Trace
from crag.text.formatting import format_count, format_number, format_score
from crag.translation import N_, _
from crag.types import Thresholds
from pages.evaluate import results
from pages.parts import score_chart
from pages.parts.services import application

_HEIGHT = 320
_MAX_ROWS = 6
_MIN_POINTS = 2
_MEASURED, _CHOSEN, _OTHER = N_("as measured"), N_("chosen"), N_("other")
_STYLES = {
    _MEASURED: ("#6079d6", "square"),
    _CHOSEN: ("#c27116", "diamond"),
    _OTHER: (score_chart.RULE_COLOUR, "circle"),
}
_INTRODUCTION = N_(
    "A question is declined if no passage scores above a threshold. Decline more, and fewer of the answers that remain "
    "are wrong: the risk–coverage curve. Choose a point on it to see what a threshold would cost."
)


def draw_risk_coverage(evaluation: Evaluation, variant: int) -> None:
    """Draw curve, table and the chosen point; runs as a fragment. Draws nothing if no threshold changes anything."""
    own = results.load_results(evaluation, variant)
    trace = load_graded_trace(own)
    if trace is None or trace.thresholds is None:
        return
    curve = compute_risk_curve(own, results.load_cutoffs(), trace.thresholds.lower)
    if len(curve.points) < _MIN_POINTS:
        return
    key = f"risk-{evaluation.id}-{variant}"
    st.header(_("When to decline"), anchor=False)
    st.caption(_(_INTRODUCTION))
    left, right = st.columns(2, gap="medium")
    with right:
        _draw_table(curve)
        chosen = _choose_point(curve, key)
    with left:
        _draw_curve(curve, chosen, key)
    if chosen != curve.points[0]:
        _draw_chosen_point(curve, chosen, own, trace)


def load_graded_trace(own: Sequence[EvaluationResult]) -> Trace | None:
    """Return the first run with a grader and thresholds; None if there is none, or it was deleted."""
    graded = next((result for result in own if result.scored.best is not None), None)
    try:
        return application().runs.trace(graded.run_id) if graded else None
    except NotFound:
        return None


def _choose_point(curve: RiskCurve, key: str) -> RiskPoint:
    """Draw the slider; a click on the curve moves it."""
    points = {point.threshold: point for point in curve.points}
    if st.session_state.get(key) not in points:
        st.session_state.pop(key, None)
    return points[st.select_slider(_("Decline below"), list(points), format_func=format_score, key=key)]


def _draw_curve(curve: RiskCurve, chosen: RiskPoint, key: str) -> None:
    chart_key = f"{key}-chart"

    def take() -> None:
        if picked := st.session_state[chart_key].selection.get("picked"):
            st.session_state[key] = picked[0]["threshold"]

    start, end = (
        _("{coverage} answered, {risk:.0%} of these wrong").format(coverage=_coverage(curve, point), risk=point.risk)
        for point in (curve.points[0], curve.points[-1])
    )
    st.vega_lite_chart(
        _curve_spec(curve, chosen),
        width="stretch",
        height=_HEIGHT,
        key=chart_key,
        on_select=take,
        alt=_("Risk–coverage curve, from {start} to {end}").format(start=start, end=end),
    )


def _curve_spec(curve: RiskCurve, chosen: RiskPoint) -> dict[str, Any]:
    values = [
        {
            "threshold": point.threshold,
            "answered": point.answered / curve.questions,
            "wrong": point.risk,
            "balance": point.truthfulness,
            "kind": _((_CHOSEN if point == chosen else _OTHER) if number else _MEASURED),
        }
        for number, point in enumerate(curve.points)
    ]
    share = {"type": "quantitative", "axis": {"format": ".0%", "tickCount": 5}}
    x = {"field": "answered", **share, "title": _("share of questions answered"), "scale": {"domain": [0, 1]}}
    y = {"field": "wrong", **share, "title": _("share of wrong answers"), "scale": {"domainMin": 0}}
    colours, shapes = zip(*_STYLES.values(), strict=True)
    legend = {"title": None, "orient": "top", "symbolSize": 90}
    scales = {"domain": [*map(_, _STYLES)]}
    select = {"type": "point", "fields": ["threshold"], "nearest": True, "toggle": False}
    return {
        "data": {"values": values},
        "encoding": {"x": x, "y": y},
        "layer": [
            {"mark": {"type": "line", "color": score_chart.RULE_COLOUR, "strokeWidth": 2}},
            {
                "params": [{"name": "picked", "select": select}],
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {
                    "color": {"field": "kind", "scale": {**scales, "range": colours}, "legend": legend},
                    "shape": {"field": "kind", "scale": {**scales, "range": shapes}, "legend": legend},
                    "size": {"condition": {"test": f"datum.kind === '{_(_OTHER)}'", "value": 40}, "value": 160},
                    "tooltip": [
                        {"field": "threshold", "title": _("decline below")},
                        {"field": "answered", "format": ".1%"},
                        {"field": "wrong", "format": ".1%", "title": _("wrong among these")},
                        {"field": "balance", "format": ".1%", "title": _(METRICS["truthfulness"].title)},
                    ],
                },
            },
        ],
    }


def _draw_table(curve: RiskCurve) -> None:
    """Draw some points from full to little coverage, and the one with most right minus wrong answers."""
    spaced = {round(step * (len(curve.points) - 1) / (_MAX_ROWS - 1)) for step in range(_MAX_ROWS)}
    best = max(range(len(curve.points)), key=lambda number: curve.points[number].truthfulness)
    rows = [curve.points[number] for number in sorted(spaced | {best})]
    columns = {
        _("Decline below"): [format_score(point.threshold) for point in rows],
        _("Answered"): [_coverage(curve, point) for point in rows],
        _("Wrong of these"): [f"{point.risk:.1%}" for point in rows],
        _(METRICS["truthfulness"].title): [format_metric_value("truthfulness", point.truthfulness) for point in rows],
    }
    alt = _("Share of questions answered and share of wrong answers by threshold; the first row is as measured")
    st.table(columns, border="horizontal", hide_index=True, alt=alt)


def _coverage(curve: RiskCurve, point: RiskPoint) -> str:
    return f"{point.answered / curve.questions:.0%}"


def _draw_chosen_point(curve: RiskCurve, chosen: RiskPoint, own: Sequence[EvaluationResult], trace: Trace) -> None:
    """Say what the chosen threshold would do and on how many questions that rests, and offer to use it."""
    measured = curve.points[0]
    risk = bootstrap_interval(ratio_statistic(*_wrong_and_given(chosen)), chosen.answered, (0.0, 1.0))
    now, then = (format_metric_value("truthfulness", point.truthfulness) for point in (measured, chosen))
    st.markdown(
        _(
            "Declining below **{threshold}**: {answered} of {questions} are answered, **{risk:.1%}** "
            "of these answers are wrong (95%: {low:.1%}–{high:.1%}; as measured {risk2:.1%}), and "
            "right minus wrong is **{then}** (as measured {now})."
        ).format(
            threshold=format_score(chosen.threshold),
            answered=format_number(chosen.answered),
            questions=format_count(curve.questions, "question"),
            risk=chosen.risk,
            low=risk.low,
            high=risk.high,
            risk2=measured.risk,
            then=then,
            now=now,
        )
    )
    st.caption(
        _(
            "Based on {answers}, {wrong} of them wrong. The threshold is chosen with the same questions, so "
            "this is optimistic: expect more errors with others. Questions that this evaluation declined "
            "stay declined."
        ).format(answers=format_count(chosen.answered, "answer"), wrong=format_number(chosen.wrong))
    )
    _draw_use_button(chosen, own, trace)


def _wrong_and_given(point: RiskPoint) -> tuple[list[float], list[float]]:
    return [1.0] * point.wrong + [0.0] * (point.answered - point.wrong), [1.0] * point.answered


def _draw_use_button(chosen: RiskPoint, own: Sequence[EvaluationResult], trace: Trace) -> None:
    before = trace.thresholds or Thresholds(0.0, 0.0)
    wanted = Thresholds(chosen.threshold, max(chosen.threshold, before.upper))
    saved = application().calibration.saved.load(trace.options.collection, trace.grader)
    if saved == wanted:
        st.markdown(_(":green[:material/check_circle:] In use. Go back to the default under Documents, Calibrate."))
    else:
        st.button(
            _("Use this threshold"),
            icon=":material/check:",
            key="use-threshold",
            on_click=_use_thresholds,
            args=(own, trace, wanted),
        )


def _use_thresholds(own: Sequence[EvaluationResult], trace: Trace, wanted: Thresholds) -> None:
    application().calibration.save(_as_calibration(own, trace), wanted)


def _as_calibration(own: Sequence[EvaluationResult], trace: Trace) -> Calibration:
    """Return the evaluation as a measurement of its grader: the questions known to be answerable or not."""
    scored = [
        ProbeScore(one.example.question, "given", answerable, one.scored.best)
        for one in own
        if one.scored.best is not None and (answerable := one.example.can_be_answered) is not None
    ]
    before = trace.thresholds or Thresholds(0.0, 0.0)
    return Calibration(trace.options.collection, trace.grader, before, scored, ThresholdProposal(None), time.time())
