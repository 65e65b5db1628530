"""The grader's decision on each library passage, with whether it is a right one."""

from __future__ import annotations

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.retrieval import is_right, library_passages
from crag.evaluate.values import Graded
from crag.runs import Trace


def graded_passages(example: Example, trace: Trace) -> tuple[Graded, ...]:
    """Return the passages with a verdict, in retrieval order; none if the right passages are unknown.

    A passage that could not be graded has no score and counts as not relevant.
    """
    if not example.names_passages:
        return ()
    return tuple(
        Graded(verdict.score, verdict.word == "relevant", is_right(example, passage))
        for passage in library_passages(trace)
        if (verdict := trace.verdicts.get(passage.id))
    )


def best_score(trace: Trace) -> float | None:
    """Return the grader's highest score among library passages, which decides the route."""
    verdicts = (trace.verdicts.get(passage.id) for passage in library_passages(trace))
    return max((one.score for one in verdicts if one and one.score is not None), default=None)
