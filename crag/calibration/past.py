"""Replay of past runs under other thresholds, from their stored scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crag.calibration.values import Past
from crag.graph.policy import decide
from crag.options import Thresholds
from crag.runs import RunService, Trace
from crag.types import Verdict

_LOOKED_AT = 200
_SHOWN = 50


def replay(runs: RunService, collection: str, grader: str, thresholds: Thresholds, person: str | None) -> list[Past]:
    """Replay at most 50 of a user's last 200 runs: those on this collection with this grader, newest first."""
    latest = runs.recent(_LOOKED_AT, person)
    found = (_replay(run_id, runs.trace(run_id), collection, grader, thresholds) for run_id in latest)
    return [past for past in found if past is not None][:_SHOWN]


def _replay(run_id: str, trace: Trace, collection: str, grader: str, thresholds: Thresholds) -> Past | None:
    if trace.grader != grader or trace.options.collection != collection or trace.action is None:
        return None
    verdicts = list(_judged_again(trace, thresholds))
    best = max((verdict.score for verdict in verdicts if verdict.score is not None), default=None)
    now = decide(trace.options.policy, verdicts, thresholds).action
    return Past(run_id, trace.question, best, trace.action, now)


def _judged_again(trace: Trace, thresholds: Thresholds) -> Iterator[Verdict]:
    """Yield the verdicts on library passages under these thresholds; a user's ruling is kept."""
    for passage_id in trace.found.get("library", ()):
        if verdict := trace.verdicts.get(passage_id):
            word = verdict.word if verdict.ruling else thresholds.word(verdict.score)
            yield replace(verdict, word=word)
