"""Guarded HTTP session and tracer for LangSmith (import `langsmith` and LangChain; load late)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import requests
from langchain_core.tracers.langchain import LangChainTracer
from langchain_core.tracers.schemas import Run
from langsmith import Client

from crag.cancellation import Cancellation, call_cancellable
from crag.settings import LangSmithAccount


class GuardedSession(requests.Session):
    """Session in which `authorize` permits and records each request, `stop` ends it, and no redirect is followed.

    `status`, `retry_after` and `text` describe the last reply; 0 and empty if there was none.
    """

    status = 0
    retry_after = ""
    text = ""

    def __init__(self, authorize: Callable[[], None], stop: Cancellation, seconds: float) -> None:
        """Create the session. `authorize` raises to forbid a request; `seconds` limits a request with its reply."""
        super().__init__()
        self._authorize = authorize
        self._stop = stop
        self._seconds = seconds
        self.max_redirects = 0  # the key is sent only to the address that was shown

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send a request. Raises what `authorize` raises, `Stopped`, and the errors of `requests`."""
        self.status, self.retry_after, self.text = 0, "", ""
        self._stop.check()
        self._authorize()
        send = super().send
        try:
            reply = call_cancellable(lambda: send(request, **kwargs), self._stop, self._seconds)
        except TimeoutError as error:
            raise requests.Timeout from error
        self.status, self.text = reply.status_code, reply.text[:1000] if reply.status_code >= 400 else ""
        self.retry_after = reply.headers.get("Retry-After", "")
        return reply


_EXTRA_KEYS = ("metadata", "invocation_params")


class WholeRunTracer(LangChainTracer):
    """LangChain's tracer, except that it hands over a finished run as a whole instead of sending it piece by piece."""

    def __init__(self, client: Client, hand_over: Callable[[Run], None]) -> None:
        super().__init__(client=client)
        self._hand_over = hand_over

    def copy_with_metadata_defaults(self, **_: Any) -> WholeRunTracer:
        """Return itself: LangChain would copy the tracer whenever it opens a model, which would delay the answer."""
        return self

    def _persist_run(self, run: Run) -> None:
        self._hand_over(run)

    def _persist_run_single(self, run: Run) -> None:
        """Do nothing: the run is not over yet."""

    @staticmethod
    def _update_run_single(run: Run) -> None:
        """Do nothing: the run is not over yet."""


def run_records(run: Run, account: LangSmithAccount) -> Iterator[Mapping[str, Any]]:
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
        "extra": {name: run.extra[name] for name in _EXTRA_KEYS if name in (run.extra or {})},
        **({"parent_run_id": str(run.parent_run_id)} if run.parent_run_id else {}),
    }
    for child in run.child_runs:
        yield from run_records(child, account)
