"""Scores of the citations of an answer."""

from __future__ import annotations

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.retrieval import is_right
from crag.graph.checking.citations import cited_numbers
from crag.runs import Trace


def score_support(example: Example, trace: Trace) -> dict[str, float]:
    """Return `supported`, over the sentences that cite, and `cited`, for a right passage; neither for a refusal."""
    if trace.outcome == "not_answered":
        return {}
    scores: dict[str, float] = {}
    citing = [one for one in trace.sentences if cited_numbers(one.sentence)]
    if citing:
        scores["supported"] = sum(one.strength == "supported" for one in citing) / len(citing)
    if (example.sources or example.phrases) and example.answerable is not False:
        cited = [trace.passages[one.passage_id] for one in trace.citations if one.passage_id in trace.passages]
        scores["cited"] = float(any(is_right(example, passage) for passage in cited))
    return scores
