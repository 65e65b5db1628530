"""Page Calibrate: measures how well a grader separates answers from non-answers, and sets its thresholds."""

from __future__ import annotations

import streamlit as st

from crag.calibration import Plan
from crag.calibration.calibrator import MOST_PROBES
from crag.calibration.proposal import LEAST
from crag.options import GraderKind, RunOptions
from pages.calibration import measured, use
from pages.parts import heading, markdown, words
from pages.parts.resources import application

_EVERYTHING = "All documents"
_AGAIN_SECONDS = 1.0
_MEANING = (
    "A grader's scores turn into verdicts at two thresholds. Here you see what it scores where your documents hold"
    " the answer and where they do not, and choose where the thresholds lie. Nothing changes until you use them."
)
_LEGEND = {
    "Answered": "questions made from passages of the collection",
    "Not answered": "the same with their document hidden, with a fact of another passage, or from other collections",
    "Yours": "passages that you overruled count, too",
    "Relevant": "from the upper threshold on: your documents answer",
    "Irrelevant": "below the lower one: they do not, and the answer says so",
}


def main() -> None:
    """Draw the page."""
    heading.legend("How it is measured", _LEGEND)
    heading.draw("Calibrate", _MEANING)
    if not application().library.size():
        st.caption("The library is empty: add documents first, then measure here how well they are judged.")
        return
    options, plan = _choose()
    busy = application().measuring.progress is not None
    st.fragment(_measure, run_every=_AGAIN_SECONDS if busy else None)(options, plan, busy)
    if result := application().measuring.result:
        st.fragment(measured.draw)(result)
    use.draw()


def _choose() -> tuple[RunOptions, Plan]:
    """Draw the choice of collection, grader and number of questions, and return it."""
    names = [collection.name for collection in application().library.collections() if collection.passages]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        collection = st.selectbox("Collection", [_EVERYTHING, *names], key="calibration_collection", width=260)
        kinds: list[GraderKind] = [*words.GRADERS]
        grader = st.selectbox(
            "Grader", kinds, format_func=lambda kind: words.GRADERS[kind][0], key="calibration_grader", width=180
        )
        count = st.number_input(
            "Questions of either kind", LEAST, MOST_PROBES, None, placeholder="Automatic", key="probes", width=190
        )
    within = "" if collection == _EVERYTHING else collection
    return RunOptions(collection=within, grader=grader), Plan(count=int(count or 0))


def _measure(options: RunOptions, plan: Plan, was_busy: bool) -> None:
    """Draw the button, or the progress of the measurement, refreshed every second while it runs."""
    measuring = application().measuring
    progress = measuring.progress
    if was_busy != (progress is not None):
        st.rerun()
    if progress is None:
        st.button("Measure", icon=":material/straighten:", key="measure", on_click=_begin, args=(options, plan))
        if measuring.fault:
            st.markdown(f":orange[:material/info:] {markdown.label(measuring.fault)}")
        return
    share = min(1.0, progress.done / progress.total) if progress.total else 0.0
    counted = f" {progress.done:,} of {progress.total:,}" if progress.total else ""
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.progress(share, text=words.grey(markdown.label(f"{progress.stage}{counted}")))
        st.button("Stop", icon=":material/stop:", key="stop-measuring", on_click=measuring.cancel)


def _begin(options: RunOptions, plan: Plan) -> None:
    calibration = application().calibration
    application().measuring.begin(lambda report, stop: calibration.run(options, plan, report, stop))
    st.rerun()


main()
