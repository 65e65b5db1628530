"""Saved thresholds of graders, and the passages users ruled on, by collection."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Row, delete, select, update

from crag.errors import BadRequest, NotFound
from crag.storage.engine import Database, replace_row
from crag.storage.row_security import changeable_collections
from crag.storage.tables import calibrations, collections, rulings
from crag.storage.user_scope import UserScoped
from crag.types import DEFAULT_COLLECTION, Passage, Thresholds

if TYPE_CHECKING:
    from crag.evaluation.threshold_proposal import Calibration

LabelledPassage = tuple[Passage, bool]


@dataclass(frozen=True, slots=True)
class SavedThresholds:
    """Thresholds in use for a grader on a collection, measured with `n` questions."""

    collection: str
    grader: str
    thresholds: Thresholds
    made_at: float
    n: int


class CalibrationRows(UserScoped):
    """Saved thresholds by collection and grader, set by those who may change the collection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, collection: str, grader: str, thresholds: Thresholds, calibration: Calibration) -> None:
        """Store thresholds with their measurement, replacing earlier ones.

        Raises `NotFound` if the collection was deleted or renamed, `BadRequest` if the user may not change it.
        """
        row = {
            "collection": collection,
            "grader": grader,
            "lower": thresholds.lower,
            "upper": thresholds.upper,
            "made_at": time.time(),
            "report": json.dumps({"scored": [asdict(one) for one in calibration.scored]}),
        }
        with self._database.write() as connection:
            named = select(collections.c.name).where(collections.c.name == collection)
            if collection and connection.execute(named.where(self._visible(collections))).first() is None:
                raise NotFound(f"The collection “{collection}” no longer exists.", "Measure again.")
            self._check_changeable(connection, collection)
            connection.execute(replace_row(connection, calibrations, row))

    def load(self, collection: str, grader: str) -> Thresholds | None:
        """Return the thresholds saved for exactly this grader and collection ("": the whole library)."""
        query = select(calibrations.c.lower, calibrations.c.upper).where(_calibration_condition(collection, grader))
        query = query.where(self._visible(calibrations))
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return Thresholds(row.lower, row.upper) if row else None

    def forget(self, collection: str, grader: str) -> bool:
        """Restore the grader's own thresholds; return whether others were saved.

        Raises `BadRequest` if the user may not change the collection.
        """
        saved = _calibration_condition(collection, grader) & self._visible(calibrations)
        with self._database.write() as connection:
            self._check_changeable(connection, collection)
            return connection.execute(delete(calibrations).where(saved)).rowcount > 0

    def _check_changeable(self, connection: Connection, collection: str) -> None:
        """Raise `BadRequest` if the user may not change a collection; the whole library belongs to everyone."""
        if self._user is None:  # thresholds of a collection that is gone can still be deleted
            return
        named = collections.c.name == (collection or DEFAULT_COLLECTION)
        changeable = select(collections.c.name).where(named, changeable_collections(self._user))
        if connection.execute(changeable).first() is None:
            raise BadRequest("You may not change these thresholds.", "Ask the owner, or an administrator.")

    def all(self) -> list[SavedThresholds]:
        """Return all saved thresholds, newest first."""
        with self._database.read() as connection:
            wanted = select(calibrations).where(self._visible(calibrations))
            rows = connection.execute(wanted.order_by(calibrations.c.made_at.desc())).all()
        return [_saved_thresholds_from_row(row) for row in rows]

    def rename_collection(self, name: str, new_name: str) -> None:
        """Move thresholds and rulings to the new name of a renamed collection."""
        with self._database.whole.write() as connection:
            for table in (calibrations, rulings):
                connection.execute(update(table).where(table.c.collection == name).values(collection=new_name))

    def delete_collection(self, name: str) -> None:
        """Delete the thresholds of a deleted collection, and the rulings on its passages."""
        with self._database.whole.write() as connection:
            for table in (calibrations, rulings):
                connection.execute(delete(table).where(table.c.collection == name))

    def labels(self, collection: str) -> dict[str, list[LabelledPassage]]:
        """Return the passages users ruled on, by question, with the last ruling on each: use it or not."""
        query = select(rulings).where(self._visible(rulings)).order_by(rulings.c.number)
        if collection:
            query = query.where(rulings.c.collection == collection)
        with self._database.read() as connection:
            rows = {(row.question, row.text): row for row in connection.execute(query)}
        labels: dict[str, list[LabelledPassage]] = {}
        for (question, _), row in rows.items():
            labels.setdefault(question, []).append((_passage_from_ruling(row), row.ruling == "use"))
        return labels


def _calibration_condition(collection: str, grader: str) -> ColumnElement[bool]:
    return (calibrations.c.collection == collection) & (calibrations.c.grader == grader)


def _saved_thresholds_from_row(row: Row[Any]) -> SavedThresholds:
    count = len(json.loads(row.report).get("scored", ()))
    return SavedThresholds(row.collection, row.grader, Thresholds(row.lower, row.upper), row.made_at, count)


def _passage_from_ruling(row: Row[Any]) -> Passage:
    return Passage(row.passage_id, "", row.title, "", row.text, row.text)
