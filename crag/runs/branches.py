"""Plans for new versions of a finished answer: how each differs and what its run has to do."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from crag.errors import BadRequest
from crag.events import Event, Node, QueryWritten, VersionBegun
from crag.graph.state import State
from crag.options import RunOptions
from crag.protocols import QUERY_LIMIT
from crag.runs.changes import changed, words_of_revision
from crag.runs.log import EventLog
from crag.runs.records import RunRecords
from crag.runs.revisions import Revision, check_revision, kept_events, state_before
from crag.runs.run import LiveRun
from crag.runs.texts import storable
from crag.runs.trace import Trace
from crag.runs.versions import VersionRecords
from crag.runs.worker import Task
from crag.types import Ruling, Turn


@dataclass(frozen=True, slots=True)
class Branch:
    """A planned version: the run it is a version of, how it differs from that run, and the task to execute."""

    parent: str
    change: str
    task: Task


class Branches:
    """Planner of new versions, from the id and trace of a run. Nothing is stored until a plan is started.

    Plans are made from the events of a run, which survive a killed process.
    """

    def __init__(self, records: RunRecords, versions: VersionRecords, log: EventLog) -> None:
        self._records = records
        self._versions = versions
        self._log = log

    def overruled(self, parent: str, trace: Trace, rulings: Mapping[int, Ruling]) -> Branch:
        """Plan a new decision under these rulings; earlier ones still apply. Raises `BadRequest`, `NotFound`."""
        _check_judged(trace)
        if not rulings:
            raise BadRequest("This passage has no verdict that could be overruled.", "Choose another one.")
        return self.revised(parent, trace, "decide", Revision(rulings))

    def searched(self, parent: str, trace: Trace, sentence: str) -> Branch:
        """Plan an additional web search for a sentence, after asking for consent. Raises `BadRequest`, `NotFound`."""
        _check_judged(trace)
        query = " ".join(storable(sentence).split())[:QUERY_LIMIT]
        if not query:
            raise BadRequest("There is nothing to search for.", "Choose a sentence of the answer.")
        state = state_before(trace, self._history(parent), "decide", Revision()) | State(extra_query=query)
        options = replace(trace.options, web="ask")
        return self._gone_on(parent, "web search for a sentence without a source", options, "decide", state)

    def continued(self, parent: str, trace: Trace) -> Branch:
        """Plan to keep the text so far and continue it. Raises `BadRequest`, `NotFound`."""
        if not trace.text or trace.outcome == "not_answered":
            raise BadRequest("There is no text yet that could be gone on with.", "Ask the question again.")
        if not trace.unfinished:
            raise BadRequest("This answer is whole.", "Ask a new question to go further.")
        state = state_before(trace, self._history(parent), "generate", Revision()) | State(begun_answer=trace.text)
        return self._gone_on(parent, "continued", trace.options, "generate", state)

    def revised(self, parent: str, trace: Trace, node: Node, revision: Revision) -> Branch:
        """Plan a re-run from just before a node with something changed. Raises `BadRequest`, `NotFound`."""
        check_revision(trace, node, revision)
        options = revision.options or trace.options
        state = state_before(trace, self._history(parent), node, revision)
        change = words_of_revision(trace, node, revision)
        written = (QueryWritten(revision.query),) if revision.query else ()
        return self._gone_on(parent, change, options, node, state, written)

    def anew(self, parent: str, trace: Trace, options: RunOptions) -> Branch:
        """Plan to ask the same question from the beginning, under these options. Raises `NotFound`."""
        run, change = self._new(parent), changed(trace.options, options)
        start = State(question=run.question, history=self._history(parent))
        begun = VersionBegun(parent, change, kept=False)
        return Branch(parent, change, Task(run, options, start=start, before=(begun,)))

    def _gone_on(
        self,
        parent: str,
        change: str,
        options: RunOptions,
        node: Node,
        state: State,
        written: tuple[Event, ...] = (),
    ) -> Branch:
        """Plan a re-run from the state before a node, with the events that led there and the events `written` now."""
        events = kept_events([event for _, event in self._log.read(parent)], node, state)
        before = VersionBegun(parent, change, kept=True), *events, *written
        return Branch(parent, change, Task(self._new(parent), options, start=state, before=before))

    def _history(self, run_id: str) -> tuple[Turn, ...]:
        """Return the turns before the question of a run."""
        question_id = self._versions.question(run_id)
        return () if question_id is None else self._records.history_before(question_id)

    def _new(self, parent: str) -> LiveRun:
        """Create a run for the same question, read from the database: events of a killed process may be lost."""
        return LiveRun(uuid.uuid4().hex, self._records.question(parent), self._log)


def _check_judged(trace: Trace) -> None:
    if trace.step("decide") is None:
        raise BadRequest("This answer ended before its passages were judged.", "Ask the question again.")
