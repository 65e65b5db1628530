"""Passages of a collection for export, read from one snapshot of the library in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Row, func, select

from crag.database import Database
from crag.database.tables import passages, sources, vectors
from crag.errors import BadRequest
from crag.library.exchange.lines import Json, encode
from crag.library.exchange.staging import check_new, put_in_place, staging_folder
from crag.library.passages import within
from crag.progress import Report
from crag.protocols import Vectors
from crag.stopping import Stop
from crag.types import Progress, Space

_AT_ONCE = 500
SPACE_FILE = "space.json"


@dataclass(frozen=True, slots=True)
class ExportedPassage:
    """One passage with its metadata, and its vector if the space has one."""

    id: int
    text: str
    metadata: Json
    vector: Vectors | None


@dataclass(frozen=True, slots=True)
class PassageExport:
    """Selects the passages to export and the embedding space of their vectors."""

    database: Database
    space: Space
    collection: str

    @contextmanager
    def open(self, report: Report, stop: Stop) -> Iterator[Iterator[ExportedPassage]]:
        """Yield all passages, source by source. Raises `BadRequest` if there are none, `Stopped`."""
        limits = within(self.collection, ())
        with self.database.snapshot() as connection:
            total = connection.scalar(select(func.count()).select_from(passages.join(sources)).where(*limits)) or 0
            if not total:
                raise BadRequest("There is nothing to export.", "Add documents first.")
            rows = connection.execution_options(yield_per=_AT_ONCE).execute(_query(self.space).where(*limits))
            yield self._watched(rows, total, report, stop)

    def _watched(self, rows: Any, total: int, report: Report, stop: Stop) -> Iterator[ExportedPassage]:
        import numpy as np

        for done, row in enumerate(rows):
            if done % _AT_ONCE == 0:
                stop.check()
                report(Progress("Exporting passages", done, total))
            vector = None if row.vector is None else np.frombuffer(row.vector, dtype="<f4")
            yield ExportedPassage(row.id, row.text, _metadata(row), vector)


def export_lines(export: PassageExport, destination: Path, with_vectors: bool, report: Report, stop: Stop) -> int:
    """Write JSON Lines and return the number of passages. Raises `BadRequest`, `HomeFault`, `Stopped`."""
    check_new(destination)
    count = 0
    with staging_folder(destination) as work, export.open(report, stop) as exported:
        with (work / "lines").open("xb") as file:
            for count, passage in enumerate(exported, start=1):  # noqa: B007 — the last value is the number written
                row = passage.vector if with_vectors else None
                vector = None if row is None else _shortest(row)
                file.write(encode(passage.text, passage.metadata, vector, export.space.id))
        put_in_place(work / "lines", destination)
    return count


def write_space(path: Path, space: Space) -> None:
    """Write the file that describes the embedding space of the exported vectors."""
    path.write_text(json.dumps({"id": space.id} | asdict(space), indent=2) + "\n", encoding="utf-8")


def _shortest(vector: Vectors) -> list[float]:
    """Return the shortest decimals that parse back to the same 32-bit floats."""
    return [float(str(number)) for number in vector]


def _query(space: Space) -> Any:
    passages_with_vectors = passages.outerjoin(
        vectors, (vectors.c.passage_id == passages.c.id) & (vectors.c.space_id == space.id)
    )
    columns = ("title", "location", "kind", "sha256", "author", "published", "found_by")
    return (
        select(passages, vectors.c.vector, *(sources.c[name] for name in columns))
        .select_from(passages_with_vectors.join(sources, sources.c.id == passages.c.source_id))
        .order_by(sources.c.added_at, sources.c.id, passages.c.ordinal)
    )


def _metadata(row: Row[Any]) -> Json:
    """Return plain values as LangChain users expect them; unknown values are omitted."""
    metadata: Json = {"source": row.location, "title": row.title, "page": row.page, "heading": row.heading}
    metadata |= {"author": row.author, "published": row.published, "found_by": row.found_by}
    metadata |= {"kind": row.kind, "sha256": row.sha256}
    metadata |= {"source_id": row.source_id, "passage_id": row.id, "context": [row.context_start, row.context_end]}
    return {name: value for name, value in metadata.items() if value not in ("", None)}
