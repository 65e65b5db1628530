"""The datasets of a home: the built-in one, the questions that each user pinned, and uploaded ones."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

from sqlalchemy import delete, select, update
from sqlalchemy.sql.elements import ColumnElement

from crag.database.tables import datasets
from crag.errors import BadRequest, NotFound
from crag.evaluate.datasets.examples import Dataset
from crag.evaluate.datasets.pins import Pinning
from crag.evaluate.datasets.reading import read_examples, row_of
from crag.evaluate.datasets.rows import (
    PINNED,
    delete_example,
    find_namesake,
    pinned_by,
    pinned_id,
    put_dataset,
    read_datasets,
    visible,
)
from crag.evaluate.datasets.seed import SEED
from crag.ledger import SERVER
from crag.library.cleaning import display_name


class Datasets(Pinning):
    """All datasets. `person` is the user who asks: None may see all; a key, its own datasets and shared ones."""

    def all(self, person: str | None = None) -> list[Dataset]:
        """Return the built-in dataset, the pinned questions, then the uploaded ones, newest first."""
        with self._database.snapshot() as connection:
            found = read_datasets(connection, visible(person))
        uploaded = [one for one in found if one.kind == "uploaded"]
        pinned = _joined([one for one in found if one.kind == "pinned"], person)
        return [SEED, pinned, *sorted(uploaded, key=lambda one: -one.made_at)]

    def get(self, dataset_id: str, person: str | None = None) -> Dataset:
        """Return one dataset. Raises `NotFound`, also for another user's dataset."""
        if dataset_id == SEED.id:
            return SEED
        if dataset_id == pinned_id(person):
            return self.pinned(person)
        with self._database.snapshot() as connection:
            found = read_datasets(connection, visible(person) & (datasets.c.id == dataset_id))
        if not found:
            raise NotFound("This dataset is no longer there.", "Choose another.")
        return found[0]

    def pinned(self, person: str | None = None) -> Dataset:
        """Return the questions this user pinned, for None those of all users; the dataset may be empty."""
        with self._database.snapshot() as connection:
            return _joined(read_datasets(connection, pinned_by(person)), person)

    def add(self, name: str, data: bytes, person: str = "") -> Dataset:
        """Store the examples of a JSON Lines file, replacing the same user's dataset of this name.

        Raises `BadRequest` for an unreadable file, before anything is stored.
        """
        read, name = read_examples(data), _kept_name(name)
        with self._database.write() as connection:
            dataset_id = find_namesake(connection, name, person) or uuid.uuid4().hex
            put_dataset(connection, Dataset(dataset_id, name, "uploaded", read, person=person))
        return self.get(dataset_id)

    def rename(self, dataset_id: str, name: str, person: str | None = None) -> None:
        """Rename a dataset. Raises `NotFound`, or `BadRequest` for a taken or empty name, or a pinned dataset."""
        dataset, name = self._own(dataset_id, person), _kept_name(name)
        if dataset.kind == "pinned":
            raise BadRequest("What is pinned keeps its name.", "Export it, and add it under another one.")
        with self._database.write() as connection:
            if find_namesake(connection, name, dataset.person) not in (None, dataset_id):
                raise BadRequest(f"There is a dataset “{name}” already.", "Choose another name.")
            connection.execute(update(datasets).where(datasets.c.id == dataset_id).values(name=name))

    def delete(self, dataset_id: str, person: str | None = None) -> None:
        """Delete a dataset; its evaluations keep their examples. Raises `NotFound`, `BadRequest` if built in."""
        meant = _meant(self._own(dataset_id, person), person)
        with self._database.write() as connection:
            connection.execute(delete(datasets).where(meant))

    def remove_example(self, dataset_id: str, key: str, person: str | None = None) -> None:
        """Remove one example. Raises `NotFound`, `BadRequest` for the built-in dataset."""
        meant = _meant(self._own(dataset_id, person), person)
        with self._database.write() as connection:
            for one in connection.scalars(select(datasets.c.id).where(meant)).all():
                delete_example(connection, one, key)

    def as_json_lines(self, dataset_id: str, person: str | None = None) -> str:
        """Return the dataset as a JSON Lines file that can be added again. Raises `NotFound`."""
        rows = map(row_of, self.get(dataset_id, person).examples)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def _own(self, dataset_id: str, person: str | None) -> Dataset:
        if dataset_id == SEED.id:
            raise BadRequest("The built-in dataset stays as it is.", "Add one of your own.")
        return self.get(dataset_id, person)


def _joined(pinned: Sequence[Dataset], person: str | None) -> Dataset:
    """Merge pinned datasets into one, each question once, the user's own first.

    For a caller who may see all, the merged dataset belongs to the only user with pinned questions. If several users
    have some, it belongs to `SERVER`, so none of them sees it.
    """
    own_first = sorted(pinned, key=lambda one: one.id != pinned_id(person))
    found = {example.key: example for one in reversed(own_first) for example in reversed(one.examples)}
    made_at = max((one.made_at for one in pinned), default=0.0)
    return Dataset(
        pinned_id(person), PINNED, "pinned", tuple(reversed(found.values())), made_at, person or _whose(pinned)
    )


def _whose(pinned: Sequence[Dataset]) -> str:
    people = {one.person for one in pinned if one.examples} - {""}
    return SERVER if len(people) > 1 else "".join(people)


def _meant(dataset: Dataset, person: str | None) -> ColumnElement[bool]:
    """Return the condition for the rows behind a dataset; pinned questions may span several."""
    return pinned_by(person) if dataset.kind == "pinned" else datasets.c.id == dataset.id


def _kept_name(name: str) -> str:
    if not name.strip():
        raise BadRequest("A dataset needs a name.", "Write one, then try again.")
    return display_name(name)
