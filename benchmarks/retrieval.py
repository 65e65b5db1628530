"""Recall at 1 and at 4 with the built-in vectors, by data set: `python -m benchmarks.retrieval FOLDER NAME…`.

FOLDER contains data sets, each with `corpus.jsonl` (id, title, text) and `questions.jsonl` (question, passage_id).
Paragraphs are added like text files of a user.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.grader_data import read_lines
from benchmarks.paragraph_library import open_paragraphs

DEPTHS = (1, 4)


def main(folder: Path, names: list[str]) -> None:
    """Print one line for each data set."""
    print(f"{'':14}{'paragraphs':>12}{'questions':>12}" + "".join(f"{f'recall@{depth}':>12}" for depth in DEPTHS))
    for name in names:
        questions = [row for row in read_lines(folder / name / "questions.jsonl") if row.get("answerable", True)]
        paragraphs, shares = _measure(folder / name, questions)
        recalls = "".join(f"{recall:>12.3f}" for recall in shares)
        print(f"{name:14}{paragraphs:>12}{len(questions):>12}{recalls}")


def _measure(data_set: Path, questions: list[dict[str, Any]]) -> tuple[int, list[float]]:
    """Return the number of paragraphs and the recall at each depth."""
    with open_paragraphs(data_set) as (application, paragraphs):
        found = [
            [paragraphs[hit.source_id] for hit in application.library.search(row["question"], max(DEPTHS))]
            for row in questions
        ]
    pairs = list(zip(questions, found, strict=True))
    shares = [sum(row["passage_id"] in ids[:depth] for row, ids in pairs) / len(pairs) for depth in DEPTHS]
    return len(paragraphs), shares


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
