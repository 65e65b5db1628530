"""Web page reader: full text of pages found by a web search, reduced to the parts nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace

from crag.errors import HomeFault, ModelFault, SourceRefused, Stopped
from crag.features import read_text
from crag.ledger import Ledger
from crag.library.adding.intake import document
from crag.library.adding.reading import Read
from crag.library.web.fetch import Patience, fetch
from crag.progress import silent
from crag.protocols import Embedder, TermStatistics
from crag.questions import Question, read_question
from crag.scoring import score_passages, thresholds
from crag.settings import Settings
from crag.stopping import Stop, deadline
from crag.types import Passage

SECONDS = 8.0  # for all pages together, which are read in parallel
_LIMIT_BYTES = 5_000_000
_MOST_PARTS = 400
_MOST_SCORED = 12
_MOST_KEPT = 2


class WebPages:
    """The `PageReader`: fetches safely, parses in a child process, splits like documents, and stores nothing."""

    def __init__(
        self,
        read: Read,
        embedder: Embedder,
        statistics: TermStatistics,
        settings: Settings,
        ledger: Ledger,
        seconds: float = SECONDS,
    ) -> None:
        """Create a reader. `embedder` must be the built-in one, because the scores of chunks depend on it."""
        self._read = read
        self._embedder = embedder
        self._statistics = statistics
        self._settings = settings
        self._ledger = ledger
        self._seconds = seconds

    def read(self, question: str, found: Sequence[Passage], stop: Stop) -> tuple[list[Passage], int]:
        """Read the pages found, see `PageReader`.

        Pages also count as unread if they missed the deadline or the request could not be recorded.
        """
        linked = [passage for passage in found if passage.location]
        if not linked:
            return list(found), 0
        asked = read_question(question, self._statistics)
        with deadline(self._seconds, stop) as own, ThreadPoolExecutor(len(linked)) as pool:
            read = {
                passage.id: pool.submit(copy_context().run, self._nearest, asked, passage, own) for passage in linked
            }
        stop.check()
        nearest = {number: _result(future) for number, future in read.items()}
        unread = sum(passage is None for passage in nearest.values())
        return [nearest.get(passage.id) or passage for passage in found], unread

    def _nearest(self, asked: Question, passage: Passage, stop: Stop) -> Passage:
        """Return the passage with the nearest chunks of its page, unless its own excerpt is nearer.

        Raises what `fetch` and `DocumentReader` raise.
        """
        fetched = fetch(
            passage.location,
            allow=self._settings.allow_private_urls,
            limit_bytes=min(_LIMIT_BYTES, self._settings.max_upload_bytes),
            stop=stop,
            ledger=self._ledger,
            patience=Patience(self._seconds / 2, self._seconds, self._seconds),
        )
        reading = self._read(document(fetched), silent, stop)
        parts = self._covering(asked, [chunk.text for chunk in reading.chunks[:_MOST_PARTS]], passage.title)
        stop.check()
        texts = [passage.text, *parts]
        scores = score_passages(asked, [(text, read_text(text, passage.title)) for text in texts], self._embedder)
        best = sorted(range(1, len(texts)), key=lambda index: -scores[index])[:_MOST_KEPT]
        if not best or scores[best[0]] < scores[0]:
            return passage
        kept = [index for index in best if index == best[0] or scores[index] >= thresholds().lower]
        text = "\n\n".join(texts[index] for index in sorted(kept))
        return replace(passage, text=text, context=text)

    def _covering(self, asked: Question, texts: Sequence[str], title: str) -> list[str]:
        """Preselect the chunks that cover most of the question, in page order: scoring all would take seconds."""
        readings = [read_text(text, title) for text in texts]
        shares = [asked.covered(reading.around.union(*reading.terms)) for reading in readings]
        best = sorted(range(len(texts)), key=lambda index: -shares[index])[:_MOST_SCORED]
        return [texts[index] for index in sorted(best)]


def _result(future: Future[Passage]) -> Passage | None:
    try:
        return future.result()
    except (SourceRefused, ModelFault, HomeFault, Stopped):
        return None
