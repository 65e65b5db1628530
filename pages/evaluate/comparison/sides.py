"""Variants selected for comparison, kept in the page address; the first one is the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import NamedTuple

import streamlit as st

from crag.errors import NotFound
from crag.evaluate.figures.comparison import Comparison, compare
from crag.evaluate.values import Cutoffs, Evaluation, Result, Variant
from crag.moments import day_and_minute
from pages.evaluate import reading
from pages.parts import markdown
from pages.parts.person import person
from pages.parts.resources import application

_ADDRESS = "compare"
_KEPT = "compared_sides"
_ADDED = "added-side"
_MOST = len(ascii_uppercase)
_LATEST = 50
_KEPT_SECONDS = 60.0  # labels added in the meantime show up after this time


class Side(NamedTuple):
    """One variant of an evaluation, with the results of this variant only."""

    evaluation: Evaluation
    number: int
    results: Sequence[Result]

    @property
    def variant(self) -> Variant:
        """Settings and environment of the variant."""
        return self.evaluation.variants[self.number]

    @property
    def key(self) -> str:
        """Identifier of the variant in the page address."""
        return _key(self.evaluation, self.number)


def of_address() -> list[Side]:
    """Return the variants in the address, else those compared last, without duplicates and deleted ones."""
    named = st.query_params.get(_ADDRESS, "") or st.session_state.get(_KEPT, "")
    keys = dict.fromkeys(named.split(","))
    choose([key for key in keys if key])  # so that they are restored when the user returns to the page
    return [side for key in keys if key and (side := _of_key(key))][:_MOST]


def choose(keys: Sequence[str]) -> None:
    """Select the variants to compare on the next rerun; an empty sequence ends the comparison."""
    if keys:
        st.session_state[_KEPT] = st.query_params[_ADDRESS] = ",".join(keys)
    else:
        st.session_state.pop(_KEPT, None)
        st.query_params.pop(_ADDRESS, None)


def letters(compared: Sequence[Side]) -> dict[str, str]:
    """Assign letters (A, B, C, ...) to the variants, by key, for tables and charts."""
    return {side.key: letter for side, letter in zip(compared, ascii_uppercase, strict=False)}


def draw_choice(compared: Sequence[Side]) -> None:
    """Draw the compared variants in order, and a field that adds another one."""
    keys = [side.key for side in compared]
    with st.container(gap="xsmall"):
        for side, letter in zip(compared, ascii_uppercase, strict=False):
            _draw_side(side, letter, keys)
    latest = [one for one in application().evaluations.list(person(), _LATEST) if one.done]
    offered = {_key(one, number): _named(one, number) for one in latest for number in range(len(one.variants))}
    others = {key: name for key, name in offered.items() if key not in keys}
    if others and len(keys) < _MOST:
        st.selectbox(
            "Add to the comparison",
            list(others),
            index=None,
            format_func=others.__getitem__,
            placeholder="Add another",
            key=_ADDED,
            on_change=lambda: choose([*keys, st.session_state.pop(_ADDED)]),
            label_visibility="collapsed",
            width=420,
        )


def _draw_side(side: Side, letter: str, keys: Sequence[str]) -> None:
    """Draw one variant under its letter; the first one is the baseline."""
    others = [key for key in keys if key != side.key]
    first = side.key == keys[0]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = markdown.label(_named(side.evaluation, side.number), 160)
        st.markdown(
            f"**{letter}** {name}{' :gray-badge[the others are held against it]' if first else ''}", width="content"
        )
        with st.container(horizontal=True, gap="small", width="content"):
            if not first:
                _button("Put first", ":material/vertical_align_top:", side.key, [side.key, *others])
            if len(keys) > 2:
                _button("Remove", ":material/close:", side.key, others)


def _button(word: str, icon: str, key: str, keys: Sequence[str]) -> None:
    st.button(word, icon=icon, type="tertiary", key=f"{word}-{key}", on_click=choose, args=(keys,))


def comparison(one: Side, other: Side) -> Comparison:
    """Compare the second variant with the first; cached until either has new results."""
    return _compared(one, other, reading.cutoffs())


def _known_by(side: Side) -> tuple[int, reading.Known]:
    return side.number, reading.known_by(side.evaluation)


@st.cache_resource(show_spinner=False, max_entries=32, ttl=_KEPT_SECONDS, hash_funcs={Side: _known_by})
def _compared(one: Side, other: Side, right_from: Cutoffs) -> Comparison:
    return compare(one.results, other.results, right_from)


def _of_key(key: str) -> Side | None:
    """Return the variant with this key; None if it does not exist or belongs to another user."""
    evaluation_id, _, number = key.rpartition(".")
    try:
        evaluation = application().evaluations.get(evaluation_id, person())
    except NotFound:
        return None
    if not number.isdecimal() or int(number) >= len(evaluation.variants):
        return None
    return Side(evaluation, int(number), reading.results(evaluation, int(number)))


def _key(evaluation: Evaluation, number: int) -> str:
    return f"{evaluation.id}.{number}"


def _named(evaluation: Evaluation, number: int) -> str:
    """Return name, variant (if there are several) and start time as plain text for a select box."""
    variant = evaluation.variants[number].name if len(evaluation.variants) > 1 else ""
    told = (evaluation.name, variant, day_and_minute(evaluation.started_at))
    return " · ".join(markdown.visible(one) for one in told if one)
