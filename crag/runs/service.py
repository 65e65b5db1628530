"""Run service: start, follow, stop and resume runs."""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from crag.cancellation import Cancellation
from crag.concurrency.caches import LRUCache
from crag.concurrency.workers import BackgroundWorker
from crag.errors import BadRequest, HomeFault
from crag.events import ConsentGiven, RunEnded
from crag.graph.policy import SEARCH_DECLINED
from crag.graph.state import GraphState
from crag.options import RunOptions
from crag.protocols import MAX_QUERY_LENGTH
from crag.runs.call_log import CallLog
from crag.runs.checkpoints import Checkpoints
from crag.runs.event_log import EventLog
from crag.runs.records import RunRecords
from crag.runs.revisions import Revision
from crag.runs.run import LiveRun, LoggedRun, Run
from crag.runs.trace import Trace
from crag.runs.versions import RulingRows, VersionPlan, VersionPlanner, VersionRecords, build_ruling_rows
from crag.runs.worker import RunResourceBuilder, RunTask, RunWorker
from crag.storage.engine import Database
from crag.storage.row_security import document_owner
from crag.storage.sources import read_source_titles
from crag.storage.tables import conversations, evaluations, messages, queued_questions, runs
from crag.storage.user_scope import UserScoped, check_visible
from crag.text.sanitization import normalize_question, normalize_user_text
from crag.types import ModelCall, NodeName, Ruling, Turn, Version

_MAX_WORKERS = 512  # they mostly wait in the queues of the processor and of the models
_MAX_CACHED_TRACES = 200
_STOP_SECONDS = 2.0
_WATCH_SECONDS = 0.5


class RunService(UserScoped):
    """The runs of one home or of one user; safe to use from several threads.

    Every method that takes the id of a run of another user raises `NotFound`.
    """

    def __init__(self, database: Database, open_resources: RunResourceBuilder) -> None:
        """Close runs that a dead process left open.

        `open_resources` opens the models and indexes of a run in its worker thread. Errors of `open_resources` become
        errors of the run.
        """
        self._database = database
        self._records = RunRecords(database)
        self._versions = VersionRecords(database)
        self._log = EventLog(database)
        self._calls = CallLog(database, self._log.writer)
        self._checkpoints = Checkpoints(database.home)
        self._planner = VersionPlanner(self._records, self._versions, self._log)
        self._worker = RunWorker(open_resources, self._records, self._log, self._calls, self._checkpoints)
        self._records.close_orphans(self._log)
        self._workers = ThreadPoolExecutor(_MAX_WORKERS, thread_name_prefix="run")
        self._lock = threading.RLock()
        self._live: dict[str, LiveRun] = {}
        self.on_end: Callable[[str], object] = lambda _: None  # called with the id of each run that ended here
        self.check_limit: Callable[[str | None], object] = lambda _: None  # raises `BadRequest` if a user asks too much
        self._traces: LRUCache[str, Trace] = LRUCache(_MAX_CACHED_TRACES)
        self._watcher = BackgroundWorker("runs-watch", self._watch_processes, _WATCH_SECONDS)
        self._watcher.start()

    def start(
        self,
        conversation_id: str | None,
        question: str,
        options: RunOptions,
        *,
        evaluation_id: str | None = None,
        edited: int | None = None,
        queued: int | None = None,
        history: Sequence[Turn] = (),
    ) -> Run:
        """Store the question, then start to answer it. Without a conversation only the run itself is stored.

        `history` precedes the question where its conversation is new or there is none.

        With the id of an `edited` question, the question starts a sibling branch; with the id of a `queued` one, it
        leaves the queue. A run of an evaluation is deleted with it and not listed among the questions of users. Raises
        `BadRequest` for a question that is empty or too long; `StillAnswering`; `NotFound` when the conversation was
        deleted or the queued question was asked already.
        """
        check_visible(self._database, conversations, conversation_id, self._user)
        for table, row_id in ((messages, edited), (queued_questions, queued), (evaluations, evaluation_id)):
            if row_id is not None:
                check_visible(self._database, table, row_id, self._user)
        run = LiveRun(uuid.uuid4().hex, normalize_question(question), self._log)
        with self._lock:
            self._records.close_orphans(self._log, self._worker.unsaved_run_ids)
            turns = self._history(conversation_id, edited) or tuple(history)
            self._records.open(run.id, conversation_id, run.question, edited, evaluation_id, queued)
            self._live[run.id] = run
        self._workers.submit(
            self._execute, RunTask(run, options, start=GraphState(question=run.question, history=turns))
        )
        return run

    def count_question(self) -> None:
        """Count a question that is started directly against the user's limit. Raises `BadRequest` beyond it."""
        self.check_limit(self._user)

    def edit(self, message_id: int, question: str, options: RunOptions) -> Run:
        """Answer another wording of a question, in a new branch of its conversation.

        Raises as `start`, and `NotFound` when that question was deleted.
        """
        conversation_id = self._records.conversation_of_question(message_id)
        self.count_question()
        return self.start(conversation_id, question, options, edited=message_id)

    def answer_consent(self, run_id: str, query: str | None, reason: str = SEARCH_DECLINED) -> Run:
        """Resume a waiting run with the query to send, or with None and the reason to show.

        Raises `BadRequest` for an empty query or when the run no longer waits; `NotFound`.
        """
        self._check_own(run_id)
        if query is not None and not (query := normalize_user_text(query)[:MAX_QUERY_LENGTH]):
            raise BadRequest("The query is empty.", "Write one, or answer from your documents only.")
        run = self._take_over(run_id)
        if run is None:
            raise BadRequest("This was decided already.", "Reload the page to see the answer.")
        run.record(ConsentGiven(query))
        waiting = Trace().apply_all(run.events[:-1])
        start = self._planner.rebuild_waiting(run_id, waiting)
        self._workers.submit(
            self._execute, RunTask(run, waiting.options, start=start, answer={"query": query, "reason": reason})
        )
        return run

    def save_draft(self, run_id: str, query: str) -> None:
        """Save the edited query of a waiting run."""
        self._check_own(run_id)
        self._records.save_draft(run_id, normalize_user_text(query)[:MAX_QUERY_LENGTH])

    def draft(self, run_id: str) -> str:
        """Return the query of a waiting run: as edited, else as it was written."""
        waiting = self.trace(run_id).waiting
        return self._records.draft(run_id) or (waiting.query if waiting else "")

    def overrule(self, run_id: str, rulings: Mapping[int, Ruling]) -> Run:
        """Start a new version of an answer that re-runs from the decision with other verdicts.

        The rulings of the previous version still apply. Raises `BadRequest` while the conversation is being answered or
        for a passage that was not graded, `NotFound` when too little is stored to resume.
        """
        trace = self._require_ended(run_id)
        return self._begin_version(
            self._planner.plan_override(run_id, trace, rulings), build_ruling_rows(run_id, trace, rulings)
        )

    def search_web_for(self, run_id: str, sentence: str) -> Run:
        """Start a new version of an answer that also searches the web for a sentence, always after asking for consent.

        Raises as `overrule`, and `BadRequest` for a sentence without content.
        """
        return self._begin_version(self._planner.plan_search(run_id, self._require_ended(run_id), sentence))

    def continue_answer(self, run_id: str) -> Run:
        """Start a new version of an incomplete answer that keeps the text so far and continues it.

        Raises `BadRequest` for an answer that is complete or has no text, `NotFound`.
        """
        return self._begin_version(self._planner.plan_continuation(run_id, self._require_ended(run_id)))

    def revise(self, run_id: str, node: NodeName, revision: Revision) -> Run:
        """Start a new version of an answer that re-runs from just before a node, with something changed.

        It is rebuilt from the events, so it also works for a run whose process was killed. Raises `BadRequest` for a
        node that the run never reached or a change that is not possible there, `NotFound`.
        """
        query = normalize_user_text(revision.query)[:MAX_QUERY_LENGTH]
        trace = self._require_ended(run_id)
        branch = self._planner.plan_revision(run_id, trace, node, replace(revision, query=query))
        return self._begin_version(branch, build_ruling_rows(run_id, trace, revision.rulings))

    def regenerate(self, run_id: str, options: RunOptions) -> Run:
        """Start a new version of an answer to the same question from scratch. Raises `BadRequest`, `NotFound`."""
        return self._begin_version(self._planner.plan_regeneration(run_id, self._require_ended(run_id), options))

    def stop_and_regenerate(self, run_id: str, options: RunOptions) -> Run:
        """Stop a run if it is still answering, then regenerate its answer before any queued question is asked.

        Raises as `regenerate`, also when the run does not stop within two seconds.
        """
        self._check_own(run_id)
        with self._lock:
            if live := self._live.get(run_id):
                live.stop.cancel()
                for _ in live.follow(seconds=_STOP_SECONDS):
                    pass
            return self.regenerate(run_id, options)

    def versions(self, run_id: str) -> list[Version]:
        """Return all versions of the answer that this run belongs to, oldest first. Raises `NotFound`."""
        self._check_own(run_id)
        return self._versions.list_versions(run_id)

    def evaluation(self, run_id: str) -> str | None:
        """Return the id of the evaluation that this run belongs to, if any."""
        self._check_own(run_id)
        return self._records.evaluation(run_id)

    def show_version(self, run_id: str) -> None:
        """Show this version in its message. Raises `BadRequest` while the conversation is answered, `NotFound`."""
        self._versions.show(run_id, self.trace(run_id).text)

    def attach(self, run_id: str) -> Run:
        """Return the run with this id, live or from the log. Raises `NotFound`."""
        self._check_own(run_id)
        if live := self._live.get(run_id):
            return live
        return LoggedRun(run_id, self._records.question(run_id), self._log)

    def active(self, conversation_id: str) -> Run | None:
        """Return the run that is answering in this conversation or waits for the user, in this process or another."""
        run_id = self._records.running(conversation_id)
        if run_id is None or run_id in self._worker.unsaved_run_ids:  # it ended, but its end could not be saved yet
            return None
        return self.attach(run_id)

    @property
    def busy(self) -> bool:
        """Whether this process is answering anything now."""
        return bool(self._live)

    def count_live(self) -> tuple[int, int]:
        """Return how many runs this process works on now, and how many wait for a model or the processor."""
        waiting = [run.current_wait() is not None for run in list(self._live.values())]
        return len(waiting) - sum(waiting), sum(waiting)

    def stop(self, run_id: str) -> None:
        """Stop a run and keep its text so far; another process notices within half a second.

        Calling this twice, or too late, is harmless.
        """
        self._check_own(run_id)
        if live := self._live.get(run_id):
            live.stop.cancel()
        else:
            self._records.request_stop(run_id)
        if run_id not in self._live and (run := self._take_over(run_id)):  # it waits, perhaps only since a moment ago
            self._traces.put(run_id, self._worker.finish(run, RunEnded("stopped", run.elapsed())))
            self._live.pop(run_id, None)
            self.on_end(run_id)

    def trace(self, run_id: str) -> Trace:
        """Return the trace of a run so far, with the titles that its documents have now. Raises `NotFound`."""
        self._check_own(run_id)
        trace = self._read_trace(run_id)
        with self._database.read() as connection:
            return trace.with_titles(read_source_titles(connection, trace.source_ids(), self._user))

    def _read_trace(self, run_id: str) -> Trace:
        if kept := self._traces.get(run_id):
            return kept
        run = self.attach(run_id)
        ended = run.ended
        trace = Trace().apply_all(event for _, event in run.follow(seconds=0))
        if ended:
            self._traces.put(run_id, trace)
        return trace

    def calls(self, run_id: str) -> list[ModelCall]:
        """Return every prompt of a run as sent, with its reply, in order; kept for the latest 1,000 runs.

        Empty where no model was called: the built-in engine calls none.
        """
        self._check_own(run_id)
        return self._calls.read_calls(run_id)

    def delete_orphaned_data(self) -> None:
        """Delete the state and rulings of deleted runs, and the model calls of old ones."""
        self._versions.delete_orphaned_data()
        self._calls.delete_old_calls()
        with suppress(sqlite3.Error, HomeFault):  # closed meanwhile, damaged or gone: the next start handles it
            self._checkpoints.forget(self._records.missing_runs(self._checkpoints.runs()))

    def recent(self, limit: int) -> list[str]:
        """Return the ids of at most `limit` completed runs, latest first."""
        return self._records.recent(limit, self._user)

    def close(self) -> None:
        """Stop every run, wait for them, and close the log."""
        self._watcher.close()
        for run in list(self._live.values()):
            run.stop.cancel()
        self._workers.shutdown(wait=True)
        self._log.close()
        self._checkpoints.close()

    def _watch_processes(self, _closing: Cancellation) -> None:
        """Stop the runs that another process asked to stop, and close those of processes that died meanwhile."""
        if self._live:
            for run_id in self._records.stop_requests():
                if live := self._live.get(run_id):
                    live.stop.cancel()
        for run_id in self._records.close_orphans(self._log, self._worker.unsaved_run_ids):
            self.on_end(run_id)

    def _check_own(self, run_id: str) -> None:
        check_visible(self._database, runs, run_id, self._user)

    def _history(self, conversation_id: str | None, edited: int | None) -> tuple[Turn, ...]:
        """Return the turns that precede the place where a question is asked."""
        if edited is not None:
            return self._records.history_before(edited)
        return self._records.history(conversation_id) if conversation_id else ()

    def _execute(self, task: RunTask) -> None:
        run = task.run
        trace = self._worker.execute(task)
        if trace is not None:
            self._traces.put(run.id, trace)
        with self._lock:
            if self._live.get(run.id) is run:  # else it waited, and already continues as another object
                del self._live[run.id]
        if trace is None and run.stop.wait(0):  # a stop was requested while it began to wait
            self.stop(run.id)
        if trace is not None:
            self.on_end(run.id)

    def _begin_version(self, plan: VersionPlan, ruling_rows: RulingRows = ()) -> Run:
        run = plan.task.run
        self.check_limit(self._user)
        with self._lock:
            self._records.close_orphans(self._log, self._worker.unsaved_run_ids)
            owned = [{**row, "person": document_owner(self._user)} for row in ruling_rows]
            self._versions.open(run.id, plan.parent, plan.change, owned)
            self._live[run.id] = run
        self._workers.submit(self._execute, plan.task)
        return run

    def _require_ended(self, run_id: str) -> Trace:
        """Return the trace of a finished run: only such a run has versions. Raises `BadRequest`, `NotFound`."""
        trace = self.trace(run_id)
        if trace.state in ("running", "waiting"):
            raise BadRequest("This answer is still being written.", "Wait for it, or stop it.")
        return trace

    def _take_over(self, run_id: str) -> LiveRun | None:
        """Claim a waiting run for this process; None when it no longer waits. Raises `NotFound`."""
        question = self._records.question(run_id)
        with self._lock:
            if not self._records.claim(run_id):
                return None
            events = [event for _, event in self._log.read(run_id)]
            waiting = Trace().apply_all(events).waiting
            run = LiveRun(run_id, question, self._log, events, elapsed=waiting.at if waiting else 0.0)
            self._live[run_id] = run
        return run
