"""Database rows of datasets and their examples."""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, true, update
from sqlalchemy.sql.elements import ColumnElement

from crag.database.tables import datasets, examples
from crag.evaluate.datasets.examples import Dataset, DatasetKind, Example
from crag.evaluate.datasets.reading import read_example, row_of

PINNED = "Pinned questions"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pinned example. `run_id` is the run its answer comes from, empty if no answer is pinned."""

    dataset_id: str
    example: Example
    run_id: str


def pinned_id(person: str | None) -> str:
    """Return the id of a user's pinned dataset, which may not exist yet; the key cannot be derived from it."""
    return hashlib.sha256(f"pinned\x1f{person or ''}".encode()).hexdigest()[:32]


def visible(person: str | None) -> ColumnElement[bool]:
    """Return the condition for datasets of this user and shared ones; None matches all."""
    return true() if person is None else datasets.c.person.in_(("", person))


def pinned_by(person: str | None) -> ColumnElement[bool]:
    """Return the condition for datasets this user pinned, or pinned before users had keys; None matches all."""
    return visible(person) & (datasets.c.kind == "pinned")


def read_datasets(connection: Connection, condition: ColumnElement[bool]) -> list[Dataset]:
    """Load the datasets that meet the condition, with their examples in file order."""
    found = connection.execute(select(datasets).where(condition).order_by(datasets.c.made_at, datasets.c.id)).all()
    query = select(examples.c.dataset_id, examples.c.body).join(datasets).where(condition).order_by(examples.c.number)
    bodies: defaultdict[str, list[str]] = defaultdict(list)
    for row in connection.execute(query):
        bodies[row.dataset_id].append(row.body)
    return [_dataset(row, bodies[row.id]) for row in found]


def find_namesake(connection: Connection, name: str, person: str) -> str | None:
    """Return the id of the same user's uploaded dataset of this name."""
    same = (datasets.c.name == name) & (datasets.c.person == person) & (datasets.c.kind == "uploaded")
    found: str | None = connection.scalar(select(datasets.c.id).where(same))
    return found


def put_dataset(connection: Connection, dataset: Dataset) -> None:
    """Write a dataset, replacing the one with its id."""
    connection.execute(delete(datasets).where(datasets.c.id == dataset.id))
    _insert(connection, dataset.id, dataset.name, dataset.kind, dataset.person)
    rows = [{"dataset_id": dataset.id, "key": one.key, "body": _dump(one)} for one in dataset.examples]
    connection.execute(insert(examples), rows)


def ensure_pinned(connection: Connection, person: str | None) -> str:
    """Create this user's pinned dataset if missing; return its id."""
    dataset_id = pinned_id(person)
    if connection.scalar(select(datasets.c.id).where(datasets.c.id == dataset_id)) is None:
        _insert(connection, dataset_id, PINNED, "pinned", person or "")
    return dataset_id


def find_pinned(connection: Connection, person: str | None, key: str) -> Pinned | None:
    """Find the pinned example of a question, the user's own first."""
    own = datasets.c.id != pinned_id(person)
    query = select(examples).join(datasets).where(pinned_by(person), examples.c.key == key).order_by(own)
    row = connection.execute(query).first()
    return Pinned(row.dataset_id, _load(row.body), row.run_id) if row else None


def put_pinned(connection: Connection, pinned: Pinned) -> None:
    """Write a pinned example, replacing the one with its key in its position."""
    key, values = pinned.example.key, {"body": _dump(pinned.example), "run_id": pinned.run_id}
    if connection.execute(update(examples).where(_chosen(pinned.dataset_id, key)).values(values)).rowcount == 0:
        connection.execute(insert(examples).values(dataset_id=pinned.dataset_id, key=key, **values))


def delete_example(connection: Connection, dataset_id: str, key: str) -> None:
    """Delete an example, if it exists."""
    connection.execute(delete(examples).where(_chosen(dataset_id, key)))


def _chosen(dataset_id: str, key: str) -> ColumnElement[bool]:
    return (examples.c.dataset_id == dataset_id) & (examples.c.key == key)


def _insert(connection: Connection, dataset_id: str, name: str, kind: DatasetKind, person: str) -> None:
    values = {"id": dataset_id, "name": name, "kind": kind, "person": person, "made_at": time.time()}
    connection.execute(insert(datasets).values(values))


def _dataset(row: Row[Any], bodies: Iterable[str]) -> Dataset:
    return Dataset(row.id, row.name, row.kind, tuple(map(_load, bodies)), row.made_at, row.person)


def _dump(example: Example) -> str:
    """Serialize an example as its JSON line."""
    return json.dumps(row_of(example))


def _load(body: str) -> Example:
    return read_example(json.loads(body), 1)
