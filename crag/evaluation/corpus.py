"""The passages that come with a dataset, added as a collection with one document per passage."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crag.cancellation import Cancellation
from crag.concurrency.workers import map_in_order
from crag.errors import BadRequest
from crag.ingest.intake import SourceInput
from crag.ingest.parse.document import Document
from crag.ingest.parse.plain_text import text_blocks
from crag.ingest.reader import CHUNK_OVERLAP, CHUNK_TOKENS, RawDocument, ReadDocument, split_document
from crag.library.library import Library
from crag.models.token_counts import count_passage_tokens
from crag.storage.collections import normalize_collection_name
from crag.text.jsonl import read_json_lines
from crag.text.sanitization import clean_display_name, clean_text
from crag.types import AddResult, Progress, ProgressCallback, ignore_progress

_MAX_TITLE_LENGTH, _MAX_ID_LENGTH = 120, 80


@dataclass(frozen=True, slots=True)
class _CorpusPassage:
    """One line of a corpus. `data` is its text; a repeated text gets extra newlines to make its bytes unique."""

    id: str
    name: str
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def add_corpus(
    library: Library,
    path: Path,
    collection: str,
    report: ProgressCallback | None = None,
    stop: Cancellation | None = None,
) -> dict[str, str]:
    """Add the lines `{"id", "title", "text"}` as documents `{title} {id}.txt`; return document ids by line id.

    Existing documents cost almost nothing; a changed text replaces the old one. The parser process is not started,
    since the input is plain text. Raises `BadRequest`, naming the line, before anything is added, or for a passage that
    could not be added; `Stopped`, `HomeFault`. Documents added until then stay.
    """
    report, stop, collection = report or ignore_progress, stop or Cancellation(), normalize_collection_name(collection)
    paragraphs = _read_corpus(path)
    present = {(one.location, one.sha256): one.id for one in library.sources(collection)}
    ids = {one.id: present.get((one.name, one.sha256), "") for one in paragraphs}
    missing = [one for one in paragraphs if not ids[one.id]]

    def add(passage: _CorpusPassage, stop: Cancellation) -> AddResult:
        document = RawDocument(passage.name, passage.data)
        incoming = SourceInput(passage.name, passage.name, True, collection, document)
        return library.pipeline.add_with_reader(incoming, _split_plain_text, stop=stop)

    done = len(paragraphs) - len(missing)
    for passage, added in zip(missing, map_in_order(add, missing, stop), strict=True):
        report(Progress("Adding passages", done := done + 1, len(paragraphs)))
        ids[passage.id] = _added_document_id(added, passage)
        stop.check()
    return ids


def _split_plain_text(document: RawDocument, report: ProgressCallback, stop: Cancellation) -> ReadDocument:
    """Split a text document as the parser would, without its process."""
    report(Progress("Splitting"))

    def count(text: str) -> int:
        stop.check()
        return count_passage_tokens(text)

    chunks = split_document(Document("", None, text_blocks(document.data.decode())), count, CHUNK_TOKENS, CHUNK_OVERLAP)
    return ReadDocument(document.name, "text", None, chunks)


def _added_document_id(added: AddResult, passage: _CorpusPassage) -> str:
    if added.id:
        return added.id
    why = added.error.message if added.error else added.status
    raise BadRequest(f"Passage {passage.id} was not added: {why}", "Add the file again: what is there already stays.")


def _read_corpus(path: Path) -> list[_CorpusPassage]:
    """Read and validate every line. Raises `BadRequest`."""
    found: dict[str, _CorpusPassage] = {}
    text_counts: Counter[str] = Counter()
    for number, row in read_json_lines(path):
        passage = _parse_corpus_row(row, number, text_counts)
        if passage.id in found:
            raise BadRequest(f"Line {number}: id was given to another passage already.", "Give each its own.")
        found[passage.id] = passage
    if not found:
        raise BadRequest(
            "There is no passage in the file.", 'Write one per line: {"id": "…", "title": "…", "text": "…"}.'
        )
    return list(found.values())


def _parse_corpus_row(row: dict[str, Any], number: int, text_counts: Counter[str]) -> _CorpusPassage:
    """Parse one line; `text_counts` counts equal texts, since a collection holds the same bytes only once."""
    text, title = _read_text_field(row, "text", number), _read_text_field({"title": "", **row}, "title", number)
    given = row.get("id")
    id_ = " ".join(_read_text_field({"id": str(given) if type(given) is int else given}, "id", number).split())
    if not text or not id_ or len(id_) > _MAX_ID_LENGTH:
        raise BadRequest(
            f"Line {number}: text and id are needed, id in at most {_MAX_ID_LENGTH} characters.",
            "Fix it and try again.",
        )
    text_counts[text] += 1
    name = f"{clean_display_name(title)[:_MAX_TITLE_LENGTH]} {id_}.txt"
    return _CorpusPassage(id_, name, (text + "\n" * (text_counts[text] - 1)).encode())


def _read_text_field(row: dict[str, Any], name: str, number: int) -> str:
    if not isinstance(row.get(name), str):
        raise BadRequest(f"Line {number}: {name} must be text.", "Fix it and try again.")
    return clean_text(row[name]).strip()
