"""Reranking: the evaluator scores the best candidates of words and vectors, within a time budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.protocols import Evaluator
from crag.types import SearchHit

MAX_RERANKED = 20
_BUDGET_SECONDS = 0.25
_SCORED_AT_ONCE = 4  # 50 ms on two cores with a model of MiniLM's size


def rerank_hits(
    evaluator: Evaluator, question: str, hits: Sequence[SearchHit], stop: Cancellation
) -> tuple[list[SearchHit], int]:
    """Return the hits, the scored ones first by their score in place of the earlier one, and how many were scored.

    The best are scored first, until the budget is spent. A grader that asks the same evaluator gets the same scores
    without another computation. Without any score, also if the evaluator fails, the order stays as it was.
    Raises `Stopped`.
    """
    end = time.monotonic() + _BUDGET_SECONDS
    scores: list[float | None] = []
    candidates = hits[:MAX_RERANKED]
    while len(scores) < len(candidates) and (not scores or time.monotonic() < end):
        # the first alone: with a large model it may take all of the time
        batch = candidates[len(scores) : len(scores) + _SCORED_AT_ONCE] if scores else candidates[:1]
        try:
            scores += evaluator.score(question, [hit.passage.with_title(hit.passage.text) for hit in batch], stop)
        except ModelFault:  # the grader reports it
            break
    known = {index: score for index, score in enumerate(scores) if score is not None}
    best = sorted(known, key=lambda index: -known[index])
    scored = [replace(hits[index], passage=replace(hits[index].passage, score=known[index])) for index in best]
    return [*scored, *(hit for index, hit in enumerate(hits) if index not in known)], len(known)
