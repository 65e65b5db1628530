"""All runs but those of evaluations as a list: filtered, counted, the latest first, waiting and running ones too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, func, or_, select, true

from crag.conversations.listing import holds, visible
from crag.database import Database
from crag.database.tables import conversations, feedback, run_summaries, runs
from crag.inspection.summing import SUMMED, Summing
from crag.types import Action, Outcome, Progress, RunState, VerdictWord

Thumb = Literal["up", "down", "none"]
_THUMBS: dict[Thumb, ColumnElement[bool]] = {
    "up": feedback.c.helpful == 1,
    "down": feedback.c.helpful == 0,
    "none": feedback.c.helpful.is_(None),
}
_COLUMNS = (
    runs.c.id.label("run_id"),
    *(runs.c[name] for name in ("question", "conversation_id", "started_at", "state", "change")),
    *(column for column in run_summaries.c if column.name != "run_id"),
    feedback.c.helpful,
    feedback.c.reason,
)
_ACTION, _OUTCOME, _MODEL = (
    func.coalesce(column, "") for column in (run_summaries.c.action, run_summaries.c.outcome, run_summaries.c.model)
)


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as it is listed; `started_at` in seconds since the epoch, `seconds` how long it took.

    What came of it is not known (None, empty, 0) while it runs or waits. `best` is the highest score of a passage of
    the library; `relevant` to `unknown` are how many passages have that verdict. `helpful` is None without a thumb.
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
    helpful: bool | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What is listed; an empty field lets everything through. Several values of one field are alternatives.

    `verdicts`: those with at least one passage of such a verdict. `actions` "" are those where none was decided. `web`:
    whether a query was sent. `since` and `until` bound the start, in seconds since the epoch.
    """

    search: str = ""
    actions: tuple[Action | Literal[""], ...] = ()
    models: tuple[str, ...] = ()
    verdicts: tuple[VerdictWord, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    states: tuple[RunState, ...] = ()
    helpful: tuple[Thumb, ...] = ()
    since: float | None = None
    until: float | None = None
    web: bool | None = None


@dataclass(frozen=True, slots=True)
class Facets:
    """How many runs there are of each action, outcome, model and state; "" where there is none."""

    actions: Mapping[str, int] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DayCount:
    """So many runs of one day (YYYY-MM-DD, in this machine's time) came to the same action."""

    day: str
    action: str
    runs: int


class RunArchive:
    """What was asked in one home. `person` lists only the runs of their conversations; None those of everybody."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._summing = Summing(database)

    def begin(self) -> None:
        """Has what is not summed up yet summed up in the background; asking again is harmless."""
        self._summing.begin()

    def complete(self) -> None:
        """Sums up what is not summed up yet, and returns when that is done."""
        self._summing.complete()

    @property
    def progress(self) -> Progress | None:
        """How far that is; None when all of it is done. Meanwhile what runs came to is missing from old ones."""
        return self._summing.progress

    def slowest(self, person: str | None = None, limit: int = 5) -> list[RunRow]:
        """Those that took longest among those that came to their end."""
        done = _chosen(select(*_COLUMNS), RunFilter(states=("done",)), person)
        return _rows(self._database, done.order_by(run_summaries.c.seconds.desc()).limit(limit))

    def count(self, wanted: RunFilter | None = None, person: str | None = None) -> int:
        """How many runs there are."""
        with self._database.read() as connection:
            return int(connection.execute(_chosen(select(func.count()), wanted or RunFilter(), person)).scalar_one())

    def facets(self, person: str | None = None) -> Facets:
        """How many runs there are of each kind, whatever the filter."""
        kinds = (_ACTION, _OUTCOME, _MODEL, runs.c.state)
        query = _chosen(select(*kinds, func.count()), RunFilter(), person).group_by(*kinds)
        found: tuple[Counter[str], ...] = (Counter(), Counter(), Counter(), Counter())
        with self._database.read() as connection:
            for *values, number in connection.execute(query):
                for counted, value in zip(found, values, strict=True):
                    counted[value] += number
        return Facets(*found)

    def days(self, since: float, person: str | None = None) -> list[DayCount]:
        """How many runs of each day came to which action, the earliest day first."""
        day = func.date(runs.c.started_at, "unixepoch", "localtime")
        query = _chosen(select(day, _ACTION, func.count()), RunFilter(since=since), person)
        with self._database.read() as connection:
            return [DayCount(*row) for row in connection.execute(query.group_by(day, _ACTION).order_by(day))]

    def list(
        self, wanted: RunFilter | None = None, person: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[RunRow]:
        """At most `limit` runs after the first `offset`, the latest first."""
        query = _chosen(select(*_COLUMNS), wanted or RunFilter(), person)
        latest = query.order_by(runs.c.started_at.desc(), runs.c.id).limit(limit).offset(offset)
        return _rows(self._database, latest)

    def close(self) -> None:
        """Stops what is done in the background."""
        self._summing.close()


def _rows(database: Database, query: Select[Any]) -> list[RunRow]:
    with database.read() as connection:
        return [_row(values) for values in connection.execute(query).mappings()]


def _chosen(columns: Select[Any], wanted: RunFilter, person: str | None) -> Select[Any]:
    joined = (
        runs.outerjoin(run_summaries, SUMMED)
        .outerjoin(feedback, feedback.c.run_id == runs.c.id)
        .outerjoin(conversations, conversations.c.id == runs.c.conversation_id)
    )
    return columns.select_from(joined).where(runs.c.evaluation_id.is_(None), visible(person), *_conditions(wanted))


def _conditions(wanted: RunFilter) -> list[ColumnElement[bool]]:
    chosen: list[ColumnElement[bool]] = [
        column.in_(values)
        for column, values in (
            (_ACTION, wanted.actions),
            (_OUTCOME, wanted.outcomes),
            (_MODEL, wanted.models),
            (runs.c.state, wanted.states),
        )
        if values
    ]
    if wanted.search.strip():
        chosen.append(holds(runs.c.question, wanted.search.strip()))
    if wanted.verdicts:
        chosen.append(or_(*(run_summaries.c[word] > 0 for word in wanted.verdicts)))
    if wanted.helpful:
        chosen.append(or_(*(_THUMBS[thumb] for thumb in wanted.helpful)))
    if wanted.web is not None:
        sent = func.coalesce(run_summaries.c.query_sent, "") != ""
        chosen.append(sent if wanted.web else ~sent)
    chosen.append(runs.c.started_at >= wanted.since if wanted.since is not None else true())
    chosen.append(runs.c.started_at < wanted.until if wanted.until is not None else true())
    return chosen


def _row(found: Mapping[Any, Any]) -> RunRow:
    """What is NULL is what the row has by itself."""
    values = {str(name): value for name, value in found.items() if value is not None}
    values["conversation_id"] = values.get("conversation_id")
    for name in ("action", "outcome"):
        values[name] = values.get(name) or None
    if "helpful" in values:
        values["helpful"] = bool(values["helpful"])
    return RunRow(**values)
