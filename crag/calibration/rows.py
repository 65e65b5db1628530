"""Database rows of calibration: saved thresholds, and users' rulings that count as labels."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from crag.calibration.values import Calibration, Kept
from crag.database import Database
from crag.database.tables import calibrations, collections, rulings
from crag.errors import NotFound
from crag.options import Thresholds
from crag.types import Passage

Label = tuple[Passage, bool]


class CalibrationRows:
    """Saved thresholds by collection and grader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, collection: str, grader: str, thresholds: Thresholds, measured: Calibration) -> None:
        """Store thresholds with their measurement, replacing earlier ones.

        Raises `NotFound` if the collection was deleted or renamed.
        """
        values = {
            "lower": thresholds.lower,
            "upper": thresholds.upper,
            "made_at": time.time(),
            "report": json.dumps({"scored": [asdict(one) for one in measured.scored]}),
        }
        row = insert(calibrations).values(collection=collection, grader=grader, **values)
        with self._database.write() as connection:
            named = select(collections.c.name).where(collections.c.name == collection)
            if collection and connection.execute(named).first() is None:
                raise NotFound(f"There is no collection “{collection}” any more.", "Measure again.")
            connection.execute(row.on_conflict_do_update(index_elements=["collection", "grader"], set_=values))

    def load(self, collection: str, grader: str) -> Thresholds | None:
        """Return the thresholds saved for exactly this collection and grader."""
        query = select(calibrations.c.lower, calibrations.c.upper).where(_is(collection, grader))
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return Thresholds(row.lower, row.upper) if row else None

    def forget(self, collection: str, grader: str) -> bool:
        """Delete saved thresholds; return whether there were any."""
        with self._database.write() as connection:
            return connection.execute(delete(calibrations).where(_is(collection, grader))).rowcount > 0

    def all(self) -> list[Kept]:
        """Return all saved thresholds, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(select(calibrations).order_by(calibrations.c.made_at.desc())).all()
        return [_kept(row) for row in rows]

    def follow_collection(self, name: str, new_name: str) -> None:
        """Move thresholds and rulings to the new name of a renamed collection."""
        with self._database.write() as connection:
            for table in (calibrations, rulings):
                connection.execute(update(table).where(table.c.collection == name).values(collection=new_name))

    def forget_collection(self, name: str) -> None:
        """Delete the thresholds of a deleted collection, and the rulings on its passages."""
        with self._database.write() as connection:
            for table in (calibrations, rulings):
                connection.execute(delete(table).where(table.c.collection == name))

    def labels(self, collection: str) -> dict[str, list[Label]]:
        """Return the passages users ruled on, by question, with the last ruling on each: use it or not."""
        query = select(rulings).order_by(rulings.c.number)
        if collection:
            query = query.where(rulings.c.collection == collection)
        with self._database.read() as connection:
            rows = {(row.question, row.text): row for row in connection.execute(query)}
        labels: dict[str, list[Label]] = {}
        for (question, _), row in rows.items():
            labels.setdefault(question, []).append((_passage(row), row.ruling == "use"))
        return labels


def _is(collection: str, grader: str) -> ColumnElement[bool]:
    return (calibrations.c.collection == collection) & (calibrations.c.grader == grader)


def _kept(row: Row[Any]) -> Kept:
    count = len(json.loads(row.report).get("scored", ()))
    return Kept(row.collection, row.grader, Thresholds(row.lower, row.upper), row.made_at, count)


def _passage(row: Row[Any]) -> Passage:
    return Passage(row.passage_id, "", row.title, "", row.text, row.text)
