"""Library of the paragraphs of a data set, each a text file named after its article, with the built-in engine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crag.app.application import Application, open_application
from crag.errors import BadRequest
from crag.evaluation.corpus import add_corpus
from crag.settings import Settings
from crag.types import DEFAULT_COLLECTION


@contextmanager
def open_paragraphs(data_set: Path) -> Iterator[tuple[Application, dict[str, str]]]:
    """Open an application with the paragraphs of `corpus.jsonl`; yield it and the paragraph ids by source id.

    Raises SystemExit if a paragraph is refused.
    """
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), chat_model="builtin", embedder="builtin")
        with closing(open_application(settings)) as application:
            try:
                added = add_corpus(application.library, data_set / "corpus.jsonl", DEFAULT_COLLECTION)
            except BadRequest as error:
                raise SystemExit(str(error)) from error
            yield application, {source_id: paragraph_id for paragraph_id, source_id in added.items()}
