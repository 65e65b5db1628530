"""Selected evaluation and compared variants, kept in the page address and in the session."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import NamedTuple

import streamlit as st

from crag.errors import NotFound
from crag.evaluation.summary import Comparison, compare_results
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult, Variant
from crag.text import sanitization
from crag.text.formatting import format_date_time
from pages.evaluate.results import ResultsCacheKey, load_cutoffs, load_results, results_cache_key
from pages.parts import dialogs, markdown
from pages.parts.routes import Page
from pages.parts.services import application
from pages.parts.session import current_owner

DELETE_EVALUATIONS_DIALOG = "delete evaluations"


_COMPARED_PARAMETER = "compare"
_COMPARED_KEY = "compared_sides"
_ADDED_VARIANT_KEY = "added-side"
_MAX_COMPARED = len(ascii_uppercase)
_OFFERED_EVALUATIONS = 50
_COMPARISON_TTL_SECONDS = 60.0  # labels added in the meantime show up after this time


class ComparedVariant(NamedTuple):
    """One variant of an evaluation, with the results of this variant only."""

    evaluation: Evaluation
    number: int
    results: Sequence[EvaluationResult]

    @property
    def variant(self) -> Variant:
        """Settings and environment of the variant."""
        return self.evaluation.variants[self.number]

    @property
    def key(self) -> str:
        """Identifier of the variant in the page address."""
        return _variant_key(self.evaluation, self.number)


def selected_variants() -> list[ComparedVariant]:
    """Return the variants in the address, else those compared last, without duplicates and deleted ones."""
    named = st.query_params.get(_COMPARED_PARAMETER, "") or st.session_state.get(_COMPARED_KEY, "")
    keys = dict.fromkeys(named.split(","))
    select_variants([key for key in keys if key])  # so that they are restored when the user returns to the page
    return [side for key in keys if key and (side := _load_variant(key))][:_MAX_COMPARED]


def select_variants(keys: Sequence[str]) -> None:
    """Select the variants to compare on the next rerun; an empty sequence ends the comparison."""
    if keys:
        st.session_state[_COMPARED_KEY] = st.query_params[_COMPARED_PARAMETER] = ",".join(keys)
    else:
        st.session_state.pop(_COMPARED_KEY, None)
        st.query_params.pop(_COMPARED_PARAMETER, None)


def assign_letters(compared: Sequence[ComparedVariant]) -> dict[str, str]:
    """Assign letters (A, B, C, ...) to the variants, by key, for tables and charts."""
    return {side.key: letter for side, letter in zip(compared, ascii_uppercase, strict=False)}


def draw_variant_selection(compared: Sequence[ComparedVariant]) -> None:
    """Draw the compared variants in order, and a field that adds another one."""
    keys = [side.key for side in compared]
    with st.container(gap="xsmall"):
        for side, letter in zip(compared, ascii_uppercase, strict=False):
            _draw_compared_variant(side, letter, keys)
    latest = [one for one in application().evaluations.list(current_owner(), _OFFERED_EVALUATIONS) if one.done]
    offered = {
        _variant_key(one, number): _variant_title(one, number) for one in latest for number in range(len(one.variants))
    }
    others = {key: name for key, name in offered.items() if key not in keys}
    if others and len(keys) < _MAX_COMPARED:
        st.selectbox(
            "Add to the comparison",
            list(others),
            index=None,
            format_func=others.__getitem__,
            placeholder="Add another",
            key=_ADDED_VARIANT_KEY,
            on_change=lambda: select_variants([*keys, st.session_state.pop(_ADDED_VARIANT_KEY)]),
            label_visibility="collapsed",
            width=420,
        )


def _draw_compared_variant(side: ComparedVariant, letter: str, keys: Sequence[str]) -> None:
    """Draw one variant under its letter; the first one is the baseline."""
    others = [key for key in keys if key != side.key]
    first = side.key == keys[0]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = markdown.escape_line(_variant_title(side.evaluation, side.number), 160)
        st.markdown(
            f"**{letter}** {name}{' :gray-badge[the others are held against it]' if first else ''}", width="content"
        )
        with st.container(horizontal=True, gap="small", width="content"):
            if not first:
                _draw_selection_button("Put first", ":material/vertical_align_top:", side.key, [side.key, *others])
            if len(keys) > 2:
                _draw_selection_button("Remove", ":material/close:", side.key, others)


def _draw_selection_button(word: str, icon: str, key: str, keys: Sequence[str]) -> None:
    st.button(word, icon=icon, type="tertiary", key=f"{word}-{key}", on_click=select_variants, args=(keys,))


def load_comparison(one: ComparedVariant, other: ComparedVariant) -> Comparison:
    """Compare the second variant with the first; cached until either has new results."""
    return _cached_comparison(one, other, load_cutoffs())


def _variant_cache_key(side: ComparedVariant) -> tuple[int, ResultsCacheKey]:
    return side.number, results_cache_key(side.evaluation)


@st.cache_resource(
    show_spinner=False, max_entries=32, ttl=_COMPARISON_TTL_SECONDS, hash_funcs={ComparedVariant: _variant_cache_key}
)
def _cached_comparison(one: ComparedVariant, other: ComparedVariant, right_from: Cutoffs) -> Comparison:
    return compare_results(one.results, other.results, right_from)


def _load_variant(key: str) -> ComparedVariant | None:
    """Return the variant with this key; None if it does not exist or belongs to another user."""
    evaluation_id, _, number = key.rpartition(".")
    try:
        evaluation = application().evaluations.get(evaluation_id, current_owner())
    except NotFound:
        return None
    if not number.isdecimal() or int(number) >= len(evaluation.variants):
        return None
    return ComparedVariant(evaluation, int(number), load_results(evaluation, int(number)))


def _variant_key(evaluation: Evaluation, number: int) -> str:
    return f"{evaluation.id}.{number}"


def _variant_title(evaluation: Evaluation, number: int) -> str:
    """Return name, variant (if there are several) and start time as plain text for a select box."""
    variant = evaluation.variants[number].name if len(evaluation.variants) > 1 else ""
    told = (evaluation.name, variant, format_date_time(evaluation.started_at))
    return " · ".join(sanitization.strip_invisible(one) for one in told if one)


_EVALUATION_KEY = "evaluation_looked_at"
_EVALUATION_PARAMETER = "evaluation"


def selected_evaluation_id() -> str:
    """Return the evaluation in the address, else the last one opened; empty for the overview."""
    found: str = st.query_params.get(_EVALUATION_PARAMETER, "") or st.session_state.get(_EVALUATION_KEY, "")
    if found:
        _remember_evaluation(found)
    return found


def open_evaluation(found: str) -> None:
    """Select an evaluation for the next rerun and close any open dialog."""
    show_overview()
    _remember_evaluation(found)


def show_overview() -> None:
    """Clear the selection and return to the overview."""
    dialogs.close_dialog()
    select_variants(())
    st.session_state.pop(_EVALUATION_KEY, None)
    st.query_params.pop(_EVALUATION_PARAMETER, None)


def open_run_in_inspect(run_id: str) -> None:
    """Open the run behind an answer in Inspect."""
    st.switch_page(Page.INSPECT.path, query_params={"run": run_id})


def _remember_evaluation(found: str) -> None:
    st.session_state[_EVALUATION_KEY] = st.query_params[_EVALUATION_PARAMETER] = found
