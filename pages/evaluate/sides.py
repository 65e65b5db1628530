"""What is compared: variants of evaluations, the first the one that the others are held against; the address says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from crag.errors import NotFound
from crag.evaluate.values import Evaluation, Result, Variant
from pages.parts.person import person
from pages.parts.resources import application

_ADDRESS = "compare"


class Side(NamedTuple):
    """One variant of an evaluation with its results, and no others."""

    evaluation: Evaluation
    number: int
    results: Sequence[Result]

    @property
    def variant(self) -> Variant:
        """Its settings and environment."""
        return self.evaluation.variants[self.number]

    @property
    def key(self) -> str:
        """What names it in the address."""
        return f"{self.evaluation.id}.{self.number}"


def of_address() -> list[Side]:
    """The sides that the address names, each once; those that are no longer there are left out."""
    keys = dict.fromkeys(st.query_params.get(_ADDRESS, "").split(","))
    return [side for key in keys if key and (side := of_key(key))]


def of_key(key: str) -> Side | None:
    """The side of this name; None where there is none, or where it is not this person's."""
    evaluation_id, _, number = key.rpartition(".")
    try:
        evaluation = application().evaluations.get(evaluation_id, person())
    except NotFound:
        return None
    if not number.isdecimal() or int(number) >= len(evaluation.variants):
        return None
    return Side(evaluation, int(number), application().evaluations.results(evaluation.id, int(number)))


def choose(keys: Sequence[str]) -> None:
    """Compare these with the next drawing; none of them: no longer."""
    if keys:
        st.query_params[_ADDRESS] = ",".join(keys)
    else:
        st.query_params.pop(_ADDRESS, None)
