"""Database rows of datasets and their examples, and subsets of a dataset."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from crag.evaluation.dataset_format import example_to_row, parse_example
from crag.evaluation.types import Dataset, DatasetKind, Example
from crag.storage.row_security import visible_rows
from crag.storage.tables import datasets, examples

PINNED_DATASET_NAME = "Test questions"


@dataclass(frozen=True, slots=True)
class PinnedExample:
    """A pinned example. `run_id` is the run its answer comes from, empty if no answer is pinned."""

    dataset_id: str
    example: Example
    run_id: str


def pinned_dataset_id(user: str | None) -> str:
    """Return the id of a user's pinned dataset, which may not exist yet; the key cannot be derived from it."""
    return hashlib.sha256(f"pinned\x1f{user or ''}".encode()).hexdigest()[:32]


def pinned_datasets_of(user: str | None) -> ColumnElement[bool]:
    """Return the condition for datasets this user pinned, or pinned before users had keys; None matches all."""
    return visible_rows(datasets, user) & (datasets.c.kind == "pinned")


def load_datasets(connection: Connection, condition: ColumnElement[bool]) -> list[Dataset]:
    """Load the datasets that meet the condition, with their examples in file order."""
    found = connection.execute(select(datasets).where(condition).order_by(datasets.c.made_at, datasets.c.id)).all()
    query = select(examples.c.dataset_id, examples.c.body).join(datasets).where(condition).order_by(examples.c.number)
    bodies: defaultdict[str, list[str]] = defaultdict(list)
    for row in connection.execute(query):
        bodies[row.dataset_id].append(row.body)
    return [_dataset_from_row(row, bodies[row.id]) for row in found]


def find_upload_by_name(connection: Connection, name: str, user: str) -> str | None:
    """Return the id of the same user's uploaded dataset of this name."""
    same = (datasets.c.name == name) & (datasets.c.person == user) & (datasets.c.kind == "uploaded")
    found: str | None = connection.scalar(select(datasets.c.id).where(same))
    return found


def replace_dataset(connection: Connection, dataset: Dataset) -> None:
    """Write a dataset, replacing the one with its id."""
    connection.execute(delete(datasets).where(datasets.c.id == dataset.id))
    _insert_dataset(connection, dataset.id, dataset.name, dataset.kind, dataset.owner_id)
    rows = [{"dataset_id": dataset.id, "key": one.key, "body": _dump_example(one)} for one in dataset.examples]
    connection.execute(insert(examples), rows)


def ensure_pinned_dataset(connection: Connection, user: str | None) -> str:
    """Create this user's pinned dataset if missing; return its id."""
    dataset_id = pinned_dataset_id(user)
    if connection.scalar(select(datasets.c.id).where(datasets.c.id == dataset_id)) is None:
        _insert_dataset(connection, dataset_id, PINNED_DATASET_NAME, "pinned", user or "")
    return dataset_id


def find_pinned_example(connection: Connection, user: str | None, key: str) -> PinnedExample | None:
    """Find the pinned example of a question, the user's own first."""
    own = datasets.c.id != pinned_dataset_id(user)
    query = select(examples).join(datasets).where(pinned_datasets_of(user), examples.c.key == key).order_by(own)
    row = connection.execute(query).first()
    return PinnedExample(row.dataset_id, _load_example(row.body), row.run_id) if row else None


def find_pinned_runs(connection: Connection, user: str | None, run_ids: Sequence[str]) -> frozenset[str]:
    """Return which of these runs gave the right answer of a pinned example."""
    query = select(examples.c.run_id).join(datasets).where(pinned_datasets_of(user), examples.c.run_id.in_(run_ids))
    return frozenset(connection.scalars(query))


def save_pinned_example(connection: Connection, pinned: PinnedExample) -> None:
    """Write a pinned example, replacing the one with its key in its position."""
    key, values = pinned.example.key, {"body": _dump_example(pinned.example), "run_id": pinned.run_id}
    if (
        connection.execute(update(examples).where(_example_condition(pinned.dataset_id, key)).values(values)).rowcount
        == 0
    ):
        connection.execute(insert(examples).values(dataset_id=pinned.dataset_id, key=key, **values))


def delete_example(connection: Connection, dataset_id: str, key: str) -> None:
    """Delete an example, if it exists."""
    connection.execute(delete(examples).where(_example_condition(dataset_id, key)))


def _example_condition(dataset_id: str, key: str) -> ColumnElement[bool]:
    return (examples.c.dataset_id == dataset_id) & (examples.c.key == key)


def _insert_dataset(connection: Connection, dataset_id: str, name: str, kind: DatasetKind, user: str) -> None:
    values = {"id": dataset_id, "name": name, "kind": kind, "person": user, "made_at": time.time()}
    connection.execute(insert(datasets).values(values))


def _dataset_from_row(row: Row[Any], bodies: Iterable[str]) -> Dataset:
    return Dataset(row.id, row.name, row.kind, tuple(map(_load_example, bodies)), row.made_at, row.person)


def _dump_example(example: Example) -> str:
    """Serialize an example as its JSON line."""
    return json.dumps(example_to_row(example))


def _load_example(body: str) -> Example:
    return parse_example(json.loads(body), 1)


def take_first_questions(dataset: Dataset, number: int) -> Dataset:
    """Return the dataset with its first `number` questions, noted in its name; unchanged if it has no more."""
    return _subset(dataset, range(min(number, len(dataset.examples))), f"first {number:,}")


def sample_questions(dataset: Dataset, number: int, seed: int = 0) -> Dataset:
    """Return a random sample in dataset order, noted in the name; the same for the same seed."""
    size = len(dataset.examples)
    drawn = random.Random(seed).sample(range(size), min(number, size))  # noqa: S311 — no secret
    return _subset(dataset, sorted(drawn), f"random {number:,}, seed {seed},")


def _subset(dataset: Dataset, chosen: range | list[int], note: str) -> Dataset:
    if len(chosen) == len(dataset.examples):
        return dataset
    examples = tuple(dataset.examples[index] for index in chosen)
    return replace(dataset, name=f"{dataset.name} ({note} of {len(dataset.examples):,})", examples=examples)
