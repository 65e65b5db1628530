"""JSON Lines files, with errors reported by line number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crag.errors import BadRequest


def read_json_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for each non-empty line.

    Raises `BadRequest` for an unreadable file and for a line that is not a JSON object.
    """
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable_file() from error
    yield from parse_json_lines(data)


def parse_json_lines(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Do the same as `read_json_lines` for the content of a file. Raises `BadRequest`."""
    try:  # not `splitlines`, which also splits at U+2028 and the like inside a text
        lines = data.decode("utf-8-sig").split("\n")
    except ValueError as error:
        raise _unreadable_file() from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _parse_object(line, number)


def _parse_object(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise BadRequest(f"Line {number} is not a JSON object.", "Write one JSON object per line.")
    return row


def _unreadable_file() -> BadRequest:
    return BadRequest("The file cannot be read.", "Use a JSON Lines file in UTF-8.")
