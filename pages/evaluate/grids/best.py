"""Best variant of a grid: how certain it is, and saving it as a preset."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.errors import CragError
from crag.evaluate.grid import Best
from crag.evaluate.values import Cutoffs, Evaluation, Result, Variant
from pages.evaluate.grids import ranking
from pages.parts import markdown, refusals, words
from pages.parts.resources import application

_NAME = "best_preset"
_NAMED = 3


def draw(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> None:
    """Draw the best variant, its certainty and the form that saves it as a preset."""
    best = ranking.best(evaluation, results, cutoffs)
    if best is None:
        return
    st.markdown(f":material/trophy: Best: **{markdown.label(best.variant.name, 120)}**. {_sure(best, evaluation)}")
    with (
        st.form(f"save-best-{evaluation.id}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input("Save the best as a preset, under this name", max_chars=60, key=_NAME, width=320)
        st.form_submit_button("Save", icon=":material/bookmark_add:", on_click=_save, args=(best.variant,))
    st.caption(_left_out(best.variant))


def _sure(best: Best, evaluation: Evaluation) -> str:
    """Say whether the best variant is clearly better, and name its rivals if not."""
    others = len(evaluation.variants) - 1
    if best.clear:
        return f"It is clearly better than {words.count(others, 'other')}."
    if len(best.rivals) == others:
        return f"Not clearly better than {'the other' if others == 1 else f'any of the {others} others'}."
    named = [f"*{markdown.label(rival.name, 80)}*" for rival in best.rivals[:_NAMED]]
    more = len(best.rivals) - len(named)
    told = ", ".join(named) + (f" and {more} more" if more else "")
    return f"Not clearly better than {len(best.rivals)} of {others} others: {told}."


def _left_out(variant: Variant) -> str:
    """Say what a preset does not save, with the passage size that was tried."""
    size = variant.options.passage_size
    tried = f" They were cut into {words.count(size, 'token')} here: **that is not saved**." if size else ""
    return (
        "A preset holds how questions are answered: not which documents are asked, not thresholds, and not the size of"
        f" the passages that documents are cut into.{tried}"
    )


def _save(variant: Variant) -> None:
    name = st.session_state[_NAME] or ""
    try:
        application().preferences.save_preset(name, variant.options)
    except CragError as error:
        refusals.keep(error)
    else:
        st.toast(f"Saved: “{markdown.label(name, 60)}”. Use it in Settings or in a chat.", icon=":material/bookmark:")
