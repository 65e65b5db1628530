"""Summary of a run in one row for lists: stored when the run ends, rebuilt from its events where missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import Connection, func, insert, select

from crag.database.tables import model_calls, run_summaries
from crag.runs.trace import Trace


def keep_summary(connection: Connection, run_id: str, trace: Trace, seconds: float) -> None:
    """Write the summary row of a run that took `seconds`, replacing an earlier one."""
    row = summary(trace) | {"run_id": run_id, "seconds": seconds}
    row["tokens"] = max(row["tokens"], _tokens_of_calls(connection, run_id))
    connection.execute(insert(run_summaries).prefix_with("OR REPLACE").values(row))


def summary(trace: Trace) -> dict[str, Any]:
    """Summarize what the events contain: verdicts of all passages, but the best score of library passages only."""
    verdicts = trace.verdicts.values()
    words = Counter(verdict.word for verdict in verdicts)
    scores = [one.score for one in verdicts if one.score is not None and one.passage_id > 0]
    return {
        "action": trace.action or "",
        "outcome": trace.outcome or "",
        "model": trace.model,
        "grader": trace.grader,
        "policy": trace.options.policy,
        "collection": trace.options.collection,
        "query_sent": trace.query_sent,
        "tokens": (trace.usage.prompt_tokens or 0) + (trace.usage.answer_tokens or 0),
        "best": max(scores, default=None),
        "relevant": words["relevant"],
        "ambiguous": words["ambiguous"],
        "irrelevant": words["irrelevant"],
        "unknown": words["unknown"],
    }


def _tokens_of_calls(connection: Connection, run_id: str) -> int:
    """Return the tokens that its models read and wrote, as counted by their servers."""
    both = func.coalesce(model_calls.c.prompt_tokens, 0) + func.coalesce(model_calls.c.answer_tokens, 0)
    return connection.execute(select(func.sum(both)).where(model_calls.c.run_id == run_id)).scalar() or 0
