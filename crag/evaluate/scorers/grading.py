"""What the grader made of each passage of the library, beside whether it is a right one."""

from __future__ import annotations

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.retrieval import is_right, library_passages
from crag.evaluate.values import Graded
from crag.runs import Trace


def graded_passages(example: Example, trace: Trace) -> tuple[Graded, ...]:
    """Each that has a verdict, in the order found; none where it is not known which are right.

    One that could not be judged has no score and was not taken.
    """
    if not example.names_passages:
        return ()
    return tuple(
        Graded(verdict.score, verdict.word == "relevant", is_right(example, passage))
        for passage in library_passages(trace)
        if (verdict := trace.verdicts.get(passage.id))
    )


def best_score(trace: Trace) -> float | None:
    """The grader's highest score among the passages of the library, by which the route is chosen."""
    verdicts = (trace.verdicts.get(passage.id) for passage in library_passages(trace))
    return max((one.score for one in verdicts if one and one.score is not None), default=None)
