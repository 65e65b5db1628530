"""Coverage gaps: questions that the documents do not answer."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from sqlalchemy import Connection, Row, func, or_, select, update

from crag.concurrency.caches import LRUCache
from crag.conversations.conversation_list import visible_to
from crag.errors import BadRequest
from crag.events import AnswerWritten, QuestionCondensed, decode_event
from crag.inspection.question_topics import group_questions, name_topic, topic_terms
from crag.protocols import Embedder
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.storage.engine import Database
from crag.storage.tables import conversations, events, messages, run_summaries, runs
from crag.storage.user_scope import UserScoped
from crag.text.questions import TermStatistics
from crag.text.sanitization import has_web_scheme
from crag.types import Action, Outcome

_UNCOVERED_OUTCOMES = ("not_answered", "web", "documents_and_web")
_COVERED_OUTCOMES = ("documents", "quoted", "calculated", "possible", "documents_partly", "conflicting")
_NON_WORD = re.compile(r"[\W_]+")

_ANSWER_COLUMNS = (
    *(runs.c[name] for name in ("id", "question", "started_at", "gap_closed")),
    func.coalesce(runs.c.version_of, runs.c.id).label("answer"),  # the original answer that it is a version of
    run_summaries.c.action,
    run_summaries.c.outcome,
)


@lru_cache(maxsize=20_000)
def normalize_question(question: str) -> str:
    """Normalise a question: equal for questions that differ only in case, width, white space and punctuation."""
    return _NON_WORD.sub(" ", unicodedata.normalize("NFKC", question).casefold()).strip()


def read_uncovered(connection: Connection, user: str | None) -> list[Row[Any]]:
    """Return the runs that show a gap, latest first: the last finished version of each answer that is still uncovered.

    Of one user, or of everyone (None). A later answer from the documents covers the same question or an older wording
    of it, be it *partly covered*: a reader has an answer then. Gaps that a user closed are left out.
    """
    answers = {row.answer: row for row in _read_finished_runs(connection, user)}  # the last version wins
    covered_at: dict[str, float] = {}
    for row in answers.values():
        if _is_covered(row):
            covered_at[normalize_question(row.question)] = row.started_at
    reworded = _covered_by_rewording(_read_wordings(connection), answers)
    return [
        row
        for row in sorted(answers.values(), key=lambda row: -row.started_at)
        if (not row.gap_closed and row.outcome in _UNCOVERED_OUTCOMES)
        and row.answer not in reworded
        and covered_at.get(normalize_question(row.question), 0.0) < row.started_at
    ]


def _read_finished_runs(connection: Connection, user: str | None) -> Sequence[Row[Any]]:
    """Read every completed run, oldest first, without those of evaluations, which nobody asked."""
    joined = runs.join(run_summaries, run_summaries.c.run_id == runs.c.id).outerjoin(
        conversations, conversations.c.id == runs.c.conversation_id
    )
    asked = (runs.c.state == "done") & runs.c.evaluation_id.is_(None)
    query = select(*_ANSWER_COLUMNS).select_from(joined).where(asked, visible_to(user))
    return connection.execute(query.order_by(runs.c.started_at, runs.c.id)).all()


def _is_covered(row: Row[Any]) -> bool:
    return row.outcome in _COVERED_OUTCOMES


def _read_wordings(connection: Connection) -> Iterable[Sequence[str]]:
    """Return the answers to the wordings of each edited question, in order."""
    answer = messages.alias()
    version = func.coalesce(runs.c.version_of, runs.c.id)
    place = messages.c.conversation_id, func.coalesce(messages.c.parent_id, 0)
    count = func.count().over(partition_by=place).label("wordings")
    asked = select(messages.c.id, *place, count).where(messages.c.role == "user").subquery()
    query = (
        select(*asked.c, version.label("answer"))
        .join(answer, answer.c.parent_id == asked.c.id)
        .join(runs, runs.c.id == answer.c.run_id)
        .where(asked.c.wordings > 1)
        .order_by(asked.c.id)
    )
    found: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for row in connection.execute(query):
        found[tuple(row[1:3])].append(row.answer)
    return found.values()


def _covered_by_rewording(wordings: Iterable[Sequence[str]], answers: dict[str, Row[Any]]) -> Collection[str]:
    """Return the answers whose question was later reworded and then covered."""
    gone: set[str] = set()
    for place in wordings:
        covered = [number for number, answer in enumerate(place) if answer in answers and _is_covered(answers[answer])]
        gone |= set(place[: max(covered, default=0)])
    return gone


@dataclass(frozen=True, slots=True)
class GapPage:
    """A web page that an answer cites."""

    title: str
    location: str


@dataclass(frozen=True, slots=True)
class GapQuestion:
    """A question as last asked (`asked_at`, seconds since the epoch), and its result.

    `earlier` are the ids of earlier runs of the same question. `pages` are those that answered in any of these runs.
    """

    run_id: str
    question: str
    asked_at: float
    action: Action | None
    outcome: Outcome | None
    pages: tuple[GapPage, ...] = ()
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoverageGap:
    """A topic that the documents do not cover, with its questions, latest first.

    The topic is a question, or a few words that several questions share.
    """

    topic: str
    questions: tuple[GapQuestion, ...]

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The ids of all its runs."""
        return tuple(run_id for one in self.questions for run_id in (one.run_id, *one.earlier))

    @property
    def last_asked(self) -> float:
        """Seconds since the epoch."""
        return max(one.asked_at for one in self.questions)


_BATCH_SIZE = 500
_DETAIL_EVENTS = or_(*(events.c.body.like(f'%"type":"{kind}"%') for kind in ("question_condensed", "answer_written")))


@dataclass(frozen=True, slots=True)
class RunDetails:
    """Details of one run: `meant` is the standalone question, empty if the question stood alone from the start."""

    meant: str = ""
    pages: tuple[GapPage, ...] = ()


def read_run_details(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunDetails]:
    """Read the details of these runs, from only two events of each."""
    traces = {run_id: Trace() for run_id in run_ids}
    for start in range(0, len(run_ids), _BATCH_SIZE):
        chosen = events.c.run_id.in_(run_ids[start : start + _BATCH_SIZE])
        for row in connection.execute(select(events.c.run_id, events.c.body).where(chosen, _DETAIL_EVENTS)):
            event = decode_event(row.body)
            if isinstance(event, AnswerWritten | QuestionCondensed):
                traces[row.run_id].apply(event)
    return {run_id: RunDetails(trace.condensed, _cited_pages(trace)) for run_id, trace in traces.items()}


def _cited_pages(trace: Trace) -> tuple[GapPage, ...]:
    cited = [cited for cited in trace.citations if cited.origin == "web" and has_web_scheme(cited.location)]
    return tuple(GapPage(*page) for page in dict.fromkeys((one.title, one.location) for one in cited))


MAX_QUESTIONS = 1_000  # the latest ones; grouping compares every pair
_MAX_CACHED_LISTS = 50


class PageQueue(Protocol):
    """Background jobs that add the pages at given addresses."""

    def submit_url(self, url: str, collection: str, *, found_by: str) -> str:
        """Return the job's id. `found_by` is the question whose web search found the address."""


class CoverageGaps(UserScoped):
    """Coverage gaps of one home. Safe to share between threads; several processes may use the same home."""

    def __init__(
        self,
        database: Database,
        runs: RunService,
        embedder: Embedder,
        statistics: TermStatistics,
        jobs: PageQueue,
    ) -> None:
        """Create the service. `embedder` must be the built-in one, whose vectors group the questions."""
        self._database = database
        self._runs = runs
        self._embedder = embedder
        self._statistics = statistics
        self._jobs = jobs
        self._lock = threading.Lock()
        self._grouped: LRUCache[tuple[str, ...], Sequence[CoverageGap]] = LRUCache(_MAX_CACHED_LISTS)
        self._details: dict[str, RunDetails] = {}

    def list(self) -> list[CoverageGap]:
        """Return the gaps in the latest 1,000 uncovered questions.

        The gap with the most questions comes first. Raises `ModelFault`, `HomeFault`.
        """
        with self._database.read() as connection:
            found = read_uncovered(connection, self._user)
            questions = _group_repeats(found)[:MAX_QUESTIONS]
            unknown = [row.id for rows in questions for row in rows if row.id not in self._details]
            read = read_run_details(connection, unknown)
        with self._lock:
            self._details |= read
            key = tuple(row.id for rows in questions for row in rows)
            gaps = self._grouped.get(key)
            if gaps is None:
                gaps = self._group(questions)
                self._grouped.put(key, gaps)
            return [*gaps]

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
        if not has_web_scheme(location):
            raise BadRequest("Only addresses that begin with http:// or https:// can be added.")
        return self._jobs.submit_url(location, collection, found_by=trace.question)

    def _group(self, asked: Sequence[Sequence[Row[Any]]]) -> Sequence[CoverageGap]:
        questions = [_build_gap_question(rows, self._details) for rows in asked]
        meant = [self._details[one.run_id].meant or one.question for one in questions]
        if not questions:
            return ()
        rarity = self._statistics.idf(sorted({term for question in meant for term in topic_terms(question)}))
        gaps = []
        for places in group_questions(meant, self._embedder.embed_documents(meant), rarity):
            about = name_topic([meant[place] for place in places], rarity)
            gaps.append(CoverageGap(about, tuple(questions[place] for place in places)))
        return sorted(gaps, key=lambda gap: (-len(gap.run_ids), -gap.last_asked))

    def _mark(self, run_ids: Sequence[str], *, closed: bool) -> None:
        with self._database.write() as connection:
            connection.execute(
                update(runs).where(runs.c.id.in_(run_ids), self._visible(runs)).values(gap_closed=int(closed))
            )


def _group_repeats(found: Sequence[Row[Any]]) -> list[list[Row[Any]]]:
    """Group the runs of the same question, latest first."""
    together: dict[str, list[Row[Any]]] = {}
    for row in found:
        together.setdefault(normalize_question(row.question) or row.id, []).append(row)
    return list(together.values())


def _build_gap_question(rows: Sequence[Row[Any]], details: Mapping[str, RunDetails]) -> GapQuestion:
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
