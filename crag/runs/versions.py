"""Versions of an answer: storing and showing them, and planning new ones."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, insert, or_, select, update

from crag.conversations.conversations import check_not_answering, check_not_deleted
from crag.errors import BadRequest, NotFound
from crag.events import Event, QueryWritten, VersionBegun
from crag.graph.state import GraphState
from crag.options import RunOptions
from crag.protocols import MAX_QUERY_LENGTH
from crag.runs.event_log import EventLog
from crag.runs.records import RunRecords, insert_run
from crag.runs.revisions import (
    Revision,
    check_revision,
    describe_option_changes,
    describe_revision,
    reusable_events,
    state_before,
)
from crag.runs.run import LiveRun
from crag.runs.trace import Trace
from crag.runs.worker import RunTask
from crag.storage.engine import Database
from crag.storage.tables import RUN_ORDER, messages, rulings, runs
from crag.storage.user_scope import UserScoped
from crag.text.sanitization import normalize_user_text
from crag.types import NodeName, Ruling, Turn, Version

FIRST_ANSWER_LABEL = "first answer"
RulingRows = Sequence[dict[str, Any]]  # rows of the table `rulings`


def build_ruling_rows(run_id: str, trace: Trace, rulings: Mapping[int, Ruling]) -> RulingRows:
    """Build the rows for rulings on passages of a run, with what another grader needs to judge them again."""
    return [_ruling_row(run_id, trace, passage_id, ruling) for passage_id, ruling in rulings.items()]


class VersionRecords(UserScoped):
    """Rows of versions and rulings, written in short transactions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def question(self, run_id: str) -> int | None:
        """Return the message that a run answers; None for a run without a conversation. Raises `NotFound`."""
        with self._database.read() as connection:
            of_answer = messages.c.run_id.in_(_select_version_ids(_read_run(connection, run_id)))
            return connection.execute(select(messages.c.parent_id).where(of_answer)).scalar()

    def open(self, run_id: str, parent: str, change: str, ruling_rows: RulingRows = ()) -> None:
        """Store and show a new version of the answer that `parent` belongs to, together with its rulings.

        All or nothing. Raises `BadRequest`, `NotFound`.
        """
        with self._database.write() as connection:
            run = _read_run(connection, parent)
            if run.conversation_id:
                check_not_deleted(connection, run.conversation_id)
                check_not_answering(connection, run.conversation_id)
            insert_run(
                connection,
                id=run_id,
                conversation_id=run.conversation_id,
                evaluation_id=run.evaluation_id,
                question=run.question,
                version_of=_original_run_id(run),
                change=change,
            )
            _show_version(connection, run, run_id, "")
            if ruling_rows:
                again = rulings.c.passage_id.in_([row["passage_id"] for row in ruling_rows])
                connection.execute(delete(rulings).where(rulings.c.run_id == parent, again))
                connection.execute(insert(rulings), ruling_rows)

    def show(self, run_id: str, text: str) -> None:
        """Show this version in its message. Raises `BadRequest` while another one is being written, `NotFound`."""
        with self._database.write() as connection:
            run = _read_run(connection, run_id)
            if run.conversation_id:
                check_not_answering(connection, run.conversation_id)
            _show_version(connection, run, run_id, text)

    def list_versions(self, run_id: str) -> list[Version]:
        """Return all versions of the answer that this run belongs to, oldest first. Raises `NotFound`."""
        with self._database.read() as connection:
            run = _read_run(connection, run_id)
            rows = connection.execute(select(runs).where(_is_version(run)).order_by(RUN_ORDER)).all()
        return [
            Version(number, row.id, row.change or FIRST_ANSWER_LABEL, row.state)
            for number, row in enumerate(rows, start=1)
        ]

    def delete_orphaned_data(self) -> None:
        """Delete the rulings of runs that no longer exist."""
        with self._database.write() as connection:
            connection.execute(delete(rulings).where(rulings.c.run_id.not_in(select(runs.c.id))))


def _read_run(connection: Connection, run_id: str) -> Row[Any]:
    row = connection.execute(select(runs).where(runs.c.id == run_id)).first()
    if row is None:
        raise NotFound("This answer no longer exists.")
    return row


def _original_run_id(run: Row[Any]) -> str:
    return str(run.version_of or run.id)


def _is_version(run: Row[Any]) -> ColumnElement[bool]:
    return or_(runs.c.id == _original_run_id(run), runs.c.version_of == _original_run_id(run))


def _select_version_ids(run: Row[Any]) -> Select[tuple[str]]:
    return select(runs.c.id).where(_is_version(run))


def _show_version(connection: Connection, run: Row[Any], run_id: str, text: str) -> None:
    of_message = messages.c.run_id.in_(_select_version_ids(run))
    connection.execute(update(messages).where(of_message).values(run_id=run_id, text=text))


def _ruling_row(run_id: str, trace: Trace, passage_id: int, ruling: Ruling) -> dict[str, Any]:
    passage, verdict = trace.passages[passage_id], trace.verdicts.get(passage_id)
    return {
        "run_id": run_id,
        "question": trace.condensed or trace.question,
        "passage_id": passage_id,
        "title": passage.title,
        "text": passage.text,
        "collection": trace.options.collection,
        "grader": trace.grader,
        "score": verdict.score if verdict else None,
        "ruling": ruling,
        "given_at": time.time(),
    }


@dataclass(frozen=True, slots=True)
class VersionPlan:
    """A planned version: the run it is a version of, how it differs from that run, and the task to execute."""

    parent: str
    change: str
    task: RunTask


class VersionPlanner(UserScoped):
    """Planner of new versions, from the id and trace of a run. Nothing is stored until a plan is started.

    Plans are made from the events of a run, which survive a killed process.
    """

    def __init__(self, records: RunRecords, versions: VersionRecords, log: EventLog) -> None:
        self._records = records
        self._versions = versions
        self._log = log

    def plan_override(self, parent: str, trace: Trace, rulings: Mapping[int, Ruling]) -> VersionPlan:
        """Plan a new decision under these rulings; earlier ones still apply. Raises `BadRequest`, `NotFound`."""
        _require_decision(trace)
        if not rulings:
            raise BadRequest("This passage has no verdict to change.", "Choose another passage.")
        return self.plan_revision(parent, trace, "decide", Revision(rulings))

    def plan_search(self, parent: str, trace: Trace, sentence: str) -> VersionPlan:
        """Plan an additional web search for a sentence, after asking for consent. Raises `BadRequest`, `NotFound`."""
        _require_decision(trace)
        query = " ".join(normalize_user_text(sentence).split())[:MAX_QUERY_LENGTH]
        if not query:
            raise BadRequest("There is nothing to search for.", "Choose a sentence of the answer.")
        state = state_before(trace, self._history(parent), "decide", Revision()) | GraphState(extra_query=query)
        options = replace(trace.options, web="ask")
        return self._plan_from_node(parent, "web search for a sentence without a source", options, "decide", state)

    def plan_continuation(self, parent: str, trace: Trace) -> VersionPlan:
        """Plan to keep the text so far and continue it. Raises `BadRequest`, `NotFound`."""
        if not trace.text or trace.outcome == "not_answered":
            raise BadRequest("There is no text to continue.", "Ask the question again.")
        if not trace.unfinished:
            raise BadRequest("This answer is complete.", "Ask a new question to go further.")
        state = state_before(trace, self._history(parent), "generate", Revision()) | GraphState(begun_answer=trace.text)
        return self._plan_from_node(parent, "continued", trace.options, "generate", state)

    def plan_revision(self, parent: str, trace: Trace, node: NodeName, revision: Revision) -> VersionPlan:
        """Plan a re-run from just before a node with something changed. Raises `BadRequest`, `NotFound`."""
        check_revision(trace, node, revision)
        options = revision.options or trace.options
        state = state_before(trace, self._history(parent), node, revision)
        change = describe_revision(trace, node, revision)
        written = (QueryWritten(revision.query),) if revision.query else ()
        return self._plan_from_node(parent, change, options, node, state, written)

    def rebuild_waiting(self, run_id: str, trace: Trace) -> GraphState:
        """Rebuild the state of a run that waits for consent from its events, in case its checkpoint is lost."""
        asked = trace.waiting
        if asked and asked.from_answer:
            earlier = Trace().apply_all(event for _, event in self._log.read(trace.parent))
            state = self.plan_search(trace.parent, earlier, asked.query).task.start or GraphState()
        else:
            state = state_before(trace, self._history(run_id), "web_search", Revision())
        return state | GraphState(begin_at="web_search", search_web=True)

    def plan_regeneration(self, parent: str, trace: Trace, options: RunOptions) -> VersionPlan:
        """Plan to ask the same question from the beginning, under these options. Raises `NotFound`."""
        run, change = self._new(parent), describe_option_changes(trace.options, options)
        start = GraphState(question=run.question, history=self._history(parent))
        begun = VersionBegun(parent, change, kept=False)
        return VersionPlan(parent, change, RunTask(run, options, start=start, prior_events=(begun,)))

    def _plan_from_node(
        self,
        parent: str,
        change: str,
        options: RunOptions,
        node: NodeName,
        state: GraphState,
        written: tuple[Event, ...] = (),
    ) -> VersionPlan:
        """Plan a re-run from the state before a node, with the events that led there and the events `written` now."""
        events = reusable_events([event for _, event in self._log.read(parent)], node, state)
        prior_events = VersionBegun(parent, change, kept=True), *events, *written
        return VersionPlan(parent, change, RunTask(self._new(parent), options, start=state, prior_events=prior_events))

    def _history(self, run_id: str) -> tuple[Turn, ...]:
        """Return the turns before the question of a run."""
        question_id = self._versions.question(run_id)
        return () if question_id is None else self._records.history_before(question_id)

    def _new(self, parent: str) -> LiveRun:
        """Create a run for the same question, read from the database: events of a killed process may be lost."""
        return LiveRun(uuid.uuid4().hex, self._records.question(parent), self._log)


def _require_decision(trace: Trace) -> None:
    if trace.step("decide") is None:
        raise BadRequest("This answer ended before its passages were graded.", "Ask the question again.")
