"""Tracer that collects one run of the graph, its steps and model calls in LangSmith's format; sends nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.tracers.langchain import LangChainTracer
from langchain_core.tracers.schemas import Run
from langsmith import Client

from crag.langsmith.account import Account

_TOLD_BESIDE = ("metadata", "invocation_params")


class Tracer(LangChainTracer):
    """LangChain's tracer, except that it hands over a finished run as a whole instead of sending it piece by piece."""

    def __init__(self, client: Client, hand_over: Callable[[Run], None]) -> None:
        super().__init__(client=client)
        self._hand_over = hand_over

    def copy_with_metadata_defaults(self, **_: Any) -> Tracer:
        """Return itself: LangChain would copy the tracer whenever it opens a model, which would delay the answer."""
        return self

    def _persist_run(self, run: Run) -> None:
        self._hand_over(run)

    def _persist_run_single(self, run: Run) -> None:
        """Do nothing: the run is not over yet."""

    @staticmethod
    def _update_run_single(run: Run) -> None:
        """Do nothing: the run is not over yet."""


def run_records(run: Run, account: Account) -> Iterator[Mapping[str, Any]]:
    """Yield a run and its descendants in the server's format, without what the variables hide."""
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
