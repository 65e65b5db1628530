"""The ways in which a new version of an answer branches off a run that has ended, and what its own run is to do."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from crag.errors import BadRequest
from crag.events import Node, VersionBegun
from crag.graph.state import State
from crag.options import RunOptions
from crag.protocols import QUERY_LIMIT
from crag.runs.checkpoints import Checkpoints
from crag.runs.forks import begun_state, changed, kept_events, ruled, words_of_rulings
from crag.runs.log import EventLog
from crag.runs.records import RunRecords
from crag.runs.run import LiveRun
from crag.runs.texts import storable
from crag.runs.trace import Trace
from crag.runs.versions import VersionRecords
from crag.runs.worker import Task
from crag.types import Ruling, Turn


@dataclass(frozen=True, slots=True)
class Branch:
    """A version to be: the run that it is a version of, in what it differs from that, and what is to be done."""

    parent: str
    change: str
    task: Task


class Branches:
    """Makes branches of runs by their ids and traces. Nothing is kept of one until it is begun."""

    def __init__(self, records: RunRecords, versions: VersionRecords, log: EventLog, checkpoints: Checkpoints) -> None:
        self._records = records
        self._versions = versions
        self._log = log
        self._checkpoints = checkpoints

    def overruled(self, parent: str, trace: Trace, rulings: Mapping[int, Ruling]) -> Branch:
        """Decides anew under these rulings; earlier ones still stand. Raises `BadRequest`, `NotFound`."""
        if not rulings or not trace.verdicts.keys() >= rulings.keys():
            raise BadRequest("This passage has no verdict that could be overruled.", "Choose another one.")
        state = ruled(self._checkpoints.graded(parent), trace, rulings)
        return self._gone_on(parent, words_of_rulings(trace, rulings), trace.options, state)

    def searched(self, parent: str, trace: Trace, sentence: str) -> Branch:
        """Searches the web for a sentence, too, after asking. Raises `BadRequest`, `NotFound`."""
        query = " ".join(storable(sentence).split())[:QUERY_LIMIT]
        if not query:
            raise BadRequest("There is nothing to search for.", "Choose a sentence of the answer.")
        state = ruled(self._checkpoints.graded(parent), trace, {}) | State(extra_query=query)
        options = replace(trace.options, web="ask")
        return self._gone_on(parent, "web search for a sentence without a source", options, state)

    def continued(self, parent: str, trace: Trace) -> Branch:
        """Keeps the text so far and goes on from it. Raises `BadRequest`, `NotFound`."""
        state = begun_state(trace, self._history(parent))
        return self._gone_on(parent, "continued", trace.options, state, after="refine_knowledge", until="generate")

    def anew(self, parent: str, trace: Trace, options: RunOptions) -> Branch:
        """Asks the same question from the beginning, under these options. Raises `NotFound`."""
        run, change = self._new(parent), changed(trace.options, options)
        start = State(question=run.question, history=self._history(parent))
        begun = VersionBegun(parent, change, kept=False)
        return Branch(parent, change, Task(run, options, start=start, before=(begun,)))

    def _gone_on(
        self,
        parent: str,
        change: str,
        options: RunOptions,
        state: State,
        *,
        after: Node = "grade_documents",
        until: Node = "decide",
    ) -> Branch:
        """Goes on from a state, as it was after one node and before another, with the events that led there."""
        events = kept_events([event for _, event in self._log.read(parent)], state, until)
        before = VersionBegun(parent, change, kept=True), *events
        return Branch(parent, change, Task(self._new(parent), options, forked=state, after=after, before=before))

    def _history(self, run_id: str) -> tuple[Turn, ...]:
        """What had been said before the question of a run."""
        message_id = self._versions.message(run_id)
        return () if message_id is None else self._records.history_before(message_id)

    def _new(self, parent: str) -> LiveRun:
        """A run for the question of another, as the database has it: the events of a killed process may be lost."""
        return LiveRun(uuid.uuid4().hex, self._records.question(parent), self._log)
