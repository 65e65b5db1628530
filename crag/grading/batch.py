"""Reader for pairs of question and passage, used to measure a grader without a library."""

from __future__ import annotations

from pathlib import Path

from crag.errors import BadRequest
from crag.json_lines import read_rows
from crag.types import Passage

Row = tuple[int, Passage]


def read_pairs(file: Path) -> dict[str, list[Row]]:
    """Read the lines `{"question", "passage"}` of a JSON Lines file by question, each with its index from 0.

    Raises `BadRequest`, which names the line, if one cannot be read.
    """
    questions: dict[str, list[Row]] = {}
    for index, (number, row) in enumerate(read_rows(file)):
        question, text = row.get("question"), row.get("passage")
        if not isinstance(question, str) or not isinstance(text, str):
            raise BadRequest(f"Line {number}: question and passage must be text.", "Mend it, then try again.")
        passage = Passage(id=index + 1, source_id="", title="", location="", text=text, context=text)
        questions.setdefault(question, []).append((index, passage))
    return questions
