"""Subsets of a dataset: the first questions, or a reproducible sample."""

from __future__ import annotations

import random
from dataclasses import replace

from crag.evaluate.datasets.examples import Dataset


def first(dataset: Dataset, number: int) -> Dataset:
    """Return the dataset with its first `number` questions, noted in its name; unchanged if it has no more."""
    return _part(dataset, range(min(number, len(dataset.examples))), f"first {number:,}")


def sample(dataset: Dataset, number: int, seed: int = 0) -> Dataset:
    """Return a random sample in dataset order, noted in the name; the same for the same seed."""
    size = len(dataset.examples)
    drawn = random.Random(seed).sample(range(size), min(number, size))  # noqa: S311 — no secret
    return _part(dataset, sorted(drawn), f"random {number:,}, seed {seed},")


def _part(dataset: Dataset, chosen: range | list[int], words: str) -> Dataset:
    if len(chosen) == len(dataset.examples):
        return dataset
    examples = tuple(dataset.examples[index] for index in chosen)
    return replace(dataset, name=f"{dataset.name} ({words} of {len(dataset.examples):,})", examples=examples)
