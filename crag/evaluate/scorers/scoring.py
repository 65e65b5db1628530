"""All scores of one finished run."""

from __future__ import annotations

from collections.abc import Sequence

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.answers import score_answer, text_score
from crag.evaluate.scorers.costs import node_costs, total_tokens
from crag.evaluate.scorers.grading import best_score, graded_passages
from crag.evaluate.scorers.retrieval import score_retrieval
from crag.evaluate.scorers.routes import score_refusal, score_route
from crag.evaluate.scorers.support import score_support
from crag.evaluate.values import Scored
from crag.model_calls import ModelCall
from crag.runs import Trace

_SCORERS = (score_route, score_refusal, score_answer, score_retrieval, score_support)


def score(example: Example, trace: Trace, calls: Sequence[ModelCall] = ()) -> Scored:
    """Measure everything about a finished run; `calls` are its model calls, none for built-in models.

    Values that need the other answers (right by a cutoff, pooled over passages) are left to `summarise_results`.
    """
    scores: dict[str, float] = {}
    for scorer in _SCORERS:
        scores |= scorer(example, trace)
    costs = node_costs(trace, calls)
    return Scored(
        answer=trace.text,
        action=trace.action,
        outcome=trace.outcome,
        steps=tuple(trace.trajectory),
        best=best_score(trace),
        text_score=text_score(example, trace, scores),
        scores=scores,
        grades=graded_passages(example, trace),
        nodes=costs,
        seconds=trace.seconds or 0.0,
        tokens=total_tokens(costs),
    )
