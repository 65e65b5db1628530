"""The line format of exchange: one JSON object a passage, which LangChain's users and this application both read."""

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
    """One passage with what is known of its source, cleaned.

    `sha256` is that of the source's file where it came from. `context` are the places of the first and the last
    passage of its wider text, `vector` is of the space with this id; each is None where nobody said it.
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
        """Equal for the passages of one source: places alone may be shared, as by two uploads of one name."""
        return self.sha256, self.location


def encode(text: str, metadata: Json, vector: list[float] | None = None, space: str = "") -> bytes:
    """One line, with its end."""
    held: Json = {"text": text, "metadata": metadata}
    if vector is not None:
        held |= {"vector": vector, "space": space}
    return json.dumps(held, ensure_ascii=False).encode() + b"\n"


def decode(line: bytes, number: int, nameless: str) -> Line:
    """The line back, or one that others wrote as `page_content` and `metadata`; only text is needed.

    `nameless` is the location of passages that name no source. Raises `SourceRefused`, naming the line by `number`.
    """
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        raise _refused(number, "is not JSON") from None
    text = (held.get("text") or held.get("page_content")) if isinstance(held, dict) else None
    metadata = (held.get("metadata") or {}) if isinstance(held, dict) else None
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
        vector=_vector(held.get("vector")),
        space=_string(held, "space"),
    )


def _refused(number: int, what: str) -> SourceRefused:
    return SourceRefused(
        "corrupt",
        f"Line {number:,} {what}; nothing was imported.",
        'Each line must be an object such as {"text": "…", "metadata": {"source": "…"}}.',
    )


def _string(held: Json, name: str) -> str:
    value = held.get(name)
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
