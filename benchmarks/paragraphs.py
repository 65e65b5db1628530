"""A library of the paragraphs of a data set, each a text file called after its article, under the built-in engine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.grader_data import read_lines
from crag.assembly import Application, open_application
from crag.settings import Settings


@contextmanager
def open_paragraphs(data_set: Path) -> Iterator[tuple[Application, dict[str, str]]]:
    """The application over the paragraphs of `corpus.jsonl`, and the paragraph's id for each source's.

    Ends the program when a paragraph is refused.
    """
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), chat_model="builtin", embedder="builtin")
        with closing(open_application(settings)) as application:
            paragraphs: dict[str, str] = {}
            for row in read_lines(data_set / "corpus.jsonl"):
                added = application.library.add_bytes(f"{row['title']} {row['id']}.txt", row["text"].encode())
                if added.id is None:
                    raise SystemExit(f"{row['id']}: {added.error.message if added.error else added.status}")
                paragraphs[added.id] = row["id"]
            yield application, paragraphs
