"""The datasets of a home: the built-in one, the questions that each person pinned, and those that were uploaded."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, true, update
from sqlalchemy.sql.elements import ColumnElement

from crag.database import Database
from crag.database.tables import datasets, examples
from crag.errors import BadRequest, NotFound
from crag.evaluate.reading import read_example, read_examples, row_of
from crag.evaluate.seed import SEED
from crag.evaluate.values import Dataset, DatasetKind, Example
from crag.library.cleaning import display_name

PINNED = "Pinned questions"


class Datasets:
    """All datasets. `person` is who looks: None owns all; a key, what is that browser's or everybody's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, person: str | None = None) -> list[Dataset]:
        """The built-in one, what was pinned, what was uploaded, the latest first."""
        with self._database.snapshot() as connection:
            found = _read(connection, _visible(person))
        own = next((one for one in found if one.id == pinned_id(person)), _nothing_pinned(person))
        rest = [one for one in found if one.id != own.id]
        return [SEED, own, *sorted(rest, key=lambda one: (one.kind != "pinned", -one.made_at))]

    def get(self, dataset_id: str, person: str | None = None) -> Dataset:
        """One dataset. Raises `NotFound`, also for one of somebody else."""
        if dataset_id == SEED.id:
            return SEED
        if dataset_id == pinned_id(person):
            return self.pinned(person)
        with self._database.snapshot() as connection:
            found = _read(connection, _visible(person) & (datasets.c.id == dataset_id))
        if not found:
            raise NotFound("This dataset is no longer there.", "Choose another.")
        return found[0]

    def pinned(self, person: str | None = None) -> Dataset:
        """The questions that this person pinned; without examples where there are none."""
        with self._database.snapshot() as connection:
            found = _read(connection, datasets.c.id == pinned_id(person))
        return found[0] if found else _nothing_pinned(person)

    def add(self, name: str, data: bytes, person: str = "") -> Dataset:
        """Keeps the examples of a JSON Lines file; it takes the place of what the same person kept under this name.

        Raises `BadRequest` for one that cannot be read, before anything is kept.
        """
        read, name = read_examples(data), _kept_name(name)
        rows = [_row(example) for example in read]
        with self._database.write() as connection:
            dataset_id = _find_namesake(connection, name, person) or uuid.uuid4().hex
            connection.execute(delete(datasets).where(datasets.c.id == dataset_id))
            _insert_dataset(connection, dataset_id, name, "uploaded", person)
            connection.execute(insert(examples), [{"dataset_id": dataset_id, **row} for row in rows])
        return self.get(dataset_id)

    def rename(self, dataset_id: str, name: str, person: str | None = None) -> None:
        """Gives it another name. Raises `BadRequest` for one that is taken or empty, `NotFound`."""
        dataset, name = self._own(dataset_id, person), _kept_name(name)
        with self._database.write() as connection:
            if _find_namesake(connection, name, dataset.person) not in (None, dataset_id):
                raise BadRequest(f"There is a dataset “{name}” already.", "Choose another name.")
            connection.execute(update(datasets).where(datasets.c.id == dataset_id).values(name=name))

    def delete(self, dataset_id: str, person: str | None = None) -> None:
        """Deletes it; evaluations of it keep their examples. Raises `BadRequest` for the built-in one, `NotFound`."""
        self._own(dataset_id, person)
        with self._database.write() as connection:
            connection.execute(delete(datasets).where(datasets.c.id == dataset_id))

    def remove_example(self, dataset_id: str, key: str, person: str | None = None) -> None:
        """Takes one example out. Raises `BadRequest` for the built-in one, `NotFound`."""
        self._own(dataset_id, person)
        chosen = (examples.c.dataset_id == dataset_id) & (examples.c.key == key)
        with self._database.write() as connection:
            connection.execute(delete(examples).where(chosen))

    def as_json_lines(self, dataset_id: str, person: str | None = None) -> str:
        """The dataset as a file that can be added again. Raises `NotFound`."""
        rows = map(row_of, self.get(dataset_id, person).examples)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def _own(self, dataset_id: str, person: str | None) -> Dataset:
        if dataset_id == SEED.id:
            raise BadRequest("The built-in dataset stays as it is.", "Add one of your own.")
        return self.get(dataset_id, person)


def pinned_id(person: str | None) -> str:
    """The id of what a person pinned, whether anything is pinned or not; the key cannot be told from it."""
    return hashlib.sha256(f"pinned\x1f{person or ''}".encode()).hexdigest()[:32]


def ensure_pinned(connection: Connection, person: str | None) -> str:
    """Makes sure that the dataset of what this person pins is there; its id."""
    dataset_id = pinned_id(person)
    if connection.execute(select(datasets.c.id).where(datasets.c.id == dataset_id)).first() is None:
        _insert_dataset(connection, dataset_id, PINNED, "pinned", person or "")
    return dataset_id


def dump_example(example: Example) -> str:
    """As it is kept: the line that says it."""
    return json.dumps(row_of(example))


def load_example(body: str) -> Example:
    """An example as it was kept."""
    return read_example(json.loads(body), 1)


def _read(connection: Connection, condition: ColumnElement[bool]) -> list[Dataset]:
    """The datasets that meet the condition, with their examples in the order of the file."""
    found = connection.execute(select(datasets).where(condition)).all()
    query = select(examples.c.dataset_id, examples.c.body).join(datasets).where(condition).order_by(examples.c.number)
    bodies: defaultdict[str, list[str]] = defaultdict(list)
    for row in connection.execute(query):
        bodies[row.dataset_id].append(row.body)
    return [_dataset(row, bodies[row.id]) for row in found]


def _dataset(row: Row[Any], bodies: Iterable[str]) -> Dataset:
    return Dataset(row.id, row.name, row.kind, tuple(map(load_example, bodies)), row.made_at, row.person)


def _nothing_pinned(person: str | None) -> Dataset:
    return Dataset(pinned_id(person), PINNED, "pinned", (), person=person or "")


def _visible(person: str | None) -> ColumnElement[bool]:
    return true() if person is None else datasets.c.person.in_(("", person))


def _kept_name(name: str) -> str:
    if not name.strip():
        raise BadRequest("A dataset needs a name.", "Write one, then try again.")
    return display_name(name)


def _find_namesake(connection: Connection, name: str, person: str) -> str | None:
    same = (datasets.c.name == name) & (datasets.c.person == person) & (datasets.c.kind == "uploaded")
    found: str | None = connection.scalar(select(datasets.c.id).where(same))
    return found


def _insert_dataset(connection: Connection, dataset_id: str, name: str, kind: DatasetKind, person: str) -> None:
    values = {"id": dataset_id, "name": name, "kind": kind, "person": person, "made_at": time.time()}
    connection.execute(insert(datasets).values(values))


def _row(example: Example) -> dict[str, str]:
    return {"key": example.key, "body": dump_example(example)}
