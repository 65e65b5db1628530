"""Connection to LangSmith: its own client over a guarded session, without its threads, retries and log lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crag.errors import CragError, Stopped
from crag.langsmith.account import Account
from crag.langsmith.faults import refused, translate
from crag.stopping import Stop

if TYPE_CHECKING:
    from langsmith import Client

_SECONDS = 90
_CONNECT_MS, _READ_MS = 10_000, 60_000
_APART = ("inputs", "outputs", "events", "error", "extra")

Part = tuple[str, tuple[None, bytes, str, dict[str, str]]]
Record = Mapping[str, Any]


class Connection:
    """A client for one account. `before` runs before each request and raises to forbid it."""

    def __init__(self, account: Account, before: Callable[[], None], stop: Stop, seconds: float = _SECONDS) -> None:
        """Create the client; nothing is sent. Raises `LangSmithFailed` if the variables contradict each other."""
        from crag.langsmith.session import GuardedSession  # imported late, like everything that only LangSmith needs

        self._host = account.host
        self._session = GuardedSession(before, stop, seconds)
        with self.translated():
            self.client = self._open(account)

    def _open(self, account: Account) -> Client:
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
    def translated(self) -> Iterator[None]:
        """Translate errors of the block into user messages. Raises only `CragError` and `Stopped`."""
        try:
            yield
        except (CragError, Stopped):
            raise
        except Exception as error:  # noqa: BLE001 — of client, requests or pydantic: all quote the key or the reply
            session = self._session
            if session.status >= 400:
                raise refused(self._host, session.status, session.retry_after, text=session.text) from None
            raise translate(self._host, error) from None

    def ingest(self, runs: Iterable[Record], feedback: Iterable[Record] = ()) -> None:
        """Send runs with their feedback in one request; existing ones are left unchanged. Raises as `translate_faults`.

        The client's own method retries, and only logs failures. The format is that of `POST /runs/multipart`.
        """
        parts = [part for run in runs for part in _run_parts(run)]
        parts += [_part(f"feedback.{given['id']}", given) for given in feedback]
        from langsmith.utils import LangSmithConflictError

        there_already = (LangSmithConflictError,)
        with self.translated():
            self.client.request_with_retries(
                "POST", "/runs/multipart", request_kwargs={"files": parts}, to_ignore=there_already
            )

    def close(self) -> None:
        """Close the client."""
        self.client.close(timeout=0)


def _run_parts(run: Record) -> Iterator[Part]:
    """Yield the parts of a run in the server's format, with large fields as parts of their own."""
    yield _part(f"post.{run['id']}", {name: value for name, value in run.items() if name not in _APART})
    for name in _APART:
        if run.get(name):
            yield _part(f"post.{run['id']}.{name}", run[name])


def _part(name: str, value: Any) -> Part:
    from pydantic_core import to_json

    body = to_json(value, inf_nan_mode="null", serialize_unknown=True)
    return name, (None, body, "application/json", {"Content-Length": str(len(body))})
