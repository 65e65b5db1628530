"""Web page reader: full text of pages found by a web search, reduced to the parts nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crag.cancellation import Cancellation, cancel_after
from crag.concurrency.workers import map_in_order
from crag.errors import HomeFault, ModelFault, SourceRefused, Stopped
from crag.ingest.fetch import FetchTimeouts, fetch
from crag.ingest.intake import to_raw_document
from crag.ingest.reader import DocumentReader
from crag.protocols import Embedder, Evaluator
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.text.questions import AnalyzedQuestion, TermStatistics, analyze_question
from crag.text.relevance_features import tokenize_text
from crag.text.relevance_scores import fitted_thresholds, score_passages
from crag.types import Passage, ignore_progress

READ_SECONDS = 8.0  # for all pages together, which are read in parallel
_MAX_PAGE_BYTES = 5_000_000
_MAX_CHUNKS = 400
_MAX_SCORED = 12
_MAX_KEPT = 2


class WebPageReader:
    """The `PageReader`: fetches safely, parses in a child process, splits like documents, and stores nothing."""

    def __init__(
        self,
        read: DocumentReader,
        embedder: Embedder,
        statistics: TermStatistics,
        settings: Settings,
        outbound_log: OutboundLog,
        seconds: float = READ_SECONDS,
        *,
        evaluator: Evaluator | None = None,
    ) -> None:
        """Create a reader. `embedder` must be the built-in one, because the scores of chunks depend on it.

        The `evaluator` scores the chunks instead, for questions in a language that it reads.
        """
        self._read = read
        self._embedder = embedder
        self._statistics = statistics
        self._settings = settings
        self._outbound_log = outbound_log
        self._seconds = seconds
        self._evaluator = evaluator

    def read(self, question: str, found: Sequence[Passage], stop: Cancellation) -> tuple[list[Passage], int]:
        """Read the pages found, see `PageReader`.

        Pages also count as unread if they missed the deadline or the request could not be recorded.
        """
        linked = [passage for passage in found if passage.location]
        if not linked:
            return list(found), 0
        asked = analyze_question(question, self._statistics)

        def read_page(passage: Passage, stop: Cancellation) -> Passage | None:
            try:
                return self._nearest(asked, passage, stop)
            except (SourceRefused, ModelFault, HomeFault, Stopped):
                return None

        with cancel_after(self._seconds, stop) as own:
            read = list(map_in_order(read_page, linked, own, workers=len(linked)))
        stop.check()
        nearest = {before.id: after for before, after in zip(linked, read, strict=True)}
        unread = sum(passage is None for passage in read)
        return [nearest.get(passage.id) or passage for passage in found], unread

    def _nearest(self, asked: AnalyzedQuestion, passage: Passage, stop: Cancellation) -> Passage:
        """Return the passage with the nearest chunks of its page, unless its own excerpt is nearer.

        Raises what `fetch` and `DocumentReader` raise.
        """
        fetched = fetch(
            passage.location,
            allow=self._settings.allow_private_urls,
            limit_bytes=min(_MAX_PAGE_BYTES, self._settings.max_upload_bytes),
            stop=stop,
            outbound_log=self._outbound_log,
            timeouts=FetchTimeouts(self._seconds / 2, self._seconds, self._seconds),
        )
        reading = self._read(to_raw_document(fetched), ignore_progress, stop)
        parts = self._preselect(asked, [chunk.text for chunk in reading.chunks[:_MAX_CHUNKS]], passage.title)
        stop.check()
        texts = [passage.text, *parts]
        scores = self._score(asked, texts, passage.title, stop)
        best = sorted(range(1, len(texts)), key=lambda index: -scores[index])[:_MAX_KEPT]
        if not best or scores[best[0]] < scores[0]:
            return passage
        kept = [index for index in best if index == best[0] or scores[index] >= fitted_thresholds().lower]
        text = "\n\n".join(texts[index] for index in sorted(kept))
        return replace(passage, text=text, context=text)

    def _score(self, asked: AnalyzedQuestion, texts: Sequence[str], title: str, stop: Cancellation) -> Sequence[float]:
        if self._evaluator and self._evaluator.reads(asked.text):
            return [score or 0.0 for score in self._evaluator.score(asked.text, texts, stop)]
        return score_passages(asked, [tokenize_text(text, title) for text in texts], self._embedder)

    def _preselect(self, asked: AnalyzedQuestion, texts: Sequence[str], title: str) -> list[str]:
        """Preselect the chunks that cover most of the question, in page order: scoring all would take seconds."""
        readings = [tokenize_text(text, title) for text in texts]
        shares = [asked.covered_share(reading.around.union(*reading.terms)) for reading in readings]
        best = sorted(range(len(texts)), key=lambda index: -shares[index])[:_MAX_SCORED]
        return [texts[index] for index in sorted(best)]
