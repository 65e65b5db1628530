"""Start card of an evaluation: questions, options, repetitions and judge, then cost and outbound data."""

from __future__ import annotations

import streamlit as st

from crag.evaluate.datasets import portions
from crag.evaluate.datasets.examples import Dataset
from crag.evaluate.datasets.seed import SEED
from crag.evaluate.evaluations import MOST_REPETITIONS
from crag.evaluate.values import Evaluation, EvaluationKind, Plan
from pages.evaluate import chosen, judging, reading
from pages.evaluate.start import beforehand, setting_up
from pages.parts import adding, away, jobs, markdown, refusals
from pages.parts.person import person
from pages.parts.resources import application

_DATASET, _WHICH, _COUNT = "evaluate-dataset", "evaluate-which", "evaluate-count"
_REPETITIONS, _JUDGE = "evaluate-repetitions", "evaluate-judge"
_ALL, _FIRST, _RANDOM = "All", "First", "Random"
_NO_JUDGE = "None: texts are compared"
_DOCUMENTS = "pages/documents/page.py"


def use(dataset_id: str) -> None:
    """Return to the overview with this dataset selected."""
    chosen.leave()
    st.session_state[_DATASET] = dataset_id


def again(evaluation: Evaluation) -> None:
    """Fill in the start card as it was for an earlier evaluation."""
    use(evaluation.dataset_id)
    st.session_state[_REPETITIONS] = evaluation.repetitions
    if evaluation.judge in judging.judges():
        st.session_state[_JUDGE] = evaluation.judge
    setting_up.use(evaluation.variants[0].options)


def draw() -> None:
    """Draw the card with all choices and the Run button."""
    with st.container(border=True):
        st.header("New evaluation", anchor=False)
        dataset = _choose_questions(_choose_dataset())
        _tell_empty_library(dataset)
        setting_up.draw()
        repetitions, judge = _choose_repetitions_and_judge()
        variants = setting_up.draw_variants(setting_up.options(), len(dataset.examples))
        kind: EvaluationKind = "grid" if len(variants) > 1 else "plain"
        plan = Plan(dataset, variants, repetitions, judge, kind=kind, person=person() or dataset.person)
        forbidden = beforehand.draw(plan)
        st.button(
            "Allow and run" if forbidden else "Run",
            icon=away.ICON if forbidden else ":material/play_arrow:",
            key="evaluate-run",
            disabled=not dataset.examples,
            on_click=_begin,
            args=(plan, forbidden),
        )


def _choose_dataset() -> Dataset:
    there = {dataset.id: dataset for dataset in reading.datasets() if dataset.examples}
    if st.session_state.get(_DATASET) not in there:
        own = (dataset.id for dataset in there.values() if dataset.kind != "builtin")
        st.session_state[_DATASET] = next(own, SEED.id)
    found = st.selectbox(
        "Questions",
        list(there),
        format_func=lambda one: f"{markdown.visible(there[one].name)} ({len(there[one].examples):,})",
        key=_DATASET,
        persist_state="session",
    )
    return there[found]


def _choose_questions(dataset: Dataset) -> Dataset:
    """Return the dataset or a sample; the sample is the same each time, so that evaluations can be compared."""
    size = len(dataset.examples)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        which = st.segmented_control(
            "How many", [_ALL, _FIRST, _RANDOM], default=_ALL, required=True, key=_WHICH, persist_state="session"
        )
        if which == _ALL:
            return dataset
        number = int(
            st.number_input(
                "Number", 1, size, min(20, size), key=f"{_COUNT}-{dataset.id}", width=120, persist_state="session"
            )
        )
    return portions.first(dataset, number) if which == _FIRST else portions.sample(dataset, number)


def _choose_repetitions_and_judge() -> tuple[int, str]:
    """Return the number of repetitions and the name of the judge model; empty for no judge."""
    judges = {"": _NO_JUDGE, **judging.judges()}
    left, right = st.columns(2)
    with left:
        judge: str = st.selectbox(
            "Judge",
            list(judges),
            format_func=lambda name: judges.get(name, name),
            key=_JUDGE,
            persist_state="session",
            help=judging.HELP,
        )
    with right:
        st.session_state.setdefault(_REPETITIONS, 1)
        repetitions = st.number_input(
            "Repetitions",
            1,
            MOST_REPETITIONS,
            key=_REPETITIONS,
            help="A model that answers otherwise each time is measured better by several answers.",
            persist_state="session",
        )
    return int(repetitions), judge


def _tell_empty_library(dataset: Dataset) -> None:
    """Say that the library is empty and offer Documents, or, for the built-in dataset, the posts it asks about."""
    if application().library.counts()[0]:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if dataset.id == SEED.id:
            st.markdown(
                ":orange[:material/info:] Your library is empty. These questions are about three posts of "
                "lilianweng\\.github\\.io, which are fetched from there.",
                width="content",
            )
            st.button("Add the three posts", icon=":material/auto_stories:", on_click=_add_posts)
        else:
            st.markdown(":orange[:material/info:] Your library is empty: nothing will be found.", width="content")
            if st.button("Documents", icon=":material/folder_open:"):
                st.switch_page(_DOCUMENTS)
    jobs.draw()


def _add_posts() -> None:
    adding.add_addresses("\n".join(application().example_urls))


def _begin(plan: Plan, forbidden: list[str]) -> None:
    """Start the evaluation and select it; a refusal is shown on the next rerun."""
    for model in forbidden:
        application().preferences.allow_model(model)
    with refusals.kept():
        chosen.open_evaluation(application().evaluations.begin(plan).id)
