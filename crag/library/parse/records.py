"""Parser for JSON and JSON Lines: one block per record, one line per value with its key path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crag.library.parse.document import Block, Document
from crag.library.parse.plain import read_plain


def read_json(text: str) -> Document:
    """Parse the elements of the outermost list, or the lines, as records; fall back to plain text if not JSON."""
    try:
        records = list(_records(text.removeprefix("\ufeff")))
        blocks = [Block("\n".join(_lines(record, "")), "code") for record in records]
    except (ValueError, RecursionError):
        return read_plain(text)
    return Document("", "json", None, tuple(blocks))


def _records(text: str) -> Iterator[Any]:
    try:
        value = json.loads(text)
    except ValueError:
        yield from (json.loads(line) for line in text.splitlines() if line.strip())
        return
    yield from value if isinstance(value, list) else [value]


def _lines(value: Any, path: str) -> Iterator[str]:
    """Yield lines such as `author.name: Ann`, and `tags: a, b` for lists of scalars; skip null and empty values."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _lines(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for inner in value:
            yield from _lines(inner, path)
    elif shown := ", ".join(map(_shown, value)) if isinstance(value, list) else _shown(value):
        yield f"{path}: {shown}" if path else shown


def _shown(value: Any) -> str:
    return "" if value is None else value.strip() if isinstance(value, str) else json.dumps(value)
