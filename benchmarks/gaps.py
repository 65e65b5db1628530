"""Quality of grouping questions by topic: `python -m benchmarks.gaps EVAL`, where EVAL is a folder of data sets.

The questions of one article are one true group. The threshold was chosen on one half of the articles; the other half
shows how well it generalizes. Word frequencies come from a library with the articles of the other half only, because
in real use the library lacks the topics of these questions, too.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from crag.app.application import Application, open_application
from crag.inspection.question_topics import group_questions, topic_terms
from crag.models.embedders import DeferredEmbedder
from crag.settings import Settings

DATA_SETS = ("squad_a", "korquad_a", "drcd_a")
HALVES = ("chosen on", "held back")


def main(arguments: Sequence[str] = ()) -> None:
    """Print pairwise precision, recall and F1 of each data set and half."""
    folder = Path((arguments or sys.argv[1:])[0])
    for name in DATA_SETS:
        passages, questions = (_lines(folder / name / file) for file in ("corpus.jsonl", "questions.jsonl"))
        titles = {row["id"]: row["title"] for row in passages}
        for half, named in enumerate(HALVES):
            asked = [
                row for row in questions if row.get("answerable", True) and _half(titles[row["passage_id"]]) == half
            ]
            elsewhere = [row["text"] for row in passages if _half(row["title"]) != half]
            groups, seconds = _time_grouping([row["question"] for row in asked], elsewhere)
            figures = _pairwise_scores(groups, [titles[row["passage_id"]] for row in asked])
            shown = "  ".join(f"{figure:.2f}" for figure in figures)
            print(f"{name:10} {named}: {len(asked):4} questions  P, R, F1 {shown}  {seconds:.2f} s of the processor")


def _time_grouping(questions: Sequence[str], elsewhere: Sequence[str]) -> tuple[list[int], float]:
    """Return the group number of each question, and the processor time of grouping in seconds."""
    with tempfile.TemporaryDirectory() as home:
        application: Application = open_application(Settings(home=Path(home), chat_model="builtin", embedder="builtin"))
        application.library.pipeline.add_bytes("articles.md", "\n\n".join(elsewhere).encode())
        began = time.process_time()
        rarity = application.library.idf(sorted({term for question in questions for term in topic_terms(question)}))
        vectors = DeferredEmbedder("builtin", application.settings).embed_documents(questions)
        groups = group_questions(questions, vectors, rarity)
        seconds = time.process_time() - began
        application.close()
    numbers = {place: number for number, places in enumerate(groups) for place in places}
    return [numbers[place] for place in range(len(questions))], seconds


def _pairwise_scores(found: Sequence[Hashable], true: Sequence[Hashable]) -> tuple[float, float, float]:
    """Return precision and recall of pairs in the same group, and F1."""
    together, in_found, in_true = (
        sum(count * (count - 1) / 2 for count in Counter(labels).values())
        for labels in (list(zip(found, true, strict=True)), found, true)
    )
    precision, recall = together / (in_found or 1), together / (in_true or 1)
    return precision, recall, 2 * precision * recall / ((precision + recall) or 1)


def _half(title: str) -> int:
    return sha256(title.encode()).digest()[0] % 2


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
