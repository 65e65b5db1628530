"""Grids of settings: the values to try, the variants they make, and the best variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from crag.errors import BadRequest
from crag.evaluation.summary import VariantSummary, compare_results, summarise_results
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult, Variant
from crag.inspection.run_labels import describe_option
from crag.options import (
    OPTIONS,
    Option,
    RunOptions,
    apply_changes,
    get_option,
)
from crag.reference_systems import REFERENCE_SYSTEMS, find_system

MAX_VARIANTS = 64  # each answers every question; with more, a winner by chance becomes likely

SUGGESTED_AXES = tuple(name for name, option in OPTIONS.items() if option.offered is not None)
_AXIS_KINDS = ("model", "choice", "switch", "number")
# Variants are ranked by these figures; among equals the fastest is best.
_RANKING_METRICS = ("truthfulness", "refusal_right")


@dataclass(frozen=True, slots=True)
class GridAxes:
    """The values to try, by setting name. Raises `BadRequest` for an unknown setting or value."""

    values: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        """Check that each value is valid and unique, and that the combinations are not too many."""
        for name, values in self.values.items():
            known = find_axis_option(name)
            for value in values:
                known.check(value)
            if not values:
                raise BadRequest(f"{known.title} has no value to try.", _axes_remedy())
            if len(set(values)) < len(values):
                raise BadRequest(f"{known.title} has a value twice.", "Name each once.")
        if self.combinations > MAX_VARIANTS:
            raise BadRequest(
                f"These are {self.combinations:,} combinations; at most {MAX_VARIANTS} are tried at once.",
                "Try fewer values.",
            )

    @property
    def combinations(self) -> int:
        """Number of variants."""
        return prod(len(values) for values in self.values.values())


@dataclass(frozen=True, slots=True)
class RankedVariant:
    """A variant by its `number` in the results, with its summary."""

    number: int
    variant: Variant
    summary: VariantSummary


@dataclass(frozen=True, slots=True)
class BestVariant:
    """The best variant, and the `rivals` that it is not clearly better than.

    It is clearly better if the interval of its lead in truthfulness lies above 0.
    """

    number: int
    variant: Variant
    rivals: tuple[Variant, ...]

    @property
    def is_clear(self) -> bool:
        """Whether no other variant could be the best as well."""
        return not self.rivals


def find_axis_option(name: str) -> Option:
    """Return the option of this name, if it can be an axis. Raises `BadRequest`."""
    option = OPTIONS.get(name)
    if option and option.kind in _AXIS_KINDS and option.changes_answers:
        return option
    raise BadRequest(
        f"There is nothing to try under “{name}”.", f"Values such as {', '.join(SUGGESTED_AXES)} can be tried."
    )


def parse_axes(texts: Sequence[str]) -> GridAxes:
    """Parse axes written like `k=4,8`. Raises `BadRequest`."""
    values: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, equals, rest = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise BadRequest(f"“{text}” names no values to try.", _axes_remedy())
        if name in values:
            raise BadRequest(f"{find_axis_option(name).title} is named twice.", "Name all of its values at once.")
        parts = [part.strip() for part in rest.split(",")]
        values[name] = tuple(find_axis_option(name).parse(part) for part in parts) if all(parts) else ()
    return GridAxes(values)


def make_variants(base: RunOptions, axes: GridAxes) -> list[Variant]:
    """Return every combination of the values, applied to `base`; the last axis changes fastest."""
    names = list(axes.values)
    varied = [name for name in names if len(axes.values[name]) > 1] or names
    made = []
    for values in product(*axes.values.values()):
        chosen = dict(zip(names, values, strict=True))
        made.append(Variant(_variant_name(chosen, varied), apply_changes(base, {**chosen, "preset": ""})))
    return made


def make_system_variants(base: RunOptions) -> list[Variant]:
    """Return a variant with these options and one for each reference system, which searches the web if `base` does."""
    systems = [
        Variant(system.title, apply_changes(base, {**system.option_changes(), "preset": name, "web": base.web}))
        for name, system in REFERENCE_SYSTEMS.items()
    ]
    return [Variant("Your settings", replace(base, preset="")), *systems]


def rank_variants(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> list[RankedVariant]:
    """Rank the variants by truthfulness, then right refusals, then time; those without results come last."""
    ranked = [
        RankedVariant(number, variant, summarise_results([one for one in results if one.variant == number], cutoffs))
        for number, variant in enumerate(evaluation.variants)
    ]
    return sorted(ranked, key=lambda one: _ranking_key(one.summary))


def find_best_variant(
    evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs
) -> BestVariant | None:
    """Return the best variant; None if no answer can be called right or wrong."""
    ranked = rank_variants(evaluation, results, cutoffs)
    if not ranked or not any(name in ranked[0].summary.figures for name in _RANKING_METRICS):
        return None
    first, *others = ranked
    own = [one for one in results if one.variant == first.number]

    def is_worse(other: RankedVariant) -> bool:
        compared = compare_results([one for one in results if one.variant == other.number], own, cutoffs)
        figure = next((one for one in compared.differences if one.metric in _RANKING_METRICS), None)
        return figure is not None and figure.low > 0

    return BestVariant(first.number, first.variant, tuple(other.variant for other in others if not is_worse(other)))


def _variant_name(chosen: Mapping[str, Any], names: Sequence[str]) -> str:
    return " · ".join(describe_option(name, chosen[name]) for name in names) or "as it is"


def _ranking_key(summary: VariantSummary) -> tuple[float, ...]:
    """Return the sort key; the best variant has the smallest."""
    figures = summary.figures
    better = (-figures[name].value if name in figures else 1.0 for name in _RANKING_METRICS)
    return *better, figures["seconds"].value if "seconds" in figures else float("inf")


def _axes_remedy() -> str:
    return "Write a setting and its values, such as k=4,8."


def find_differing_options(variants: Sequence[Variant]) -> dict[str, list[Any]]:
    """Return the options that differ between variants, by name, with their values in order of appearance.

    Between reference systems only the preset counts, which stands for all others.
    """
    if any(find_system(one.options) for one in variants):
        return {"preset": [one.options.preset for one in variants]} if len(variants) > 1 else {}
    names = [name for name, option in OPTIONS.items() if option.changes_answers]
    values = {name: list(dict.fromkeys(get_option(one.options, name) for one in variants)) for name in names}
    return {name: found for name, found in values.items() if len(found) > 1}
