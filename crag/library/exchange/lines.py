"""Passage exchange format: one JSON object per line, readable by LangChain users and this application."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from crag.errors import SourceRefused
from crag.library.cleaning import clean_text, display_name

LONGEST_LINE = 16 * 1024 * 1024  # bytes
_MOST_PAGES = 1_000_000
_LONGEST_QUESTION = 1_000
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One passage with the cleaned metadata of its source.

    `sha256` is the digest of the source file on the exporting machine. `context` holds the ordinals of the first and
    last passage of the wider text; `vector` belongs to the embedding space with the id `space`.
    Both are None if not given.
    """

    text: str
    location: str
    title: str
    page: int | None = None
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


def encode(text: str, metadata: Json, vector: list[float] | None = None, space: str = "") -> bytes:
    """Return one line, with its newline."""
    record: Json = {"text": text, "metadata": metadata}
    if vector is not None:
        record |= {"vector": vector, "space": space}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def decode(line: bytes, number: int, nameless: str) -> Line:
    """Parse a line, or one that other tools wrote as `page_content` and `metadata`. Only the text is required.

    `nameless` is the location for passages without a source. Raises `SourceRefused`, which gives the line `number`.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise _refused(number, "is not JSON") from None
    text = (record.get("text") or record.get("page_content")) if isinstance(record, dict) else None
    metadata = (record.get("metadata") or {}) if isinstance(record, dict) else None
    if not isinstance(text, str) or not clean_text(text).strip():
        raise _refused(number, "has no text")
    if not isinstance(metadata, dict):
        raise _refused(number, "has metadata that are no object")
    location = _string(metadata, "source").strip() or nameless
    return Line(
        text=clean_text(text).strip(),
        location=location,
        title=" ".join(_string(metadata, "title").split())[:200] or display_name(location.rstrip("/")),
        page=_page(metadata.get("page")),
        heading=_string(metadata, "heading")[:1000],
        author=_string(metadata, "author")[:200],
        published=_string(metadata, "published")[:10],
        found_by=_string(metadata, "found_by")[:_LONGEST_QUESTION],
        sha256=_string(metadata, "sha256"),
        from_zero="page_label" in metadata or metadata.get("page") == 0,
        context=_context(metadata.get("context")),
        vector=_vector(record.get("vector")),
        space=_string(record, "space"),
    )


def _refused(number: int, what: str) -> SourceRefused:
    return SourceRefused(
        "corrupt",
        f"Line {number:,} {what}; nothing was imported.",
        'Each line must be an object such as {"text": "…", "metadata": {"source": "…"}}.',
    )


def _string(fields: Json, name: str) -> str:
    value = fields.get(name)
    return clean_text(value) if isinstance(value, str) else ""


def _page(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < len(str(_MOST_PAGES)):
        value = int(value)
    return value if type(value) is int and 0 <= value < _MOST_PAGES else None


def _context(value: object) -> tuple[int, int] | None:
    if isinstance(value, list) and len(value) == 2 and all(type(place) is int for place in value):
        return value[0], value[1]
    return None


def _vector(value: object) -> tuple[float, ...] | None:
    if isinstance(value, list) and all(type(number) in (int, float) for number in value):
        return tuple(value)
    return None
