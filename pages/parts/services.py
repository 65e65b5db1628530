"""Application and status of the model server, opened once per process and shared by all browser sessions.

Not in Streamlit's cache of resources, which any browser may clear: a second application would open beside the first.
Pages get the application limited to the user of their browser, so that none can show what belongs to another.
"""

from __future__ import annotations

import importlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

from crag.concurrency.caches import LRUCache, Once, TTLCache
from crag.concurrency.workers import BackgroundWorker, run_in_background
from crag.errors import BadRequest, CragError, NotLoggedIn, Stopped
from crag.server.browser_identity import key_from_headers
from crag.types import Account, Identity, generate_user_key, is_account

if TYPE_CHECKING:
    from crag.app.application import Application
    from crag.app.checklist_facts import Check
    from crag.models.model_choice import ModelChoice
    from crag.models.ollama_pool import HostStatus
    from crag.models.ollama_server import ModelReport
    from crag.options import RunOptions


_STATUS_FRESH_SECONDS = 2.0  # less than the shortest interval at which a page reruns
_STATUS_WAIT_SECONDS = 0.25
_PRELOADED_MODULES = (
    "PIL.PngImagePlugin",
    "numpy",
    "pages.chat.messages",
    "pages.chat.live_run",
)  # page icon: the first two


_SESSION_KEY, _ACCOUNT_KEY = "person", "account"
_LOGIN_SECONDS = 7 * 24 * 3600.0
_MAX_LIMITED_APPLICATIONS = 1_000


def application() -> Application:
    """Return the application, limited to the user of this browser session. Raises as `shared_application`.

    What is called outside of a script run, such as the file of a download, must be taken from it beforehand.
    """
    user = current_owner()
    if user is None:
        return shared_application()
    if (limited := _limited_applications().get(user)) is None:
        limited = shared_application().for_user(user)
        _limited_applications().put(user, limited)
    return limited


@Once
def _limited_applications() -> LRUCache[str, Application]:
    return LRUCache(_MAX_LIMITED_APPLICATIONS)


def current_owner() -> str | None:
    """Return the account of this browser session, or the key of this browser, or None in single-user mode.

    Raises `NotLoggedIn` where there are accounts. Without a secret the key lasts as long as the session. The first
    browser with a secret takes over the conversations from before keys existed.
    """
    if shared_application().settings.people == "one":
        return None
    if shared_application().settings.people == "accounts":
        return _log_in()
    known: str = st.session_state.get(_SESSION_KEY, "")
    key = key_from_headers(st.context.headers) or known or generate_user_key()
    if key != known:  # also where another browser continues this session
        st.session_state[_SESSION_KEY] = key
        if key_from_headers(st.context.headers):
            shared_application().people.claim_unowned(key)
    return key


def current_account() -> Account | None:
    """Return the account of this browser session; None where nobody logs in. Raises `NotLoggedIn`."""
    user = current_owner()
    return shared_application().accounts.get(user) if is_account(user) else None


def may_administer() -> bool:
    """Return whether this user may change what concerns everyone. Raises `NotLoggedIn`."""
    account = current_account()
    return account is None or account.is_admin


def check_administrator() -> None:
    """Raise `BadRequest` if this user may not change what concerns everyone, `NotLoggedIn`."""
    if not may_administer():
        raise BadRequest("Only administrators may change this.", "Ask one of them.")


def _log_in() -> str:
    """Return the account of the logged-in user, created at the first login. Raises `NotLoggedIn`."""
    identity = _read_identity(st.user.to_dict())
    known: tuple[Identity, str] | None = st.session_state.get(_ACCOUNT_KEY)
    if known is None or known[0] != identity:
        known = st.session_state[_ACCOUNT_KEY] = identity, shared_application().accounts.log_in(identity).id
    return known[1]


def read_login(cookies: Mapping[str, str]) -> str:
    """Return whose login is in the cookies of a browser, the same for every login of a person; empty for none."""
    signed = _get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    claims = json.loads(signed) if signed else {}
    return f"{claims.get('iss')} {claims['sub']}" if claims.get("is_logged_in") and claims.get("sub") else ""


def _read_identity(claims: Mapping[str, Any]) -> Identity:
    """Return who the claims of an identity token say that somebody is. Raises `NotLoggedIn`."""
    if not claims.get("is_logged_in"):
        raise NotLoggedIn("You are not logged in.", "Log in.")
    if time.time() - float(claims.get("iat") or time.time()) > _LOGIN_SECONDS:
        raise NotLoggedIn("You were logged in a week ago.", "Log in again.")
    issuer, subject, email = (str(claims.get(name) or "") for name in ("iss", "sub", "email"))
    if not subject or not email or str(claims.get("email_verified", True)).lower() != "true":  # some send it as text
        raise NotLoggedIn(
            "The login service does not confirm your e-mail address, which others need to share documents with you.",
            "Confirm it there, or ask an administrator.",
        )
    return Identity(issuer, subject, email, str(claims.get("name") or ""))


@Once
def shared_application() -> Application:
    """Return the application of this process, not limited to a user, and resume unfinished jobs at the first call.

    Not for pages. Raises `CragError` when the home directory cannot be used.
    """
    from crag.app.application import open_application

    opened = open_application()
    opened.jobs.resume()
    return opened


def adopt_former_key(former: str, key: str) -> None:
    """Transfer everything that a former key owned to the key of a browser. Raises `CragError`."""
    shared_application().people.adopt(former, key)


def preload_application() -> None:
    """Open the application and import slow modules before a page needs them.

    An unusable home directory is ignored here; the page reports it.
    """
    with suppress(CragError):
        _setup_status()
    for module in _PRELOADED_MODULES:
        importlib.import_module(module)


def is_database_answering() -> bool:
    """Return whether the application is open, or can be opened now, and its database answers."""
    with suppress(CragError):
        return shared_application().database.is_answering()
    return False


def render_metrics() -> bytes:
    """Return what this process counted for Prometheus; nothing unless it is to count. Raises `CragError`."""
    metrics = shared_application().metrics
    return metrics.render() if metrics else b""


def close_application() -> None:
    """Stop running work and close the application for good: a page that is still being drawn opens no other one."""
    with suppress(CragError):
        shared_application().close()


@dataclass(frozen=True, slots=True)
class SetupStatus:
    """Snapshot of the set-up: the model chosen under `auto`, the available models, and the checklist."""

    choice: ModelChoice
    models: list[ModelChoice]
    checks: list[Check]


def model_choice() -> ModelChoice:
    """Return the model that answers under `auto`; the built-in engine until the status is known."""
    seen = _setup_status()
    return seen.choice if seen else _builtin_choice()


def answering_model(options: RunOptions) -> str:
    """Return the name of the model that answers under these options."""
    return model_choice().name if options.model == "auto" else options.model


def available_models() -> list[ModelChoice]:
    """Return all models that can be chosen now."""
    seen = _setup_status()
    return seen.models if seen else [_builtin_choice()]


def setup_checks() -> list[Check]:
    """Return the set-up checklist; every check is `unknown` until the status is known."""
    from crag.app.checklist import placeholder_checks

    seen = _setup_status()
    return seen.checks if seen else placeholder_checks()


def is_status_known() -> bool:
    """Return whether the status has been read at least once."""
    return _setup_status() is not None


def refresh_status() -> None:
    """Discard the cached status, so that it is read again before the next draw."""
    _status_cache().forget()


def _setup_status() -> SetupStatus | None:
    """Return the cached status, a few seconds old at most; do not wait long for a slow model server."""
    return _status_cache().get_within(_STATUS_WAIT_SECONDS)


@Once
def _status_cache() -> TTLCache[SetupStatus]:
    return TTLCache(_read_status, _STATUS_FRESH_SECONDS)


def _read_status() -> SetupStatus:
    app = shared_application()
    return SetupStatus(app.model_choice(refresh=True), app.models(), app.checks())


def _builtin_choice() -> ModelChoice:
    from crag.models.model_choice import BUILTIN_LABEL, ModelChoice

    return ModelChoice("builtin", BUILTIN_LABEL)


@Once
def warm_up() -> BackgroundWorker:
    """Prepare what the first question needs, once and in a background thread."""
    return run_in_background("warm-up", shared_application().warm_up)


_SERVER_FRESH_SECONDS = 2.0
_SERVER_WAIT_SECONDS = 0.15  # long enough for a server on this machine; remote servers are not waited for


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """State of the server; `known` is False until it has answered or been found unreachable.

    `hosts` has the state of each host if there are several. `fault` and `remedy` explain why no models are listed;
    `silent` means that nothing answers at that address.
    """

    known: bool = False
    version: str = ""
    models: tuple[ModelReport, ...] = ()
    embedders: tuple[ModelChoice, ...] = ()
    hosts: tuple[HostStatus, ...] = ()
    fault: str = ""
    remedy: str = ""
    silent: bool = False


@dataclass(frozen=True, slots=True)
class ModelTask:
    """Running or failed operation on a model; `since` is in `time.monotonic` seconds, `fault` is set once it failed."""

    word: str
    since: float
    fault: str = ""


class ServerMonitor:
    """Monitor of the server that also loads, unloads and deletes models in its own threads. Thread-safe."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._status = TTLCache(self._look, _SERVER_FRESH_SECONDS)
        self._lock = threading.Lock()
        self._work: dict[str, ModelTask] = {}

    def seen(self, patience: float = _SERVER_WAIT_SECONDS) -> ServerStatus:
        """Return the latest state; refresh a stale one, waiting `patience` seconds at most."""
        return self._status.get_within(patience) or ServerStatus()

    def work(self, name: str) -> ModelTask | None:
        """Return the running or failed operation on a model, if any."""
        return self._work.get(name)

    @property
    def is_working(self) -> bool:
        """Whether an operation is running."""
        return any(not work.fault for work in self._work.copy().values())

    def begin(self, name: str, word: str, act: Callable[[str], object]) -> None:
        """Start an operation on a model in a new thread; do nothing while another one runs on it."""
        with self._lock:
            running = self._work.get(name)
            if running is not None and not running.fault:
                return
            self._work[name] = ModelTask(word, time.monotonic())
        run_in_background("ollama-work", partial(self._do, name, act))

    def recheck(self) -> None:
        """Discard the cached state after a change."""
        self._status.forget()

    def _do(self, name: str, act: Callable[[str], object]) -> None:
        try:
            act(name)
        except CragError as error:
            self._work[name] = ModelTask(self._work[name].word, 0.0, str(error))
        except Stopped:  # the application is closing
            self._work.pop(name)
        else:
            self.recheck()
            self._work.pop(name)

    def _look(self) -> ServerStatus:
        hosts = tuple(self._app.ollama.hosts())
        found = ServerStatus(known=True, embedders=tuple(self._app.embedders.available()), hosts=hosts)
        try:
            models = tuple(self._app.ollama.models())
        except CragError as error:
            return replace(found, fault=error.message, remedy=error.remedy, silent=error.code == "unreachable")
        return replace(found, version=self._app.ollama.version() or "", models=models)


@Once
def server_monitor() -> ServerMonitor:
    """Return the monitor of this process."""
    return ServerMonitor(shared_application())
