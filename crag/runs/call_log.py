"""Log of model calls: each prompt as sent and its reply, kept for the latest runs only."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from sqlalchemy import delete, func, select

from crag.events import Event, NodeStarted
from crag.runs.event_log import GroupWriter
from crag.runs.run import LiveRun
from crag.storage.engine import Database
from crag.storage.tables import model_calls, runs
from crag.storage.user_scope import UserScoped
from crag.types import ModelCall, Prompt

MAX_RUNS_WITH_CALLS = 1000
_PRUNE_EVERY_RUNS = 100  # runs; the check takes some milliseconds


class CallLog(UserScoped):
    """Model calls of runs: reported by the sender, written together with the events, stored compressed."""

    def __init__(self, database: Database, writer: GroupWriter) -> None:
        self._database = database
        self._writer = writer
        self._followed_runs = count(1)

    def record_calls(self, run: LiveRun) -> None:
        """Record every call made for a run from now on, including those that end after it."""
        if next(self._followed_runs) % _PRUNE_EVERY_RUNS == 0:
            self.delete_old_calls()
        numbers = count(self._last_number(run.id) + 1 if run.event_list else 1)
        began = time.monotonic() - run.elapsed()

        def keep(call: ModelCall) -> None:
            at = call.at - began
            placed = replace(call, at=at, node=_node_running_at(run.event_list, at))
            self._writer.append(model_calls, run.id, partial(_encode_call, next(numbers), placed))

        run.stop.on_model_call = keep

    def read_calls(self, run_id: str) -> list[ModelCall]:
        """Return the calls of a run in sending order; none for the built-in engine or once they are deleted."""
        self._writer.flush()
        query = select(model_calls).where(model_calls.c.run_id == run_id)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(model_calls.c.at, model_calls.c.number)).all()
        return [_decode_call(row) for row in rows]

    def delete_old_calls(self) -> None:
        """Delete the calls of all but the latest `MAX_RUNS_WITH_CALLS` runs; runs of evaluations count separately."""
        kept = select(model_calls.c.run_id).distinct().join(runs)
        with self._database.write() as connection:
            for kind in (runs.c.evaluation_id.is_(None), runs.c.evaluation_id.is_not(None)):
                latest = select(runs.c.started_at).where(kind).order_by(runs.c.started_at.desc())
                oldest = connection.execute(latest.offset(MAX_RUNS_WITH_CALLS - 1).limit(1)).scalar()
                if oldest is not None:
                    old = kept.where(kind, runs.c.started_at < oldest)
                    connection.execute(delete(model_calls).where(model_calls.c.run_id.in_(old)))

    def _last_number(self, run_id: str) -> int:
        """Return the highest call number of a run; one that waited for the user already has calls."""
        query = select(func.max(model_calls.c.number)).where(model_calls.c.run_id == run_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar() or 0


def _node_running_at(events: Sequence[Event], at: float) -> str:
    """Return the node that was running at `at`.

    The search goes backwards: events copied from an earlier version of the run come first and keep their own times.
    """
    return next((event.node for event in reversed(events) if isinstance(event, NodeStarted) and event.at <= at), "")


def _encode_call(number: int, call: ModelCall) -> dict[str, Any]:
    text = {
        "prompts": [[prompt.role, prompt.text] for prompt in call.prompts],
        "reply": call.reply,
        "thought": call.thought,
    }
    body = json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")  # a model may write a lone surrogate
    return {
        "number": number,
        "node": call.node,
        "model": call.model,
        "at": call.at,
        "seconds": call.seconds,
        "prompt_tokens": call.prompt_tokens,
        "answer_tokens": call.answer_tokens,
        "fault": call.fault,
        "body": zlib.compress(body),
    }


def _decode_call(row: Any) -> ModelCall:
    text = json.loads(zlib.decompress(row.body))
    prompts = tuple(Prompt(role, said) for role, said in text["prompts"])
    return ModelCall(
        row.node,
        row.model,
        row.at,
        row.seconds,
        prompts,
        text["reply"],
        text["thought"],
        row.prompt_tokens,
        row.answer_tokens,
        row.fault,
    )
