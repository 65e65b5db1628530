"""Page Calibrate: measures how well a grader separates answers from non-answers, and sets its thresholds."""

from __future__ import annotations

import streamlit as st

from crag.evaluation.calibrator import MAX_PROBES, CalibrationPlan
from crag.evaluation.threshold_proposal import MIN_QUESTIONS_OF_EACH
from crag.options import GRADERS, RunOptions
from crag.text.formatting import format_done
from crag.translation import N_, _, translate_text
from pages.calibration import thresholds
from pages.parts import labels, layout, markdown
from pages.parts.option_controls import draw_collection_select
from pages.parts.routes import Page
from pages.parts.services import application

_REFRESH_SECONDS = 1.0
_INTRODUCTION = N_(
    "Two thresholds turn a grader's scores into verdicts. Measure which scores it gives "
    "when your documents hold the answer and when they do not, then choose the thresholds. "
    "Nothing changes until you use them."
)
_LEGEND = {
    N_("Answerable"): N_("questions made from passages of the collection"),
    N_("Not answerable"): N_(
        "the same questions with their document hidden or a fact swapped, or from other collections"
    ),
    N_("Yours"): N_("verdicts you changed count too"),
    N_("Relevant"): N_("from the upper threshold on"),
    N_("Not relevant"): N_("below the lower threshold"),
}


def main() -> None:
    """Draw the page."""
    layout.draw_sidebar_legend(_("How it is measured"), _LEGEND)
    layout.draw_heading(Page.CALIBRATION, _(_INTRODUCTION))
    if not application().library.size():
        st.caption(_("No documents yet. Add some, then measure how well the grader works on them."))
        return
    options, plan = _choose_plan()
    busy = _is_measuring()
    layout.draw_watching(
        busy, _is_measuring, _REFRESH_SECONDS if busy else None, lambda: _draw_measurement(options, plan)
    )
    if result := application().calibration.job.result:
        st.fragment(thresholds.draw_calibration)(result)
    thresholds.draw_saved_thresholds()


def _is_measuring() -> bool:
    return application().calibration.job.progress is not None


def _choose_plan() -> tuple[RunOptions, CalibrationPlan]:
    """Draw the choice of collection, grader and number of questions, and return it."""
    names = [collection.name for collection in application().library.collections() if collection.passages]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        collection = draw_collection_select(_("Collection"), names, key="calibration_collection", width=260)
        kinds = list(GRADERS)
        grader = st.selectbox(
            _("Grader"),
            kinds,
            format_func=lambda kind: _(GRADERS[kind].label),
            key="calibration_grader",
            width=180,
        )
        count = st.number_input(
            _("Questions of each kind"),
            MIN_QUESTIONS_OF_EACH,
            MAX_PROBES,
            None,
            placeholder=_("Automatic"),
            key="probes",
            width=190,
        )
    return RunOptions(collection=collection, grader=grader), CalibrationPlan(count=int(count or 0))


def _draw_measurement(options: RunOptions, plan: CalibrationPlan) -> None:
    """Draw the button, or the progress of the measurement, refreshed every second while it runs."""
    measuring = application().calibration.job
    progress = measuring.progress
    if progress is None:
        st.button(
            _("Measure"), icon=":material/straighten:", key="measure", on_click=_begin_measurement, args=(options, plan)
        )
        if measuring.fault:
            st.markdown(f":orange[:material/info:] {markdown.escape_line(translate_text(measuring.fault))}")
        return
    counted = f" {format_done(progress.done, progress.total)}" if progress.total else ""
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.progress(
            layout.progress_share(progress.done, progress.total),
            text=labels.grey_text(markdown.escape_line(f"{translate_text(progress.stage)}{counted}")),
        )
        st.button(_("Stop"), icon=":material/stop:", key="stop-measuring", on_click=measuring.cancel)


def _begin_measurement(options: RunOptions, plan: CalibrationPlan) -> None:
    calibration = application().calibration
    application().calibration.job.begin(lambda report, stop: calibration.run(options, plan, report, stop))
    st.rerun()


main()
