"""One evaluation: head, figures, grid and every answer."""

from __future__ import annotations

import streamlit as st

from crag.errors import NotFound
from crag.evaluate.datasets.seed import SEED
from crag.evaluate.values import Evaluation
from pages.evaluate import chosen, reading
from pages.evaluate.grids import grid
from pages.evaluate.grids.ranking import ranked
from pages.evaluate.result import figures, head, plots, progress, questions, seed_table
from pages.parts import markdown
from pages.parts.folding import draw_folded
from pages.parts.person import person
from pages.parts.resources import application


def draw(evaluation_id: str) -> None:
    """Draw an evaluation; one that was deleted or belongs to another user is reported as missing."""
    try:
        evaluation = application().evaluations.get(evaluation_id, person())
    except NotFound:
        st.title("This evaluation is no longer there", anchor=False)
        st.caption("It was deleted, or it belongs to another browser. Choose another.")
        st.button("All evaluations", icon=":material/arrow_back:", on_click=chosen.leave)
        return
    head.draw(evaluation)
    moving = evaluation.state in progress.MOVING
    if len(evaluation.variants) > 1 and not moving:
        grid.draw_table(evaluation, reading.results(evaluation), reading.cutoffs())
    variant = _choose_variant(evaluation, best_first=not moving)
    if moving:
        progress.draw(evaluation, variant)
        if evaluation.done:
            draw_folded(
                "Answers so far",
                f"answers-of-{evaluation.id}",
                lambda: questions.draw(evaluation, variant),
                type="compact",
            )
        return
    figures.draw(evaluation, variant)
    if evaluation.done:
        _draw_answers(evaluation, variant)


def _choose_variant(evaluation: Evaluation, *, best_first: bool) -> int:
    """Return the number of the variant to show."""
    numbers = list(range(len(evaluation.variants)))
    if len(numbers) == 1:
        return 0
    if best_first:
        ranking = ranked(evaluation, reading.results(evaluation), reading.cutoffs())
        numbers = [one.number for one in ranking]
    return st.selectbox(
        "Settings looked at",
        numbers,
        format_func=lambda number: markdown.visible(evaluation.variants[number].name),
        key=f"variant-of-{evaluation.id}",
        width=420,
    )


def _draw_answers(evaluation: Evaluation, variant: int) -> None:
    """Draw the seed table, the answers and the plots."""
    if evaluation.dataset_id == SEED.id:
        seed_table.draw(evaluation, variant)
    st.fragment(questions.draw)(evaluation, variant)
    results, cutoffs = reading.results(evaluation), reading.cutoffs()
    draw_folded(
        "Plots", f"plots-of-{evaluation.id}", lambda: plots.draw(evaluation, variant, results, cutoffs), type="compact"
    )
