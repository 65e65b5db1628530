"""Run worker: open dependencies, stream the graph and store the result, in one thread per run."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from crag.cancellation import Cancellation
from crag.concurrency.processor import max_computing_runs, run_queue
from crag.errors import CragError, HomeFault, ModelFault, Stopped
from crag.events import ConsentAsked, EngineOpened, Event, Noted, QuestionShortened, RunEnded, RunStarted
from crag.graph.state import Deps, GraphState
from crag.options import RunOptions
from crag.protocols import Engine, PageReader, Retriever, WebSearch
from crag.runs.call_log import CallLog
from crag.runs.checkpoints import Checkpoints, checkpoint_config
from crag.runs.event_log import EventLog
from crag.runs.records import RunRecords
from crag.runs.run import LiveRun
from crag.runs.trace import Trace
from crag.storage.outbound_log import on_behalf_of
from crag.types import Progress, ProgressCallback, Thresholds

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


_log = logging.getLogger(__name__)


def no_callbacks(_question: str) -> list[Any]:
    """Return no callbacks."""
    return []


@dataclass(frozen=True, slots=True)
class RunResources:
    """Resources of a run, opened for its options; `notes` are shown with the answer.

    `web_missing` says, as a clause, why there is no web search. `thresholds` are None for the grader's own;
    `calibrated` says that they were fitted to the collection. `model_reason` is as in `EngineOpened`. `callbacks`
    returns the LangGraph callbacks for a question.
    """

    engine: Engine
    retriever: Retriever
    embedder: str
    web: WebSearch | None
    web_missing: str
    notes: tuple[str, ...] = ()
    thresholds: Thresholds | None = None
    calibrated: bool = False
    model_reason: str = ""
    pages: PageReader | None = None
    callbacks: Callable[[str], list[Any]] = no_callbacks


class RunResourceBuilder(Protocol):
    """Opens the resources of runs."""

    def __call__(
        self, options: RunOptions, user: str | None, report: ProgressCallback = ..., stop: Cancellation | None = ...
    ) -> RunResources:
        """Return the resources for one question of a user (None: of the owner of the home, who may read everything).

        `report` is called while documents are prepared for it.
        """
        ...


@dataclass(frozen=True, slots=True)
class RunTask:
    """What a run does: begin with `start`, which may be the state of an earlier run, or resume with `answer`.

    `prior_events` are events to record first; `answer` is the user's reply to a waiting run; `start` is then the state
    rebuilt from its events, which is used if its checkpoint is lost.
    """

    run: LiveRun
    options: RunOptions
    start: GraphState | None = None
    answer: dict[str, str | None] | None = None
    prior_events: tuple[Event, ...] = ()


class RunWorker:
    """Executor of run tasks, one per thread; safe to use from several threads."""

    def __init__(
        self,
        open_resources: RunResourceBuilder,
        records: RunRecords,
        log: EventLog,
        calls: CallLog,
        checkpoints: Checkpoints,
    ) -> None:
        self._open_resources = open_resources
        self._records = records
        self._log = log
        self._calls = calls
        self._checkpoints = checkpoints
        self._queue = run_queue()
        self.unsaved_run_ids: set[str] = set()  # runs whose end could not be saved

    def execute(self, task: RunTask) -> Trace | None:
        """Execute a task to its end and store the result; return its trace, or None when it now waits for the user."""
        run = task.run
        try:
            run.stop.check()
            self._calls.record_calls(run)
            run.stop.on_external_call = partial(self._queue.end_turns, run.stop)
            with on_behalf_of(self._records.owner_id(run.id)), self._queue.take_turn(run.stop, max_computing_runs):
                asked = self._run_graph(task)
            if asked is not None:
                self._wait(run, asked)
                return None
            ended = RunEnded("done", run.elapsed())
        except Exception as error:  # noqa: BLE001 — last line of defence of a thread; shown as the end of the run
            ended = _end_after_error(run, error)
        return self.finish(run, ended)

    def _run_graph(self, task: RunTask) -> ConsentAsked | None:
        """Run the graph to its end, or to where it asks for consent."""
        from langgraph.types import Command  # imported late: LangGraph is slow to import

        run = task.run
        resources = self._prepare(task)
        deps = _graph_deps(task, resources)
        if task.answer is not None and self._checkpoints.is_waiting(run.id):
            begin: Any = Command(resume=task.answer)
            keep = True
        else:
            begin = self._begin(task, deps)
            keep = task.answer is None and _may_ask_consent(deps, task)
        graph = self._checkpoints.graph if keep else self._checkpoints.plain_graph
        config: RunnableConfig = {**checkpoint_config(run.id), "callbacks": resources.callbacks(run.question)}
        left = graph.invoke(begin, config, context=deps, durability="exit" if keep else None)
        if not (interrupts := left.get("__interrupt__")):
            return None
        web = cast("WebSearch", deps.web)
        return ConsentAsked(at=run.elapsed(), provider=web.name, host=web.host, **interrupts[0].value)

    def _begin(self, task: RunTask, deps: Deps) -> GraphState:
        """Return the initial state, including the user's reply if there is one."""
        start = (task.start or GraphState()) | self._shorten(task.run, deps, is_new=task.answer is None)
        if deps.system:
            start |= GraphState(history=())
        return start | GraphState(consent=task.answer) if task.answer else start

    @staticmethod
    def _shorten(run: LiveRun, deps: Deps, *, is_new: bool) -> GraphState:
        """Shorten a question that does not fit the model's window, and report what was left out of a new one."""
        shortened = deps.engine.shorten(run.question)
        if not shortened.left_out:
            return GraphState()
        short = GraphState(short_question=shortened.text)
        if not is_new:
            return short
        run.record(QuestionShortened(shortened.tokens, shortened.left_out))
        run.record(
            Noted(
                f"Your question is long: {shortened.left_out:,} of its {shortened.tokens:,} tokens, from the middle, "
                "were left out to make room for passages. To search all of it, add it as a document."
            )
        )
        return short

    def _prepare(self, task: RunTask) -> RunResources:
        """Open the resources of the run and record them in the trace."""
        run, options = task.run, task.options
        if task.answer is None:
            run.record(RunStarted(run.question, options, time.time() - run.elapsed()))
        for event in task.prior_events:
            run.record(event)
        user = self._records.user_id(run.id)
        resources = self._open_resources(options, user, partial(_note_preparation, run), run.stop)
        if task.answer is None:
            self._record_resources(run, resources)
        return resources

    @staticmethod
    def _record_resources(run: LiveRun, resources: RunResources) -> None:
        engine, thresholds = resources.engine, _effective_thresholds(resources)
        names = engine.label, resources.embedder, engine.grader.name
        run.record(EngineOpened(*names, thresholds, resources.calibrated, resources.model_reason))
        for note in resources.notes:
            run.record(Noted(note))

    def _wait(self, run: LiveRun, asked: ConsentAsked) -> None:
        """Write the consent request to disk before anyone is notified of it."""
        self._log.append(run.id, len(run.events) + 1, asked)
        self._log.flush()
        self._records.wait(run.id)
        run.settle(asked)

    def finish(self, run: LiveRun, ended: RunEnded) -> Trace:
        """Write the answer to disk before anyone is notified of it."""
        trace = Trace().apply_all(run.events)
        try:
            self._log.flush()
            self._records.close(run.id, len(run.events) + 1, ended, trace)
        except CragError as error:
            self.unsaved_run_ids.add(run.id)
            ended = _failure_event(run, error)
        except Exception:  # noqa: BLE001 — followers of the run must learn of its end, even if it could not be saved
            self.unsaved_run_ids.add(run.id)
            _log.exception("Could not save how a run ended")
            ended = RunEnded("failed", ended.at, "The answer could not be saved.", "Ask again.", "bug")
        trace.apply(ended)
        run.settle(ended)
        return trace


def _note_preparation(run: LiveRun, progress: Progress) -> None:
    """Say once what the answer waits for."""
    if progress.done == 0:
        run.record(Noted(f"{progress.stage}. This is done once."))


def _may_ask_consent(deps: Deps, task: RunTask) -> bool:
    """Return whether the run may ask for consent, so that its state must be stored."""
    return deps.web is not None and (deps.options.web == "ask" or "extra_query" in (task.start or {}))


def _effective_thresholds(resources: RunResources) -> Thresholds:
    return resources.thresholds or resources.engine.grader.thresholds


def _graph_deps(task: RunTask, resources: RunResources) -> Deps:
    """Build the dependencies of the nodes."""
    return Deps(
        retriever=resources.retriever,
        engine=resources.engine,
        options=task.options,
        thresholds=_effective_thresholds(resources),
        stop=task.run.stop,
        elapsed=task.run.elapsed,
        emit=task.run.record,
        web=resources.web,
        web_missing=resources.web_missing,
        pages=resources.pages,
    )


def _end_after_error(run: LiveRun, error: Exception) -> RunEnded:
    """Return the last event of a run that an error ended; errors that nobody foresaw are logged."""
    if isinstance(error, Stopped):
        return RunEnded("stopped", run.elapsed())
    if isinstance(error, CragError):
        return _failure_event(run, error)
    if isinstance(error, sqlite3.Error):
        _log.error("Could not save the state of a run", exc_info=error)
        return _failure_event(
            run, HomeFault("This answer could not be saved to disk.", "Free some space, then try again.")
        )
    _log.error("Unexpected error in a run", exc_info=error)
    return RunEnded(
        "failed",
        run.elapsed(),
        "Something went wrong in the app.",
        "Try again. The log has the details.",
        "bug",
    )


def _failure_event(run: LiveRun, error: CragError) -> RunEnded:
    model = error.model if isinstance(error, ModelFault) else ""
    return RunEnded("failed", run.elapsed(), error.message, error.remedy, error.code, model)
