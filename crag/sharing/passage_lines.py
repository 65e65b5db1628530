"""Passage exchange format, one JSON object per line, readable by LangChain users, and its export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, select

from crag.cancellation import Cancellation
from crag.errors import BadRequest, SourceRefused
from crag.storage.engine import Database
from crag.storage.files import check_absent, move_into_place, staging_folder
from crag.storage.passages import SearchScope, decode_page_starts
from crag.storage.tables import passages, sources, vectors
from crag.storage.user_scope import visible_questions
from crag.text.sanitization import clean_display_name, clean_text
from crag.types import EmbeddingSpace, PageStarts, Progress, ProgressCallback, Vectors

MAX_LINE_BYTES = 16 * 1024 * 1024  # bytes
_MAX_PAGES = 1_000_000
_MAX_QUESTION_LENGTH = 1_000
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PassageLine:
    """One passage with the cleaned metadata of its source.

    `page_starts` are the later pages that begin within the text. `sha256` is the digest of the source file on the
    exporting machine. `context` holds the ordinals of the first and last passage of the wider text; `vector` belongs to
    the embedding space with the id `space`. Both are None if not given.
    """

    text: str
    location: str
    title: str
    page: int | None = None
    page_starts: PageStarts = ()
    heading: str = ""
    author: str = ""
    published: str = ""
    found_by: str = ""
    sha256: str = ""
    from_zero: bool = False
    context: tuple[int, int] | None = None
    vector: tuple[float, ...] | None = None
    space: str = ""

    @property
    def source_key(self) -> tuple[str, str]:
        """Equal for all passages of one source. Locations alone can coincide, as for two uploads of the same name."""
        return self.sha256, self.location


def encode_line(text: str, metadata: Json, vector: list[float] | None = None, space: str = "") -> bytes:
    """Return one line, with its newline."""
    record: Json = {"text": text, "metadata": metadata}
    if vector is not None:
        record |= {"vector": vector, "space": space}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def decode_line(line: bytes, number: int, default_location: str) -> PassageLine:
    """Parse a line, or one that other tools wrote as `page_content` and `metadata`. Only the text is required.

    `default_location` is for passages without a source. Raises `SourceRefused`, which gives the line `number`.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise _invalid_line_error(number, "is not JSON") from None
    text = (record.get("text") or record.get("page_content")) if isinstance(record, dict) else None
    metadata = (record.get("metadata") or {}) if isinstance(record, dict) else None
    if not isinstance(text, str) or not clean_text(text).strip():
        raise _invalid_line_error(number, "has no text")
    if not isinstance(metadata, dict):
        raise _invalid_line_error(number, "has metadata that is not an object")
    location = _get_string(metadata, "source").strip() or default_location
    cleaned, page = clean_text(text).strip(), _parse_page(metadata.get("page"))
    return PassageLine(
        text=cleaned,
        location=location,
        title=" ".join(_get_string(metadata, "title").split())[:200] or clean_display_name(location.rstrip("/")),
        page=page,
        page_starts=_parse_page_starts(metadata.get("page_starts"), page) if cleaned == text else (),
        heading=_get_string(metadata, "heading")[:1000],
        author=_get_string(metadata, "author")[:200],
        published=_get_string(metadata, "published")[:10],
        found_by=_get_string(metadata, "found_by")[:_MAX_QUESTION_LENGTH],
        sha256=_get_string(metadata, "sha256"),
        from_zero="page_label" in metadata or metadata.get("page") == 0,
        context=_parse_context(metadata.get("context")),
        vector=_parse_vector(record.get("vector")),
        space=_get_string(record, "space"),
    )


def _invalid_line_error(number: int, what: str) -> SourceRefused:
    return SourceRefused(
        "corrupt",
        f"Line {number:,} {what}; nothing was imported.",
        'Each line must be an object such as {"text": "…", "metadata": {"source": "…"}}.',
    )


def _get_string(fields: Json, name: str) -> str:
    value = fields.get(name)
    return clean_text(value) if isinstance(value, str) else ""


def _parse_page(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < len(str(_MAX_PAGES)):
        value = int(value)
    return value if type(value) is int and 0 <= value < _MAX_PAGES else None


def _parse_page_starts(value: object, first: int | None) -> PageStarts:
    """Return pairs of rising offsets and pages above the first one; nothing if there is anything else."""
    if first is None or not isinstance(value, list):
        return ()
    pairs = [tuple(one) for one in value if isinstance(one, list) and all(type(number) is int for number in one)]
    rising = all(
        len(one) == 2 and one[0] > before[0] and one[1] > before[1] for before, one in pairwise([(0, first), *pairs])
    )
    return tuple((offset, page) for offset, page in pairs) if rising and len(pairs) == len(value) else ()


def _parse_context(value: object) -> tuple[int, int] | None:
    if isinstance(value, list) and len(value) == 2 and all(type(place) is int for place in value):
        return value[0], value[1]
    return None


def _parse_vector(value: object) -> tuple[float, ...] | None:
    if isinstance(value, list) and all(type(number) in (int, float) for number in value):
        return tuple(value)
    return None


_BATCH_SIZE = 500
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
    """Selects the passages to export and the embedding space of their vectors.

    Only what `user` (None: anyone) may read; questions that led to a document only if they asked them.
    """

    database: Database
    space: EmbeddingSpace
    collection: str
    user: str | None = None

    @contextmanager
    def open(self, report: ProgressCallback, stop: Cancellation) -> Iterator[Iterator[ExportedPassage]]:
        """Yield all passages, source by source. Raises `BadRequest` if there are none, `Stopped`."""
        limits = SearchScope(self.user, self.collection).conditions()
        with self.database.snapshot() as connection:
            total = connection.scalar(select(func.count()).select_from(passages.join(sources)).where(*limits)) or 0
            if not total:
                raise BadRequest("There is nothing to export.", "Add documents first.")
            rows = connection.execution_options(yield_per=_BATCH_SIZE).execute(
                _passages_query(self.space).where(*limits)
            )
            yield self._with_progress(rows, self._visible_questions(connection), total, report, stop)

    def _visible_questions(self, connection: Connection) -> set[str]:
        questions = set(connection.scalars(select(sources.c.found_by).distinct()))
        return visible_questions(connection, questions, self.user)

    def _with_progress(
        self, rows: Any, questions: set[str], total: int, report: ProgressCallback, stop: Cancellation
    ) -> Iterator[ExportedPassage]:
        import numpy as np

        for done, row in enumerate(rows):
            if done % _BATCH_SIZE == 0:
                stop.check()
                report(Progress("Exporting passages", done, total))
            vector = None if row.vector is None else np.frombuffer(row.vector, dtype="<f4")
            metadata = _passage_metadata(row, row.found_by if row.found_by in questions else "")
            yield ExportedPassage(row.id, row.text, metadata, vector)


def export_lines(
    export: PassageExport, destination: Path, with_vectors: bool, report: ProgressCallback, stop: Cancellation
) -> int:
    """Write JSON Lines and return the number of passages. Raises `BadRequest`, `HomeFault`, `Stopped`."""
    check_absent(destination)
    count = 0
    with staging_folder(destination) as work, export.open(report, stop) as exported:
        with (work / "lines").open("xb") as file:
            for count, passage in enumerate(exported, start=1):  # noqa: B007 — the last value is the number written
                row = passage.vector if with_vectors else None
                vector = None if row is None else _shortest_decimals(row)
                file.write(encode_line(passage.text, passage.metadata, vector, export.space.id))
        move_into_place(work / "lines", destination)
    return count


def write_space(path: Path, space: EmbeddingSpace) -> None:
    """Write the file that describes the embedding space of the exported vectors."""
    path.write_text(json.dumps({"id": space.id} | asdict(space), indent=2) + "\n", encoding="utf-8")


def _shortest_decimals(vector: Vectors) -> list[float]:
    """Return the shortest decimals that parse back to the same 32-bit floats."""
    return [float(str(number)) for number in vector]


def _passages_query(space: EmbeddingSpace) -> Any:
    passages_with_vectors = passages.outerjoin(
        vectors, (vectors.c.passage_id == passages.c.id) & (vectors.c.space_id == space.id)
    )
    columns = ("title", "location", "kind", "sha256", "author", "published", "found_by")
    return (
        select(passages, vectors.c.vector, *(sources.c[name] for name in columns))
        .select_from(passages_with_vectors.join(sources, sources.c.id == passages.c.source_id))
        .order_by(sources.c.added_at, sources.c.id, passages.c.ordinal)
    )


def _passage_metadata(row: Row[Any], found_by: str) -> Json:
    """Return plain values as LangChain users expect them; unknown values are omitted."""
    metadata: Json = {"source": row.location, "title": row.title, "page": row.page, "heading": row.heading}
    metadata |= {"author": row.author, "published": row.published, "found_by": found_by}
    metadata |= {"kind": row.kind, "sha256": row.sha256}
    metadata |= {"page_starts": decode_page_starts(row.page_starts) or None}
    metadata |= {"source_id": row.source_id, "passage_id": row.id, "context": [row.context_start, row.context_end]}
    return {name: value for name, value in metadata.items() if value not in ("", None)}
