"""LangSmith client behind a guarded session, its faults, and the upload of traces."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.errors import CragError, LangSmithFailed, Stopped
from crag.settings import LangSmithAccount
from crag.storage.outbound_log import OutboundLog
from crag.text.formatting import format_retry_after
from crag.translation import N_

if TYPE_CHECKING:
    from langchain_core.tracers.schemas import Run
    from langsmith import Client


def fault_of_status(host: str, status: int, retry_after: str = "", *, text: str = "") -> LangSmithFailed:
    """Return the fault for a reply with this status; `retry_after` is that header (RFC 9110, section 10.2.3)."""
    if status == 403 and "workspace" in text:
        return LangSmithFailed.make("langsmith.workspace_missing")
    return LangSmithFailed.from_status("langsmith", status, host=host, wait=format_retry_after(retry_after))


def fault_of_exception(host: str, error: Exception) -> CragError | Stopped:
    """Return the fault for an exception of the client or its HTTP library when no reply explains it."""
    import requests
    from langsmith.utils import LangSmithUserError

    for cause in _cause_chain(error):
        match cause:
            case CragError() | Stopped():
                return cause
            case requests.TooManyRedirects():
                return LangSmithFailed.make("langsmith.redirected", host=host)
            case requests.exceptions.SSLError():
                return LangSmithFailed.make("langsmith.untrusted", host=host)
            case requests.Timeout():
                return LangSmithFailed.make("langsmith.timeout", host=host)
            case requests.ConnectionError():
                return LangSmithFailed.make("langsmith.unreachable", host=host)
            case LangSmithUserError():
                return LangSmithFailed.make("langsmith.contradicting_variables")
    return LangSmithFailed.make("langsmith.bad_reply", host=host)


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


_REQUEST_SECONDS = 90
_CONNECT_MS, _READ_MS = 10_000, 60_000
_LARGE_FIELDS = ("inputs", "outputs", "events", "error", "extra")

MultipartPart = tuple[str, tuple[None, bytes, str, dict[str, str]]]
LangSmithRecord = Mapping[str, Any]


class LangSmithConnection:
    """A client for one account. `authorize` runs before each request and raises to forbid it."""

    def __init__(
        self,
        account: LangSmithAccount,
        authorize: Callable[[], None],
        stop: Cancellation,
        seconds: float = _REQUEST_SECONDS,
    ) -> None:
        """Create the client; nothing is sent. Raises `LangSmithFailed` if the variables contradict each other."""
        from crag.inspection.langsmith_adapters import (
            GuardedSession,  # imported late, like everything that only LangSmith needs
        )

        self._host = account.host
        self._session = GuardedSession(authorize, stop, seconds)
        with self.translate_faults():
            self.client = self._open(account)

    def _open(self, account: LangSmithAccount) -> Client:
        from langsmith import Client
        from requests.adapters import HTTPAdapter

        client = Client(
            api_url=account.url,
            api_key=account.key,
            web_url=account.web_url,
            workspace_id=account.workspace,
            session=self._session,
            timeout_ms=(_CONNECT_MS, _READ_MS),
            auto_batch_tracing=False,  # no background threads
            tracing_mode="langsmith",
            info={},  # else it queries the server's info, and logs parts of the key if that fails
            omit_traced_runtime_info=True,
            disable_prompt_cache=True,
        )
        for scheme in ("http://", "https://"):  # replaces the client's adapters, which retry on their own
            self._session.mount(scheme, HTTPAdapter())
        return client

    @contextmanager
    def translate_faults(self) -> Iterator[None]:
        """Translate errors of the block into user messages. Raises only `CragError` and `Stopped`."""
        try:
            yield
        except (CragError, Stopped):
            raise
        except Exception as error:  # noqa: BLE001 — of client, requests or pydantic: all quote the key or the reply
            session = self._session
            if session.status >= 400:
                raise fault_of_status(self._host, session.status, session.retry_after, text=session.text) from None
            raise fault_of_exception(self._host, error) from None

    def ingest(self, runs: Iterable[LangSmithRecord], feedback: Iterable[LangSmithRecord] = ()) -> None:
        """Send runs with their feedback in one request; existing ones are left unchanged. Raises as `translate_faults`.

        The client's own method retries, and only logs failures. The format is that of `POST /runs/multipart`.
        """
        parts = [part for run in runs for part in _run_parts(run)]
        parts += [_json_part(f"feedback.{given['id']}", given) for given in feedback]
        from langsmith.utils import LangSmithConflictError

        there_already = (LangSmithConflictError,)
        with self.translate_faults():
            self.client.request_with_retries(
                "POST", "/runs/multipart", request_kwargs={"files": parts}, to_ignore=there_already
            )

    def close(self) -> None:
        """Close the client."""
        self.client.close(timeout=0)


def _run_parts(run: LangSmithRecord) -> Iterator[MultipartPart]:
    """Yield the parts of a run in the server's format, with large fields as parts of their own."""
    yield _json_part(f"post.{run['id']}", {name: value for name, value in run.items() if name not in _LARGE_FIELDS})
    for name in _LARGE_FIELDS:
        if run.get(name):
            yield _json_part(f"post.{run['id']}.{name}", run[name])


def _json_part(name: str, value: Any) -> MultipartPart:
    from pydantic_core import to_json

    body = to_json(value, inf_nan_mode="null", serialize_unknown=True)
    return name, (None, body, "application/json", {"Content-Length": str(len(body))})


_log = logging.getLogger(__name__)
_TRACE_SECONDS = 30  # per trace
_FLUSH_SECONDS = 3
_MAX_PENDING = 100


@dataclass(frozen=True, slots=True)
class _PendingTrace:
    """A finished run waiting to be sent, with the context that identifies its owner."""

    run: Run
    question: str
    context: Context


class TraceUploader:
    """Tracer source for LangGraph that sends each finished run in one request. Safe to share between threads."""

    def __init__(self, account: LangSmithAccount, outbound_log: OutboundLog, allowed: Callable[[], bool]) -> None:
        """Create the uploader. `allowed` says whether the user permits traces; it is checked before each upload."""
        self._account = account
        self._outbound_log = outbound_log
        self._allowed = allowed
        self._stop = Cancellation()
        self._lock = threading.Lock()
        self._waiting: deque[_PendingTrace] = deque()
        self._worker = BackgroundWorker("traces", lambda _: self._send_all())
        self._worker.start()
        self._connection: LangSmithConnection | None = None
        self._question = ""

    @property
    def is_configured(self) -> bool:
        """Whether the variables request traces and there is a key; nothing is sent on that basis alone."""
        return bool(self._account.key) and self._account.tracing

    @property
    def on(self) -> bool:
        """Whether traces of answers are sent to LangSmith now."""
        return self.is_configured and self._allowed()

    @property
    def note(self) -> str:
        """The note shown with an answer whose trace is sent."""
        return N_(f"A trace of this answer goes to {self._account.host}: your question, what was found, every prompt.")

    def begin(self, question: str) -> list[Any]:
        """Return the LangGraph callbacks for one run about this question."""
        from crag.inspection.langsmith_adapters import (
            WholeRunTracer,  # imported late, like everything that only LangSmith needs
        )

        context = copy_context()
        try:
            client = self._connect().client
        except CragError as error:
            _log.warning("No trace is sent: %s", error)
            return []
        return [WholeRunTracer(client, lambda run: self._hand_over(_PendingTrace(run, question, context)))]

    def close(self) -> None:
        """Send pending traces for a few seconds at most; drop the rest."""
        self._worker.wait(_FLUSH_SECONDS)
        self._stop.cancel()
        self._worker.close(0)
        if self._connection is not None:
            self._connection.close()

    def _connect(self) -> LangSmithConnection:
        with self._lock:
            if self._connection is None:
                self._connection = LangSmithConnection(self._account, self._record_request, self._stop, _TRACE_SECONDS)
            return self._connection

    def _hand_over(self, pending: _PendingTrace) -> None:
        if len(self._waiting) >= _MAX_PENDING:
            _log.warning("A trace is not sent: too many wait")
            return
        self._waiting.append(pending)
        self._worker.wake()

    def _send_all(self) -> None:
        while self._waiting:
            pending = self._waiting.popleft()
            pending.context.run(self._send, pending)

    def _send(self, pending: _PendingTrace) -> None:
        from crag.inspection.langsmith_adapters import run_records

        self._question = pending.question
        try:
            self._connect().ingest(run_records(pending.run, self._account))
        except Stopped:
            pass
        except CragError as error:
            _log.warning("A trace was not sent: %s", error)
        except Exception as error:  # noqa: BLE001 — answers do not depend on it; log only the type: messages quote text
            _log.warning("A trace was not sent: %s", type(error).__name__)

    def _record_request(self) -> None:
        if not self.on:  # switched off meanwhile
            raise Stopped
        self._outbound_log.record(self._account.host, "trace", f"Trace of: {self._question}")
