"""How often the passage that answers is found: recall at 1 and at 4 with the built-in vectors, by data set.

Takes the path of a folder of data sets, each with `corpus.jsonl` (id, title, text) and `questions.jsonl` (question,
passage_id): `python -m benchmarks.retrieval FOLDER NAME…`. Paragraphs are added as people's text files are.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from crag.assembly import open_application
from crag.settings import Settings

DEPTHS = (1, 4)


def main(folder: Path, names: list[str]) -> None:
    """Prints one line a data set."""
    print(f"{'':14}{'paragraphs':>12}{'questions':>12}" + "".join(f"{f'recall@{depth}':>12}" for depth in DEPTHS))
    for name in names:
        corpus, questions = _read(folder / name / "corpus.jsonl"), _read(folder / name / "questions.jsonl")
        answerable = [row for row in questions if row.get("answerable", True)]
        recalls = "".join(f"{recall:>12.3f}" for recall in _measure(corpus, answerable))
        print(f"{name:14}{len(corpus):>12}{len(answerable):>12}{recalls}")


def _measure(corpus: list[dict[str, Any]], questions: list[dict[str, Any]]) -> list[float]:
    with tempfile.TemporaryDirectory() as home:
        application = open_application(Settings(home=Path(home), chat_model="builtin", embedder="builtin"))
        try:
            library = application.library
            sources = {
                library.add_bytes(f"{row['title']} {row['id']}.txt", row["text"].encode()).id: row["id"]
                for row in corpus
            }
            found = [
                [sources[hit.source_id] for hit in library.search(row["question"], max(DEPTHS))] for row in questions
            ]
        finally:
            application.close()
    pairs = list(zip(questions, found, strict=True))
    return [sum(row["passage_id"] in ids[:depth] for row, ids in pairs) / len(pairs) for depth in DEPTHS]


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
