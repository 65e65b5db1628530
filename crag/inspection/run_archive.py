"""Run archive: all runs except those of evaluations, filtered, counted and summarized."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select, true

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.conversations.conversation_list import contains_text, visible_to
from crag.events import decode_event
from crag.runs.records import save_summary
from crag.runs.trace import Trace
from crag.storage.engine import Database
from crag.storage.tables import conversations, events, feedback, run_summaries, runs
from crag.storage.user_scope import UserScoped
from crag.types import Action, Import, Outcome, Progress, RunState, Sufficiency, VerdictWord

_BATCH_SIZE = 20
_PAUSE_SECONDS = 0.02  # between batches, so that others get the processor and the database
_PROGRESS_STAGE = "Reading earlier runs"
_log = logging.getLogger(__name__)

# Joins a run with its summary. SQLite accepts any type in a column; a row with a wrong type counts as missing.
HAS_SUMMARY = and_(run_summaries.c.run_id == runs.c.id, run_summaries.c.seconds <= sys.float_info.max)


class SummaryBackfill:
    """Summarizes the old runs of a home in the background; runs that end later store their own summary.

    `progress` is None unless some are being summarized.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._worker = BackgroundWorker("summaries", self._summarize)
        self.progress: Progress | None = None

    def begin(self) -> None:
        """Start in the background; calling it again is harmless."""
        self._worker.start()
        self._worker.wake()

    def complete(self) -> None:
        """Start if necessary, and return when all runs are summarized."""
        self.begin()
        self._worker.wait()

    def close(self) -> None:
        """Stop; the rest is done by a later process."""
        self._worker.close()

    def _summarize(self, stop: Cancellation) -> None:
        try:
            with self._database.read() as connection:
                missing = list(connection.execute(_select_unsummarized_runs()).scalars())
            for done in range(0, len(missing), _BATCH_SIZE):
                self.progress = Progress(_PROGRESS_STAGE, done, len(missing))
                self._summarize_batch(missing[done : done + _BATCH_SIZE])
                if stop.wait(_PAUSE_SECONDS):
                    return
        finally:
            self.progress = None

    def _summarize_batch(self, run_ids: list[str]) -> None:
        """Summarize these runs. Traces are read before the write transaction; runs deleted meanwhile stay deleted."""
        traces = {run_id: self._trace(run_id) for run_id in run_ids}
        with self._database.write() as connection:
            there = connection.execute(_select_unsummarized_runs().where(runs.c.id.in_(traces))).scalars()
            for run_id in list(there):
                save_summary(connection, run_id, traces[run_id], traces[run_id].seconds or 0.0)

    def _trace(self, run_id: str) -> Trace:
        """Return the trace of a run; an empty one if its events are unreadable, so that it is not retried forever."""
        query = select(events.c.body).where(events.c.run_id == run_id).order_by(events.c.number)
        with self._database.read() as connection:
            bodies = connection.execute(query).scalars().all()
        try:
            return Trace().apply_all(map(decode_event, bodies))
        except ValueError:
            _log.exception("The events of a run cannot be read")
            return Trace()


def _select_unsummarized_runs() -> Select[Any]:
    """Select finished runs without a summary, latest first, because those are viewed first."""
    summed = select(run_summaries.c.run_id).where(HAS_SUMMARY)
    ended = runs.c.state.not_in(("running", "waiting"))
    return select(runs.c.id).where(ended, ~summed.exists()).order_by(runs.c.started_at.desc())


Thumb = Literal["up", "down", "none"]
_THUMB_CONDITIONS: dict[Thumb, ColumnElement[bool]] = {
    "up": feedback.c.helpful == 1,
    "down": feedback.c.helpful == 0,
    "none": feedback.c.helpful.is_(None),
}
_RUN_COLUMNS = (
    runs.c.id.label("run_id"),
    *(runs.c[name] for name in ("question", "conversation_id", "started_at", "state", "change")),
    *(column for column in run_summaries.c if column.name != "run_id"),
    feedback.c.helpful,
    feedback.c.reason,
    runs.c.imported,
    conversations.c.imported_at,
    conversations.c.imported_from,
)
_OUTCOME, _ACTION, _MODEL = (func.coalesce(run_summaries.c[name], "") for name in ("outcome", "action", "model"))
_SHOWS_RELATED = and_(_OUTCOME == "not_answered", _ACTION.in_(("correct", "ambiguous")))
_LISTED_OUTCOME = case((_SHOWS_RELATED, "related"), else_=_OUTCOME)  # as in `run_labels.outcome_badge`

ListedOutcome = Outcome | Literal["related", ""]
"""An outcome, where declined questions with related passages are apart; "" for none."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in a list; `started_at` in seconds since the epoch, `seconds` its duration.

    Results are unknown (None, empty, 0) while it runs or waits. `best` is the highest score of a library passage;
    `relevant` to `unknown` count the passages with that verdict. `helpful` is None without feedback.
    """

    run_id: str
    question: str
    conversation_id: str | None
    started_at: float
    state: RunState
    change: str = ""
    action: Action | None = None
    outcome: Outcome | None = None
    model: str = ""
    grader: str = ""
    policy: str = ""
    collection: str = ""
    query_sent: str = ""
    seconds: float | None = None
    tokens: int = 0
    best: float | None = None
    relevant: int = 0
    ambiguous: int = 0
    irrelevant: int = 0
    unknown: int = 0
    sufficiency: Sufficiency | None = None
    helpful: bool | None = None
    reason: str = ""
    imported: Import | None = None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Filter of a list; an empty field matches everything. Several values of one field are alternatives.

    `verdicts`: runs with at least one passage of such a verdict. `web`: whether a query was sent. `since` and `until`
    bound the start, in seconds since the epoch.
    """

    search: str = ""
    models: tuple[str, ...] = ()
    verdicts: tuple[VerdictWord, ...] = ()
    outcomes: tuple[ListedOutcome, ...] = ()
    states: tuple[RunState, ...] = ()
    helpful: tuple[Thumb, ...] = ()
    since: float | None = None
    until: float | None = None
    web: bool | None = None


@dataclass(frozen=True, slots=True)
class RunFacets:
    """Number of runs per outcome, model and state; "" where there is none."""

    outcomes: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DayCount:
    """Number of runs of one day (YYYY-MM-DD, local time) with the same outcome."""

    day: str
    outcome: ListedOutcome
    runs: int


class RunArchive(UserScoped):
    """The runs of one home, or those in the conversations of one user.

    Old runs may show no results until `summaries` are complete.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.summaries = SummaryBackfill(database)

    def slowest(self, limit: int = 5) -> list[RunRow]:
        """Return the completed runs that took longest."""
        done = _select_runs(select(*_RUN_COLUMNS), RunFilter(states=("done",)), self._user)
        return _read_run_rows(self._database, done.order_by(run_summaries.c.seconds.desc()).limit(limit))

    def count(self, run_filter: RunFilter | None = None) -> int:
        """Count the matching runs."""
        query = _select_runs(select(func.count()), run_filter or RunFilter(), self._user)
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one())

    def facets(self) -> RunFacets:
        """Count the runs per outcome, model and state, regardless of any filter."""
        kinds = (_LISTED_OUTCOME, _MODEL, runs.c.state)
        query = _select_runs(select(*kinds, func.count()), RunFilter(), self._user).group_by(*kinds)
        found: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
        with self._database.read() as connection:
            for *values, number in connection.execute(query):
                for counted, value in zip(found, values, strict=True):
                    counted[value] += number
        return RunFacets(*found)

    def days(self, since: float) -> list[DayCount]:
        """Count the runs per day and outcome, earliest day first."""
        day = func.date(runs.c.started_at, "unixepoch", "localtime")
        query = _select_runs(select(day, _LISTED_OUTCOME, func.count()), RunFilter(since=since), self._user)
        with self._database.read() as connection:
            return [DayCount(*row) for row in connection.execute(query.group_by(day, _LISTED_OUTCOME).order_by(day))]

    def list(self, run_filter: RunFilter | None = None, limit: int = 50, offset: int = 0) -> list[RunRow]:
        """Return at most `limit` runs after the first `offset`, latest first."""
        query = _select_runs(select(*_RUN_COLUMNS), run_filter or RunFilter(), self._user)
        latest = query.order_by(runs.c.started_at.desc(), runs.c.id).limit(limit).offset(offset)
        return _read_run_rows(self._database, latest)

    def find(self, run_id: str) -> RunRow | None:
        """Return one run; None for another user's, a deleted one, and one of an evaluation."""
        query = _select_runs(select(*_RUN_COLUMNS), RunFilter(), self._user).where(runs.c.id == run_id)
        return next(iter(_read_run_rows(self._database, query)), None)


def _read_run_rows(database: Database, query: Select[Any]) -> list[RunRow]:
    with database.read() as connection:
        return [_build_run_row(values) for values in connection.execute(query).mappings()]


def _select_runs(columns: Select[Any], run_filter: RunFilter, user: str | None) -> Select[Any]:
    joined = (
        runs.outerjoin(run_summaries, HAS_SUMMARY)
        .outerjoin(feedback, feedback.c.run_id == runs.c.id)
        .outerjoin(conversations, conversations.c.id == runs.c.conversation_id)
    )
    return columns.select_from(joined).where(
        runs.c.evaluation_id.is_(None), visible_to(user), *_filter_conditions(run_filter)
    )


def _filter_conditions(run_filter: RunFilter) -> list[ColumnElement[bool]]:
    chosen: list[ColumnElement[bool]] = [
        column.in_(values)
        for column, values in (
            (_LISTED_OUTCOME, run_filter.outcomes),
            (_MODEL, run_filter.models),
            (runs.c.state, run_filter.states),
        )
        if values
    ]
    if run_filter.search.strip():
        chosen.append(contains_text(runs.c.question, run_filter.search.strip()))
    if run_filter.verdicts:
        chosen.append(or_(*(run_summaries.c[word] > 0 for word in run_filter.verdicts)))
    if run_filter.helpful:
        chosen.append(or_(*(_THUMB_CONDITIONS[thumb] for thumb in run_filter.helpful)))
    if run_filter.web is not None:
        sent = func.coalesce(run_summaries.c.query_sent, "") != ""
        chosen.append(sent if run_filter.web else ~sent)
    chosen.append(runs.c.started_at >= run_filter.since if run_filter.since is not None else true())
    chosen.append(runs.c.started_at < run_filter.until if run_filter.until is not None else true())
    return chosen


def _build_run_row(found: Mapping[Any, Any]) -> RunRow:
    """Build a row; NULL becomes the default of the field."""
    values = {str(name): value for name, value in found.items() if value is not None}
    values["conversation_id"] = values.get("conversation_id")
    for name in ("action", "outcome", "sufficiency"):
        values[name] = values.get(name) or None
    imported_at, imported_from = values.pop("imported_at", None), values.pop("imported_from", "")
    values["imported"] = Import(imported_at, imported_from) if values["imported"] and imported_at else None
    if "helpful" in values:
        values["helpful"] = bool(values["helpful"])
    return RunRow(**values)
