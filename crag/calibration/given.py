"""Calibration questions read from a user's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crag.calibration.values import Given
from crag.errors import BadRequest
from crag.json_lines import read_rows


def read_given(file: Path) -> list[Given]:
    """Read the lines `{"question", "answerable"}` of a JSON Lines file; other fields are ignored.

    Raises `BadRequest`, naming the unreadable line.
    """
    return [_given(row, number) for number, row in read_rows(file)]


def _given(row: dict[str, Any], number: int) -> Given:
    question, answerable = row.get("question"), row.get("answerable")
    if not isinstance(question, str) or not question.strip() or not isinstance(answerable, bool):
        raise BadRequest(f"Line {number}: question must be text, answerable true or false.", "Mend it, then try again.")
    return Given(question.encode("utf-8", "ignore").decode(), answerable)
