"""Starts, follows and stops runs. A run lives in a worker thread and in the log, never in a page."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

from crag.database import Database
from crag.errors import BadRequest, CragError, Stopped
from crag.events import EngineOpened, Event, Noted, RunEnded, RunStarted
from crag.graph.state import Consent, Deps, State
from crag.protocols import Engine, Retriever, WebSearch
from crag.runs.log import EventLog
from crag.runs.records import RunRecords
from crag.runs.run import LiveRun, LoggedRun, Run
from crag.runs.trace import Trace
from crag.types import RunOptions, Turn

_log = logging.getLogger(__name__)
_WORKERS = 8
_QUESTION_LIMIT = 8_000
_TRACES_KEPT = 200


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a run works with, opened for its options; `notes` are told with the answer.

    `web_missing` says why there is no web search, in a clause.
    """

    engine: Engine
    retriever: Retriever
    embedder: str
    web: WebSearch | None
    web_missing: str
    notes: tuple[str, ...] = ()


Equip = Callable[[RunOptions], Equipment]


class RunService:
    """All runs of one home; safe to use from several threads."""

    def __init__(self, database: Database, equip: Equip) -> None:
        """`equip` opens models and indexes; it is called in the worker, where its errors become the run's."""
        self._equip = equip
        self._records = RunRecords(database)
        self._log = EventLog(database)
        self._records.close_orphans(self._log)
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="run")
        self._lock = threading.Lock()
        self._live: dict[str, LiveRun] = {}
        self._traces: OrderedDict[str, Trace] = OrderedDict()

    def start(
        self, conversation_id: str | None, question: str, options: RunOptions, consent: Consent | None = None
    ) -> Run:
        """Keeps the question, then begins to answer it. Without a conversation only the run itself is kept.

        Raises `BadRequest` for a question that is empty or too long, or while the conversation is still being
        answered; `NotFound` when the conversation is gone.
        """
        question = _readable(question)
        with self._lock:
            history = self._records.history(conversation_id) if conversation_id else ()
            run = LiveRun(uuid.uuid4().hex, question, self._log)
            self._records.open(run.id, conversation_id, question)
            self._live[run.id] = run
        self._workers.submit(self._work, run, history, options, consent)
        return run

    def attach(self, run_id: str) -> Run:
        """The run with this id, live or from the log. Raises `NotFound`."""
        if live := self._live.get(run_id):
            return live
        return LoggedRun(run_id, self._records.question(run_id), self._log)

    def active(self, conversation_id: str) -> Run | None:
        """The run that is answering in this conversation now, in this process or another."""
        run_id = self._records.running(conversation_id)
        return self.attach(run_id) if run_id else None

    def stop(self, run_id: str) -> None:
        """Asks a run of this process to stop; what it has written is kept. Asking twice, or too late, is harmless."""
        if run := self._live.get(run_id):
            run.stop.request()

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

    def close(self) -> None:
        """Stops every run, waits for them, and closes the log."""
        for run in list(self._live.values()):
            run.stop.request()
        self._workers.shutdown(wait=True)
        self._log.close()

    def _work(self, run: LiveRun, history: tuple[Turn, ...], options: RunOptions, consent: Consent | None) -> None:
        self._finish(run, self._answer(run, history, options, consent))

    def _answer(
        self, run: LiveRun, history: tuple[Turn, ...], options: RunOptions, consent: Consent | None
    ) -> RunEnded:
        try:
            run.stop.check()
            deps = self._prepare(run, options, consent)
            from crag.graph.build import build_graph  # imported late: LangGraph is slow to import

            start = State(question=run.question, history=history)
            for event in build_graph().stream(start, context=deps, stream_mode="custom"):
                run.record(cast("Event", event))
            return RunEnded("done", run.elapsed())
        except Stopped:
            return RunEnded("stopped", run.elapsed())
        except CragError as error:
            return RunEnded("failed", run.elapsed(), error.message, error.remedy, error.code)
        except Exception:  # noqa: BLE001 — the last line of defence of a thread; logged, and shown as a fault
            _log.exception("A run failed in a way nobody foresaw")
            return RunEnded(
                "failed",
                run.elapsed(),
                "Something went wrong inside the application.",
                "Your question is kept. Try again; the log has the details.",
                "bug",
            )

    def _prepare(self, run: LiveRun, options: RunOptions, consent: Consent | None) -> Deps:
        run.record(RunStarted(run.question, options, time.time() - run.elapsed()))
        equipment = self._equip(options)
        run.record(EngineOpened(equipment.engine.label, equipment.embedder))
        for note in equipment.notes:
            run.record(Noted(note))
        return Deps(
            retriever=equipment.retriever,
            engine=equipment.engine,
            options=options,
            stop=run.stop,
            elapsed=run.elapsed,
            web=equipment.web,
            web_missing=equipment.web_missing,
            consent=consent,
        )

    def _finish(self, run: LiveRun, ended: RunEnded) -> None:
        """The answer is on disk before anybody is told that it is there."""
        trace = Trace().apply_all(run.events)
        try:
            self._log.flush()
            self._records.close(run.id, len(run.events) + 1, ended, trace)
        except CragError as error:
            ended = RunEnded("failed", ended.at, error.message, error.remedy, error.code)
        except Exception:  # noqa: BLE001 — who follows the run must hear of its end, whatever became of the record
            _log.exception("The end of a run could not be kept")
            ended = RunEnded("failed", ended.at, "The answer could not be kept.", "Ask again.", "bug")
        run.end(ended)
        trace.apply(ended)
        self._keep(run.id, trace)
        self._live.pop(run.id, None)

    def _keep(self, run_id: str, trace: Trace) -> None:
        self._traces[run_id] = trace
        while len(self._traces) > _TRACES_KEPT:
            self._traces.popitem(last=False)


def _readable(question: str) -> str:
    """The question without what no database can hold. Raises `BadRequest`."""
    clean = question.encode("utf-8", "ignore").decode().replace("\x00", "").strip()
    if not clean:
        raise BadRequest("The question is empty.", "Write one, then send it.")
    if len(clean) > _QUESTION_LIMIT:
        raise BadRequest(
            f"The question has {len(clean):,} characters; at most {_QUESTION_LIMIT:,} can be asked.",
            "Shorten it, or add the long part as a document and ask about it.",
        )
    return clean
