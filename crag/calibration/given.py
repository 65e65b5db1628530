"""Reads the questions that a person gives to calibrate by."""

from __future__ import annotations

import json
from pathlib import Path

from crag.calibration.values import Given
from crag.errors import BadRequest


def read_given(file: Path) -> list[Given]:
    """The lines `{"question", "answerable"}` of a JSON Lines file; other fields are left alone.

    Raises `BadRequest`, naming the line, when one cannot be read.
    """
    try:  # not `splitlines`: U+2028 and the like may stand inside a question
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, ValueError) as error:
        raise BadRequest("The file cannot be read.", "Give a JSON Lines file in UTF-8.") from error
    return [_given(line, number) for number, line in enumerate(lines, start=1) if line.strip()]


def _given(line: str, number: int) -> Given:
    try:
        row = json.loads(line)
        question, answerable = row["question"], row["answerable"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadRequest(f"Line {number} has no question and answerable.", "Write one JSON object a line.") from error
    if not isinstance(question, str) or not question.strip() or not isinstance(answerable, bool):
        raise BadRequest(f"Line {number}: question must be text, answerable true or false.", "Mend it, then try again.")
    return Given(question.encode("utf-8", "ignore").decode(), answerable)
