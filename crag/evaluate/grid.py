"""Grids of settings: the values to try, the variants they make, and the best variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, get_args

from crag.errors import BadRequest
from crag.evaluate.figures.comparison import compare
from crag.evaluate.figures.summary import Summary, summarise
from crag.evaluate.values import Cutoffs, Evaluation, Result, Variant
from crag.inspection.names import change_in_words
from crag.options import GraderKind, PolicyName, RunOptions, with_changes
from crag.preferences import CATALOG, Setting
from crag.runs.changes import option

MOST_VARIANTS = 64  # each answers every question; with more, a winner by chance becomes likely

PASSAGE_SIZE = Setting(
    "passage_size",
    "Grading",
    "Passage size",
    "How long the passages are that documents are cut into.",
    "number",
    lowest=50,
    highest=2000,
    step=1,
    unit="tokens",
)
# Settings worth trying, with suggested values; for models, those available are offered.
AXES: dict[str, tuple[Any, ...]] = {
    "policy": get_args(PolicyName),
    "k": (2, 4, 8),
    "passage_size": (150, 250, 500),
    "grader": get_args(GraderKind),
    "refine": (True, False),
    "parent_context": (True, False),
    "model": (),
    "grader_model": (),
}
# They change the speed of an answer, not its text.
_SAY_NOTHING = ("keep_alive", "parallelism")
# Variants are ranked by these figures; among equals the fastest is best.
_BEST_BY = ("answer_right", "refusal_right")


@dataclass(frozen=True, slots=True)
class Axes:
    """The values to try, by setting name. Raises `BadRequest` for an unknown setting or value."""

    values: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        """Check that each value is valid and unique, and that the combinations are not too many."""
        for name, values in self.values.items():
            known = setting(name)
            for value in values:
                known.check(value)
            if not values:
                raise BadRequest(f"{known.title} has no value to try.", _remedy())
            if len(set(values)) < len(values):
                raise BadRequest(f"{known.title} has a value twice.", "Name each once.")
        if self.combinations > MOST_VARIANTS:
            raise BadRequest(
                f"These are {self.combinations:,} combinations; at most {MOST_VARIANTS} are tried at once.",
                "Try fewer values.",
            )

    @property
    def combinations(self) -> int:
        """Number of variants."""
        return prod(len(values) for values in self.values.values())


@dataclass(frozen=True, slots=True)
class Ranked:
    """A variant by its `number` in the results, with its summary."""

    number: int
    variant: Variant
    summary: Summary


@dataclass(frozen=True, slots=True)
class Best:
    """The best variant, and the `rivals` that it is not clearly better than.

    It is clearly better if the interval of its lead in right answers lies above 0.
    """

    number: int
    variant: Variant
    rivals: tuple[Variant, ...]

    @property
    def clear(self) -> bool:
        """Whether no other variant could be the best as well."""
        return not self.rivals


def setting(name: str) -> Setting:
    """Return the setting of this name, if it can be an axis. Raises `BadRequest`."""
    if name == PASSAGE_SIZE.name:
        return PASSAGE_SIZE
    if name in CATALOG and not name.endswith(_SAY_NOTHING):
        return CATALOG[name]
    raise BadRequest(f"There is nothing to try under “{name}”.", f"Such as {', '.join(AXES)} can be tried.")


def read_axes(written: Sequence[str]) -> Axes:
    """Parse axes written like `k=4,8`. Raises `BadRequest`."""
    values: dict[str, tuple[Any, ...]] = {}
    for text in written:
        name, equals, rest = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise BadRequest(f"“{text}” names no values to try.", _remedy())
        if name in values:
            raise BadRequest(f"{setting(name).title} is named twice.", "Name all of its values at once.")
        parts = [part.strip() for part in rest.split(",")]
        values[name] = tuple(setting(name).read(part) for part in parts) if all(parts) else ()
    return Axes(values)


def variants(base: RunOptions, axes: Axes) -> list[Variant]:
    """Return every combination of the values, applied to `base`; the last axis changes fastest."""
    names = list(axes.values)
    telling = [name for name in names if len(axes.values[name]) > 1] or names
    made = []
    for values in product(*axes.values.values()):
        chosen = dict(zip(names, values, strict=True))
        made.append(Variant(_name(chosen, telling), with_changes(base, {**chosen, "preset": ""})))
    return made


def rank(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> list[Ranked]:
    """Rank the variants by right answers, then right refusals, then time; those without results come last."""
    ranked = [
        Ranked(number, variant, summarise([one for one in results if one.variant == number], cutoffs))
        for number, variant in enumerate(evaluation.variants)
    ]
    return sorted(ranked, key=lambda one: _order(one.summary))


def best(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> Best | None:
    """Return the best variant; None if no answer can be called right or wrong."""
    ranked = rank(evaluation, results, cutoffs)
    if not ranked or not any(name in ranked[0].summary.figures for name in _BEST_BY):
        return None
    first, *others = ranked
    own = [one for one in results if one.variant == first.number]

    def is_worse(other: Ranked) -> bool:
        compared = compare([one for one in results if one.variant == other.number], own, cutoffs)
        figure = next((one for one in compared.differences if one.metric in _BEST_BY), None)
        return figure is not None and figure.low > 0

    return Best(first.number, first.variant, tuple(other.variant for other in others if not is_worse(other)))


def _name(chosen: Mapping[str, Any], telling: Sequence[str]) -> str:
    return " · ".join(change_in_words(option(name, chosen[name])) for name in telling) or "as it is"


def _order(summary: Summary) -> tuple[float, ...]:
    """Return the sort key; the best variant has the smallest."""
    figures = summary.figures
    better = (-figures[name].value if name in figures else 1.0 for name in _BEST_BY)
    return *better, figures["seconds"].value if "seconds" in figures else float("inf")


def _remedy() -> str:
    return "Write a setting and its values, such as k=4,8."
