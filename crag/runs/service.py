"""Starts, follows, stops and goes on with runs. A run lives in a worker thread and in the log, never in a page."""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from crag.database import Database
from crag.errors import BadRequest
from crag.events import ConsentGiven, Node, RunEnded
from crag.graph.consent import DECLINED
from crag.graph.state import State
from crag.model_calls import ModelCall
from crag.options import RunOptions
from crag.protocols import QUERY_LIMIT
from crag.runs.branches import Branch, Branches
from crag.runs.calls import CallLog
from crag.runs.checkpoints import Checkpoints
from crag.runs.log import EventLog
from crag.runs.records import RunRecords
from crag.runs.revisions import Revision
from crag.runs.run import LiveRun, LoggedRun, Run
from crag.runs.texts import storable, storable_question
from crag.runs.trace import Trace
from crag.runs.versions import Ruled, VersionRecords, ruled
from crag.runs.worker import Equip, Task, Worker
from crag.types import Ruling, Turn, Version
from crag.waiting import Wait, waits

_WORKERS = 64  # they mostly wait, for models, each of which has a line of its own
_TRACES_KEPT = 200


class RunService:
    """All runs of one home; safe to use from several threads."""

    def __init__(self, database: Database, equip: Equip) -> None:
        """`equip` opens models and indexes; it is called in the worker, where its errors become the run's."""
        self._records = RunRecords(database)
        self._versions = VersionRecords(database)
        self._log = EventLog(database)
        self._calls = CallLog(database, self._log.writer)
        self._checkpoints = Checkpoints(database.home)
        self._branches = Branches(self._records, self._versions, self._log)
        self._worker = Worker(equip, self._records, self._log, self._calls, self._checkpoints)
        self._records.close_orphans(self._log)
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="run")
        self._lock = threading.Lock()
        self._live: dict[str, LiveRun] = {}
        self._traces: OrderedDict[str, Trace] = OrderedDict()

    def start(
        self, conversation_id: str | None, question: str, options: RunOptions, *, evaluation_id: str | None = None
    ) -> Run:
        """Keeps the question, then begins to answer it. Without a conversation only the run itself is kept.

        One of an evaluation is deleted with it, and not listed among the questions that people asked.

        Raises `BadRequest` for a question that is empty or too long, or while the conversation is still being
        answered; `NotFound` when the conversation is gone.
        """
        return self._ask(conversation_id, storable_question(question), options, evaluation_id=evaluation_id)

    def edit(self, message_id: int, question: str, options: RunOptions) -> Run:
        """Answers another wording of a question, in a branch of its conversation beside the one that is there.

        Raises as `start`, and `NotFound` when that question is gone.
        """
        conversation_id = self._records.place_of_question(message_id)
        return self._ask(conversation_id, storable_question(question), options, edited=message_id)

    def answer_consent(self, run_id: str, query: str | None, reason: str = DECLINED) -> Run:
        """Goes on with a run that waits: with the query as it may be sent, or None and the reason to show.

        Raises `BadRequest` for an empty query, or when the run waits no longer; `NotFound`.
        """
        if query is not None and not (query := storable(query)[:QUERY_LIMIT]):
            raise BadRequest("The query is empty.", "Write one, or answer from your documents only.")
        run = self._take_over(run_id)
        if run is None:
            raise BadRequest("This was decided already.", "Reload the page to see the answer.")
        run.record(ConsentGiven(query))
        options = Trace().apply_all(run.events).options
        return self._begin(Task(run, options, answer={"query": query, "reason": reason}))

    def keep_draft(self, run_id: str, query: str) -> None:
        """Keeps the query of a run that waits as it was edited so far."""
        self._records.keep_draft(run_id, storable(query)[:QUERY_LIMIT])

    def draft(self, run_id: str) -> str:
        """The query of a run that waits: as edited, else as it was written."""
        waiting = self.trace(run_id).waiting
        return self._records.draft(run_id) or (waiting.query if waiting else "")

    def overrule(self, run_id: str, rulings: Mapping[int, Ruling]) -> Run:
        """A new version of an answer, gone on with from where its passages had been graded, with other verdicts.

        The rulings of the version before still stand. Raises `BadRequest` while the conversation is being answered or
        for a passage that was not graded, `NotFound` when nothing is left to go on from.
        """
        trace = self._ended(run_id)
        return self._begin_version(self._branches.overruled(run_id, trace, rulings), ruled(run_id, trace, rulings))

    def search_for(self, run_id: str, sentence: str) -> Run:
        """A new version of an answer that also searches the web for a sentence; a person is asked first, always.

        Raises as `overrule`, and `BadRequest` for a sentence that says nothing.
        """
        return self._begin_version(self._branches.searched(run_id, self._ended(run_id), sentence))

    def go_on(self, run_id: str) -> Run:
        """A new version of an answer that broke off, was cut or stopped: it keeps the text so far and goes on from it.

        Raises `BadRequest` for one that is whole or has no text, `NotFound`.
        """
        return self._begin_version(self._branches.continued(run_id, self._ended(run_id)))

    def revise(self, run_id: str, node: Node, revision: Revision) -> Run:
        """A new version of an answer, gone on with from just before a node of its run, with something changed.

        Works from the events, so also for a run whose process was killed. Raises `BadRequest` for a node that it never
        came to or what cannot be changed there, `NotFound`.
        """
        query = storable(revision.query)[:QUERY_LIMIT]
        trace = self._ended(run_id)
        branch = self._branches.revised(run_id, trace, node, replace(revision, query=query))
        return self._begin_version(branch, ruled(run_id, trace, revision.rulings))

    def ask_again(self, run_id: str, options: RunOptions) -> Run:
        """A new version of an answer to the same question, from the beginning. Raises `BadRequest`, `NotFound`."""
        return self._begin_version(self._branches.anew(run_id, self._ended(run_id), options))

    def versions(self, run_id: str) -> list[Version]:
        """Every version of the answer that this run is one of, the first first. Raises `NotFound`."""
        return self._versions.of(run_id)

    def evaluation(self, run_id: str) -> str | None:
        """The id of the evaluation that this run is one of, if any."""
        return self._records.evaluation(run_id)

    def show_version(self, run_id: str) -> None:
        """Shows this version in its message. Raises `BadRequest` while the conversation is answered, `NotFound`."""
        self._versions.show(run_id, self.trace(run_id).text)

    def attach(self, run_id: str) -> Run:
        """The run with this id, live or from the log. Raises `NotFound`."""
        if live := self._live.get(run_id):
            return live
        return LoggedRun(run_id, self._records.question(run_id), self._log)

    def active(self, conversation_id: str) -> Run | None:
        """The run that is answering in this conversation now, in this process or another, or waits for a person."""
        run_id = self._records.running(conversation_id)
        if run_id is None or run_id in self._worker.unkept:  # that ended, though its end could not be written yet
            return None
        return self.attach(run_id)

    @property
    def busy(self) -> bool:
        """Whether this process answers anything now."""
        return bool(self._live)

    def waiting_for(self, run_id: str) -> Wait | None:
        """What a run of this process waits for at this moment, and has for longest; None when for nothing."""
        live = self._live.get(run_id)
        return next(iter(waits(live.stop)), None) if live else None

    def stop(self, run_id: str) -> None:
        """Asks a run of this process to stop; what it has written is kept. Asking twice, or too late, is harmless."""
        if live := self._live.get(run_id):
            live.stop.request()
        if run_id not in self._live and (run := self._take_over(run_id)):  # it waits, perhaps only since just now
            self._keep(run_id, self._worker.finish(run, RunEnded("stopped", run.elapsed())))
            self._live.pop(run_id, None)

    def trace(self, run_id: str) -> Trace:
        """What the events of a run add up to now. Raises `NotFound`."""
        if kept := self._traces.get(run_id):
            return kept
        run = self.attach(run_id)
        ended = run.ended
        trace = Trace().apply_all(event for _, event in run.follow(seconds=0))
        if ended:
            self._keep(run_id, trace)
        return trace

    def calls(self, run_id: str) -> list[ModelCall]:
        """Every prompt of a run as it was sent, and what came back, in order; kept for the latest 1,000 runs.

        Empty where no model was asked: the built-in engine asks none.
        """
        return self._calls.of(run_id)

    def forget_deleted(self) -> None:
        """Deletes what was kept of runs that were deleted, their state and rulings, and the calls of old ones."""
        self._versions.forget_deleted()
        self._calls.forget_old()
        with suppress(sqlite3.Error):  # closed meanwhile, or damaged: the next start sees to it
            self._checkpoints.forget(self._records.deleted(self._checkpoints.runs()))

    def recent(self, limit: int, person: str | None = None) -> list[str]:
        """The ids of at most `limit` runs of a person that came to their end, the latest first."""
        return self._records.recent(limit, person)

    def close(self) -> None:
        """Stops every run, waits for them, and closes the log."""
        for run in list(self._live.values()):
            run.stop.request()
        self._workers.shutdown(wait=True)
        self._log.close()
        self._checkpoints.close()

    def _ask(
        self,
        conversation_id: str | None,
        question: str,
        options: RunOptions,
        *,
        edited: int | None = None,
        evaluation_id: str | None = None,
    ) -> Run:
        run = LiveRun(uuid.uuid4().hex, question, self._log)
        with self._lock:
            self._records.close_orphans(self._log, self._worker.unkept)
            history = self._history(conversation_id, edited)
            self._records.open(run.id, conversation_id, question, edited, evaluation_id)
            self._live[run.id] = run
        return self._begin(Task(run, options, start=State(question=question, history=history)))

    def _history(self, conversation_id: str | None, edited: int | None) -> tuple[Turn, ...]:
        """What led to the place where a question is asked."""
        if edited is not None:
            return self._records.history_before(edited)
        return self._records.history(conversation_id) if conversation_id else ()

    def _begin(self, task: Task) -> Run:
        self._workers.submit(self._work, task)
        return task.run

    def _work(self, task: Task) -> None:
        run = task.run
        trace = self._worker.work(task)
        if trace is not None:
            self._keep(run.id, trace)
        with self._lock:
            if self._live.get(run.id) is run:  # else it waited, and goes on already as another
                del self._live[run.id]
        if trace is None and run.stop.wait(0):  # asked while it began to wait
            self.stop(run.id)

    def _begin_version(self, branch: Branch, labels: Ruled = ()) -> Run:
        run = branch.task.run
        with self._lock:
            self._records.close_orphans(self._log, self._worker.unkept)
            self._versions.open(run.id, branch.parent, branch.change, labels)
            self._live[run.id] = run
        return self._begin(branch.task)

    def _ended(self, run_id: str) -> Trace:
        """The trace of a run that has ended: only such a one has versions. Raises `BadRequest`, `NotFound`."""
        trace = self.trace(run_id)
        if trace.state in ("running", "waiting"):
            raise BadRequest("This answer is still being written.", "Wait for it, or stop it.")
        return trace

    def _take_over(self, run_id: str) -> LiveRun | None:
        """A run that waited, as one of this process; None when it waits no longer. Raises `NotFound`."""
        question = self._records.question(run_id)
        with self._lock:
            if not self._records.claim(run_id):
                return None
            events = [event for _, event in self._log.read(run_id)]
            waiting = Trace().apply_all(events).waiting
            run = LiveRun(run_id, question, self._log, events, elapsed=waiting.at if waiting else 0.0)
            self._live[run_id] = run
        return run

    def _keep(self, run_id: str, trace: Trace) -> None:
        self._traces[run_id] = trace
        while len(self._traces) > _TRACES_KEPT:
            self._traces.popitem(last=False)
