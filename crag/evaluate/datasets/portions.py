"""Some of the questions of a dataset: the first ones, or a sample that is the same each time."""

from __future__ import annotations

import random
from dataclasses import replace

from crag.evaluate.datasets.examples import Dataset


def first(dataset: Dataset, number: int) -> Dataset:
    """Its first questions, said in its name; all of them where there are no more."""
    return _part(dataset, range(min(number, len(dataset.examples))), f"first {number:,}")


def sample(dataset: Dataset, number: int, seed: int = 0) -> Dataset:
    """Questions drawn at random, in the order of the dataset; with the same seed the same ones. Said in its name."""
    size = len(dataset.examples)
    drawn = random.Random(seed).sample(range(size), min(number, size))  # noqa: S311 — no secret
    return _part(dataset, sorted(drawn), f"random {number:,}, seed {seed},")


def _part(dataset: Dataset, chosen: range | list[int], words: str) -> Dataset:
    if len(chosen) == len(dataset.examples):
        return dataset
    examples = tuple(dataset.examples[index] for index in chosen)
    return replace(dataset, name=f"{dataset.name} ({words} of {len(dataset.examples):,})", examples=examples)
