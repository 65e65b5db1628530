"""The one way to LangSmith: its own client, over a guarded session, without its threads, retries and log lines."""

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
    """A client for one account. `before` is called before each request, and raises what forbids it."""

    def __init__(self, account: Account, before: Callable[[], None], stop: Stop, seconds: float = _SECONDS) -> None:
        """Raises `LangSmithFailed` where the variables contradict each other. Sends nothing yet."""
        from crag.langsmith.session import GuardedSession  # imported late, like all that only LangSmith needs

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
            auto_batch_tracing=False,  # no threads of its own
            tracing_mode="langsmith",
            info={},  # else it asks the server about itself, and logs parts of the key where that fails
            omit_traced_runtime_info=True,
            disable_prompt_cache=True,
        )
        for scheme in ("http://", "https://"):  # in place of the client's, which send again without being asked
            self._session.mount(scheme, HTTPAdapter())
        return client

    @contextmanager
    def translated(self) -> Iterator[None]:
        """What goes wrong in the block, in the user's words. Raises `CragError` and `Stopped` alone."""
        try:
            yield
        except (CragError, Stopped):
            raise
        except Exception as error:  # noqa: BLE001 — of the client, of requests, of pydantic: all quote the key or the reply
            session = self._session
            if session.status >= 400:
                raise refused(self._host, session.status, session.retry_after, text=session.text) from None
            raise translate(self._host, error) from None

    def ingest(self, runs: Iterable[Record], feedback: Iterable[Record] = ()) -> None:
        """Sends runs with their feedback in one request; those that are there already stay. Raises as `translated`.

        The client's own way tries again, and only logs what fails. The form is that of `POST /runs/multipart`.
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
        """Closes what is open."""
        self.client.close(timeout=0)


def _run_parts(run: Record) -> Iterator[Part]:
    """A run as the server takes it: what may be large stands apart."""
    yield _part(f"post.{run['id']}", {name: value for name, value in run.items() if name not in _APART})
    for name in _APART:
        if run.get(name):
            yield _part(f"post.{run['id']}.{name}", run[name])


def _part(name: str, value: Any) -> Part:
    from pydantic_core import to_json

    body = to_json(value, inf_nan_mode="null", serialize_unknown=True)
    return name, (None, body, "application/json", {"Content-Length": str(len(body))})
