"""Coverage gaps of one library, as the rest of the application sees them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Row, update

from crag.database import Database
from crag.database.tables import runs
from crag.errors import BadRequest
from crag.foreign_text import is_web_address
from crag.gaps.asked import normalised, read_own, read_uncovered
from crag.gaps.details import Details, read_details
from crag.gaps.grouping import group
from crag.gaps.topics import spoken_terms, topic
from crag.gaps.values import Gap, GapQuestion
from crag.protocols import Embedder, TermStatistics
from crag.runs import RunService

MOST_QUESTIONS = 1_000  # the latest ones; grouping compares every pair
_LISTS_KEPT = 50


class SubmitAddress(Protocol):
    """Callable that starts a background job to add the page at an address."""

    def __call__(self, url: str, collection: str, *, found_by: str) -> str:
        """Return the job's id. `found_by` is the question whose web search found the address."""


class Gaps:
    """Coverage gaps of one home. Safe to share between threads; several processes may use the same home."""

    def __init__(
        self,
        database: Database,
        runs: RunService,
        embedder: Embedder,
        statistics: TermStatistics,
        submit: SubmitAddress,
    ) -> None:
        """Create the service. `embedder` must be the built-in one, whose vectors group the questions."""
        self._database = database
        self._runs = runs
        self._embedder = embedder
        self._statistics = statistics
        self._submit = submit
        self._lock = threading.Lock()
        self._grouped: dict[tuple[str, ...], Sequence[Gap]] = {}
        self._details: dict[str, Details] = {}

    def list(self, person: str | None = None) -> list[Gap]:
        """Return the gaps in the latest 1,000 uncovered questions of one person or of everyone (None).

        The gap with the most questions comes first. Raises `ModelFault`, `HomeFault`.
        """
        with self._database.read() as connection:
            found = read_uncovered(connection, person)
            questions = _asked_once(found)[:MOST_QUESTIONS]
            unknown = [row.id for rows in questions for row in rows if row.id not in self._details]
            read = read_details(connection, unknown)
        with self._lock:
            self._details |= read
            key = tuple(row.id for rows in questions for row in rows)
            if key not in self._grouped:
                self._grouped[key] = self._group(questions)
                self._grouped = dict([*self._grouped.items()][-_LISTS_KEPT:])
            return [*self._grouped[key]]

    def may_see(self, questions: Collection[str], person: str | None) -> set[str]:
        """Return those of these questions that the person may read: their own, or all for None."""
        if person is None:
            return set(questions)
        with self._database.read() as connection:
            return read_own(connection, questions, person)

    def close(self, run_ids: Sequence[str]) -> None:
        """Mark these runs as no gap; a question asked again without an answer becomes a gap again."""
        self._mark(run_ids, closed=True)

    def reopen(self, run_ids: Sequence[str]) -> None:
        """Undo `close`."""
        self._mark(run_ids, closed=False)

    def add_page(self, location: str, collection: str, found_by: str) -> str:
        """Add a page that the web search of the run `found_by` returned, marked with its question; return the job's id.

        It is fetched with the same guards as any address. Raises `BadRequest` for an address that this search did not
        return or that is not a web page, `NotFound` when the run was deleted.
        """
        trace = self._runs.trace(found_by)
        if location not in {trace.passages[number].location for number in trace.found.get("web", ())}:
            raise BadRequest("The web search of this answer did not return this page.", "Add its address in Documents.")
        if not is_web_address(location):
            raise BadRequest("Only addresses that begin with http:// or https:// can be added.")
        return self._submit(location, collection, found_by=trace.question)

    def _group(self, asked: Sequence[Sequence[Row[Any]]]) -> Sequence[Gap]:
        questions = [_question(rows, self._details) for rows in asked]
        meant = [self._details[one.run_id].meant or one.question for one in questions]
        if not questions:
            return ()
        rarity = self._statistics.idf(sorted({term for question in meant for term in spoken_terms(question)}))
        gaps = []
        for places in group(meant, self._embedder.embed_documents(meant), rarity):
            about = topic([meant[place] for place in places], rarity)
            gaps.append(Gap(about, tuple(questions[place] for place in places)))
        return sorted(gaps, key=lambda gap: (-len(gap.run_ids), -gap.last_asked))

    def _mark(self, run_ids: Sequence[str], *, closed: bool) -> None:
        with self._database.write() as connection:
            connection.execute(update(runs).where(runs.c.id.in_(run_ids)).values(gap_closed=int(closed)))


def _asked_once(found: Sequence[Row[Any]]) -> list[list[Row[Any]]]:
    """Group the runs of the same question, latest first."""
    together: dict[str, list[Row[Any]]] = {}
    for row in found:
        together.setdefault(normalised(row.question) or row.id, []).append(row)
    return list(together.values())


def _question(rows: Sequence[Row[Any]], details: Mapping[str, Details]) -> GapQuestion:
    latest, *earlier = rows
    return GapQuestion(
        latest.id,
        latest.question,
        latest.started_at,
        latest.action or None,
        latest.outcome or None,
        tuple(dict.fromkeys(page for row in rows for page in details[row.id].pages)),
        tuple(row.id for row in earlier),
    )
