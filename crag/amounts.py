"""Numbers as people read them: with their noun, and with as many decimals as tell them apart."""

from __future__ import annotations


def count(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: 1 passage, 1,284 passages."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def score(value: float) -> str:
    """A score or threshold: two decimals, and more where two would not tell it, as in 0.999."""
    short = f"{value:.2f}"
    return short if float(short) == value else f"{value:g}"
