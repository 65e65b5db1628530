"""Options in which the variants of a grid differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crag.evaluate.values import Variant
from crag.options import names_of_options, value_of

_SAYS_NOTHING = ("preset",)  # a preset only names other options, which are compared themselves


def settings_that_differ(variants: Sequence[Variant]) -> dict[str, list[Any]]:
    """Return the options that differ between variants, by name, with their values in order of appearance."""
    names = [name for name in names_of_options() if name not in _SAYS_NOTHING]
    values = {name: list(dict.fromkeys(value_of(one.options, name) for one in variants)) for name in names}
    return {name: found for name, found in values.items() if len(found) > 1}
