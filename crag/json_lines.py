"""Files of JSON Lines that people give: one object a line, with what is wrong told by the line's number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crag.errors import BadRequest


def read_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object with the number of its line, from 1; empty lines are passed over.

    Raises `BadRequest` for a file that cannot be read and for a line that holds something else.
    """
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable() from error
    yield from rows_in(data)


def rows_in(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same of the bytes of a file. Raises `BadRequest`."""
    try:  # not `splitlines`: U+2028 and the like may stand inside a text
        lines = data.decode("utf-8-sig").split("\n")
    except ValueError as error:
        raise _unreadable() from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _object(line, number)


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise BadRequest(f"Line {number} is no JSON object.", "Write one JSON object a line.")
    return row


def _unreadable() -> BadRequest:
    return BadRequest("The file cannot be read.", "Give a JSON Lines file in UTF-8.")
