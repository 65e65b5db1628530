"""Upload of answer traces to LangSmith, only while its variables and the user both allow it; no answer waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from queue import Full, Queue
from typing import TYPE_CHECKING, Any

from crag.errors import CragError, Stopped
from crag.langsmith.account import Account
from crag.langsmith.connection import Connection
from crag.ledger import Ledger
from crag.stopping import Stop

if TYPE_CHECKING:
    from langchain_core.tracers.schemas import Run

_log = logging.getLogger(__name__)
_SECONDS = 30  # per trace
_FLUSH_SECONDS = 3
_MOST_WAITING = 100


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A finished run waiting to be sent, with the context that identifies its owner."""

    run: Run
    question: str
    context: Context


class Traces:
    """Tracer source for LangGraph that sends each finished run in one request. Safe to share between threads."""

    def __init__(self, account: Account, ledger: Ledger, allowed: Callable[[], bool]) -> None:
        """Create the uploader. `allowed` says whether the user permits traces; it is checked before each upload."""
        self._account = account
        self._ledger = ledger
        self._allowed = allowed
        self._stop = Stop()
        self._lock = threading.Lock()
        self._waiting: Queue[_Waiting | None] = Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None
        self._question = ""

    @property
    def asked_for(self) -> bool:
        """Whether the variables request traces and there is a key; nothing is sent on that basis alone."""
        return bool(self._account.key) and self._account.tracing

    @property
    def on(self) -> bool:
        """Whether traces of answers are sent to LangSmith now."""
        return self.asked_for and self._allowed()

    @property
    def note(self) -> str:
        """The note shown with an answer whose trace is sent."""
        return f"A trace of this answer goes to {self._account.host}: your question, what was found, every prompt."

    def begin(self, question: str) -> list[Any]:
        """Return the LangGraph callbacks for one run about this question."""
        from crag.langsmith.tracer import Tracer  # imported late, like everything that only LangSmith needs

        context = copy_context()
        try:
            client = self._connect().client
        except CragError as error:
            _log.warning("No trace is sent: %s", error)
            return []
        return [Tracer(client, lambda run: self._hand_over(_Waiting(run, question, context)))]

    def close(self) -> None:
        """Send pending traces for a few seconds at most; drop the rest."""
        if self._thread is not None:
            try:
                self._waiting.put_nowait(None)
            except Full:
                self._stop.request()
            self._thread.join(_FLUSH_SECONDS)
        self._stop.request()
        if self._connection is not None:
            self._connection.close()

    def _connect(self) -> Connection:
        with self._lock:
            if self._connection is None:
                self._connection = Connection(self._account, self._write_down, self._stop, _SECONDS)
            return self._connection

    def _hand_over(self, waiting: _Waiting) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="traces", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(waiting)
        except Full:
            _log.warning("A trace is not sent: too many wait")

    def _work(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            waiting.context.run(self._send, waiting)

    def _send(self, waiting: _Waiting) -> None:
        from crag.langsmith.tracer import run_records

        self._question = waiting.question
        try:
            self._connect().ingest(run_records(waiting.run, self._account))
        except Stopped:
            pass
        except CragError as error:
            _log.warning("A trace was not sent: %s", error)
        except Exception as error:  # noqa: BLE001 — answers do not depend on it; log only the type: messages quote text
            _log.warning("A trace was not sent: %s", type(error).__name__)

    def _write_down(self) -> None:
        if not self.on:  # switched off meanwhile
            raise Stopped
        self._ledger.record(self._account.host, "trace", f"Trace of: {self._question}")
