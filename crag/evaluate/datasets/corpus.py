"""The passages that come with a dataset, added as a collection: one document per passage, named by its id."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crag.errors import BadRequest
from crag.json_lines import read_rows
from crag.library import Library
from crag.library.adding.ingest import Incoming
from crag.library.adding.parallel import map_in_order
from crag.library.adding.reading import CHUNK_OVERLAP, CHUNK_TOKENS, Bytes, Reading
from crag.library.adding.split import split
from crag.library.cleaning import clean_text, display_name
from crag.library.collections import collection_name
from crag.library.parse.plain import read_plain
from crag.models.tokens import count_passage_tokens
from crag.progress import Report, silent
from crag.stopping import Stop
from crag.types import AddResult, Progress

_TITLE_LENGTH, _ID_LENGTH = 120, 80


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """One line of a corpus. `data` is its text; a repeated text gets extra newlines to make its bytes unique."""

    id: str
    name: str
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def add_corpus(
    library: Library, path: Path, collection: str, report: Report | None = None, stop: Stop | None = None
) -> dict[str, str]:
    """Add the lines `{"id", "title", "text"}` as documents `{title} {id}.txt`; return document ids by line id.

    Existing documents cost almost nothing; a changed text replaces the old one. The parser process is not started,
    since the input is plain text. Raises `BadRequest`, naming the line, before anything is added, or for a passage that
    could not be added; `Stopped`, `HomeFault`. Documents added until then stay.
    """
    report, stop, collection = report or silent, stop or Stop(), collection_name(collection)
    paragraphs = _read(path)
    present = {(one.location, one.sha256): one.id for one in library.sources(collection)}
    ids = {one.id: present.get((one.name, one.sha256), "") for one in paragraphs}
    missing = [one for one in paragraphs if not ids[one.id]]

    def add(paragraph: _Paragraph, stop: Stop) -> AddResult:
        document = Bytes(paragraph.name, paragraph.data)
        incoming = Incoming(paragraph.name, paragraph.name, True, collection, document)
        return library.add_reading(incoming, _read_text, stop=stop)

    done = len(paragraphs) - len(missing)
    for paragraph, added in zip(missing, map_in_order(add, missing, stop), strict=True):
        report(Progress("Adding passages", done := done + 1, len(paragraphs)))
        ids[paragraph.id] = _id_of(added, paragraph)
        stop.check()
    return ids


def _read_text(document: Bytes, report: Report, stop: Stop) -> Reading:
    """Split a text document as the parser would, without its process."""
    report(Progress("Splitting"))

    def count(text: str) -> int:
        stop.check()
        return count_passage_tokens(text)

    chunks = split(read_plain(document.data.decode()), count, CHUNK_TOKENS, CHUNK_OVERLAP)
    return Reading(document.name, "text", None, chunks)


def _id_of(added: AddResult, paragraph: _Paragraph) -> str:
    if added.id:
        return added.id
    why = added.error.message if added.error else added.status
    raise BadRequest(f"Passage {paragraph.id} was not added: {why}", "Add the file again: what is there already stays.")


def _read(path: Path) -> list[_Paragraph]:
    """Read and validate every line. Raises `BadRequest`."""
    found: dict[str, _Paragraph] = {}
    said: Counter[str] = Counter()
    for number, row in read_rows(path):
        paragraph = _paragraph(row, number, said)
        if paragraph.id in found:
            raise BadRequest(f"Line {number}: id was given to another passage already.", "Give each its own.")
        found[paragraph.id] = paragraph
    if not found:
        raise BadRequest(
            "There is no passage in the file.", 'Write one a line: {"id": "…", "title": "…", "text": "…"}.'
        )
    return list(found.values())


def _paragraph(row: dict[str, Any], number: int, said: Counter[str]) -> _Paragraph:
    """Parse one line; `said` counts equal texts, since a collection holds the same bytes only once."""
    text, title = _text(row, "text", number), _text({"title": "", **row}, "title", number)
    given = row.get("id")
    id_ = " ".join(_text({"id": str(given) if type(given) is int else given}, "id", number).split())
    if not text or not id_ or len(id_) > _ID_LENGTH:
        raise BadRequest(f"Line {number}: text and id are needed, id in at most {_ID_LENGTH} characters.", "Mend it.")
    said[text] += 1
    name = f"{display_name(title)[:_TITLE_LENGTH]} {id_}.txt"
    return _Paragraph(id_, name, (text + "\n" * (said[text] - 1)).encode())


def _text(row: dict[str, Any], name: str, number: int) -> str:
    if not isinstance(row.get(name), str):
        raise BadRequest(f"Line {number}: {name} must be text.", "Mend it, then try again.")
    return clean_text(row[name]).strip()
