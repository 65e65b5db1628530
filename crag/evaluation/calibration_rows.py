"""Saved thresholds of graders, and the passages users ruled on, by collection."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Row, delete, select, update

from crag.errors import NotFound
from crag.storage.engine import Database, insert_into
from crag.storage.tables import calibrations, collections, rulings
from crag.types import Passage, Thresholds

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


class CalibrationRows:
    """Saved thresholds by collection and grader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, collection: str, grader: str, thresholds: Thresholds, calibration: Calibration) -> None:
        """Store thresholds with their measurement, replacing earlier ones.

        Raises `NotFound` if the collection was deleted or renamed.
        """
        values = {
            "lower": thresholds.lower,
            "upper": thresholds.upper,
            "made_at": time.time(),
            "report": json.dumps({"scored": [asdict(one) for one in calibration.scored]}),
        }
        with self._database.write() as connection:
            row = insert_into(connection, calibrations).values(collection=collection, grader=grader, **values)
            named = select(collections.c.name).where(collections.c.name == collection)
            if collection and connection.execute(named).first() is None:
                raise NotFound(f"The collection “{collection}” no longer exists.", "Measure again.")
            connection.execute(row.on_conflict_do_update(index_elements=["collection", "grader"], set_=values))

    def load(self, collection: str, grader: str) -> Thresholds | None:
        """Return the thresholds saved for exactly this grader and collection ("": the whole library)."""
        query = select(calibrations.c.lower, calibrations.c.upper).where(_calibration_condition(collection, grader))
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return Thresholds(row.lower, row.upper) if row else None

    def forget(self, collection: str, grader: str) -> bool:
        """Restore the grader's own thresholds; return whether others were saved."""
        with self._database.write() as connection:
            return (
                connection.execute(delete(calibrations).where(_calibration_condition(collection, grader))).rowcount > 0
            )

    def all(self) -> list[SavedThresholds]:
        """Return all saved thresholds, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(select(calibrations).order_by(calibrations.c.made_at.desc())).all()
        return [_saved_thresholds_from_row(row) for row in rows]

    def rename_collection(self, name: str, new_name: str) -> None:
        """Move thresholds and rulings to the new name of a renamed collection."""
        with self._database.write() as connection:
            for table in (calibrations, rulings):
                connection.execute(update(table).where(table.c.collection == name).values(collection=new_name))

    def delete_collection(self, name: str) -> None:
        """Delete the thresholds of a deleted collection, and the rulings on its passages."""
        with self._database.write() as connection:
            for table in (calibrations, rulings):
                connection.execute(delete(table).where(table.c.collection == name))

    def labels(self, collection: str) -> dict[str, list[LabelledPassage]]:
        """Return the passages users ruled on, by question, with the last ruling on each: use it or not."""
        query = select(rulings).order_by(rulings.c.number)
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
