"""Gathers one run of the graph, its steps and its model calls, as LangSmith has them; sends nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.tracers.langchain import LangChainTracer
from langchain_core.tracers.schemas import Run
from langsmith import Client

from crag.langsmith.account import Account

_TOLD_BESIDE = ("metadata", "invocation_params")


class Tracer(LangChainTracer):
    """LangChain's own tracer, except that a run is handed over whole when it is over, and not sent piece by piece."""

    def __init__(self, client: Client, hand_over: Callable[[Run], None]) -> None:
        super().__init__(client=client)
        self._hand_over = hand_over

    def copy_with_metadata_defaults(self, **_: Any) -> Tracer:
        """Itself: LangChain makes copies where it opens a model, in the way of an answer."""
        return self

    def _persist_run(self, run: Run) -> None:
        self._hand_over(run)

    def _persist_run_single(self, run: Run) -> None:
        """Nothing yet: it is part of a run that is not over."""

    @staticmethod
    def _update_run_single(run: Run) -> None:
        """Nothing yet: it is part of a run that is not over."""


def run_records(run: Run, account: Account) -> Iterator[Mapping[str, Any]]:
    """A run and all within it as the server takes them, without what the variables hide."""
    yield {
        "id": str(run.id),
        "trace_id": str(run.trace_id),
        "dotted_order": run.dotted_order,
        "session_name": account.project,
        "name": run.name,
        "run_type": run.run_type,
        "start_time": run.start_time.isoformat(),
        "end_time": run.end_time.isoformat() if run.end_time else None,
        "inputs": {} if account.hide_inputs else run.inputs,
        "outputs": {} if account.hide_outputs else run.outputs,
        "error": run.error,
        "events": run.events,
        "extra": {name: run.extra[name] for name in _TOLD_BESIDE if name in (run.extra or {})},
        **({"parent_run_id": str(run.parent_run_id)} if run.parent_run_id else {}),
    }
    for child in run.child_runs:
        yield from run_records(child, account)
