"""In which settings variants differ, by the names of `crag.options`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from crag.evaluate.values import Environment, Variant
from crag.options import names_of_options, value_of

_SAYS_NOTHING = ("preset",)  # a name for other settings, which are compared themselves


def value_in(variant: Variant, name: str) -> Any:
    """The value of an option that a variant has."""
    return value_of(variant.options, name)


def settings_that_differ(variants: Sequence[Variant]) -> dict[str, list[Any]]:
    """The names of the settings that the variants do not all share, each with its values in the order they come."""
    names = [name for name in names_of_options() if name not in _SAYS_NOTHING]
    values = {name: list(dict.fromkeys(value_in(one, name) for one in variants)) for name in names}
    return {name: found for name, found in values.items() if len(found) > 1}


def environments_that_differ(variants: Sequence[Variant]) -> dict[str, list[Any]]:
    """The same of what else their answers hang on, by the names of `Environment`; one value for each variant."""
    values = {field.name: [getattr(one.environment, field.name) for one in variants] for field in fields(Environment)}
    return {name: found for name, found in values.items() if len(set(found)) > 1}
