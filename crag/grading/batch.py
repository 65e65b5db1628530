"""Reads pairs of question and passage from a file, for measuring a grader without a library."""

from __future__ import annotations

import json
from pathlib import Path

from crag.errors import BadRequest
from crag.types import Passage

Row = tuple[int, Passage]


def read_pairs(file: Path) -> dict[str, list[Row]]:
    """The lines `{"question", "passage"}` of a JSON Lines file by question, each with its line's index from 0.

    Raises `BadRequest`, naming the line, when one cannot be read.
    """
    try:
        # not `splitlines`: U+2028 and the like may stand inside a line's texts
        lines = [line for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise BadRequest("The file cannot be read.", "Give a JSON Lines file in UTF-8.") from error
    questions: dict[str, list[Row]] = {}
    for index, line in enumerate(lines):
        question, text = _pair(line, index + 1)
        passage = Passage(id=index + 1, source_id="", title="", location="", text=text, context=text)
        questions.setdefault(question, []).append((index, passage))
    return questions


def _pair(line: str, number: int) -> tuple[str, str]:
    try:
        row = json.loads(line)
        question, passage = row["question"], row["passage"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadRequest(f"Line {number} has no question and passage.", "Write one JSON object a line.") from error
    if not isinstance(question, str) or not isinstance(passage, str):
        raise BadRequest(f"Line {number}: question and passage must be text.", "Write one JSON object a line.")
    return question, passage
