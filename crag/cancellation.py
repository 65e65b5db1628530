"""Cancellation of work: the flag, cancellable threads, connections to cut, and what a run is waiting for."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Literal, TypeVar

from crag.errors import Stopped
from crag.types import ModelCall

WaitKind = Literal["queued", "answering", "retrying"]


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait for `model`, such as `ollama:llama3.1:8b`, which started at `since` (`time.monotonic`).

    *queued*: waiting in this application's queue at position `place`, from 1, counted in runs, for about `seconds_left`
    more, if that is known. The queue is that of the model or, before a run begins, that of the processor.
    *answering*: the request was sent and no reply has arrived yet. *retrying*: the model was busy or failed; `attempt`,
    from 2, is the next one.
    """

    kind: WaitKind
    model: str
    since: float
    place: int = 0
    attempt: int = 0
    seconds_left: float | None = None


WaitReporter = Callable[[], Wait | None]
CallListener = Callable[[ModelCall], None]


class Cancellation:
    """A cancellation flag shared between the caller and the workers, who also report what they do. Thread-safe.

    `list_waits` says what the work waits for. The caller may set `on_model_call`, which gets every model call when it
    ends, and `on_external_call`, which is called before the work begins to wait for a model or the web. Both are called
    in the thread that makes the call, and must return at once.
    """

    def __init__(self, reports_to: Cancellation | None = None) -> None:
        """Create the flag; `reports_to` is the cancellation of the work that this is a part of."""
        self.on_model_call: CallListener | None = reports_to.record_model_call if reports_to else None
        self.on_external_call: Callable[[], None] | None = reports_to.begin_external_call if reports_to else None
        self._reports_to = reports_to
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], None]] = []
        self._wait_reporters: list[WaitReporter] = []

    def cancel(self) -> None:
        """Set the flag, then run the hooks, which close streams and the like. Repeated calls have no effect."""
        with self._lock:
            self._event.set()
            hooks, self._hooks = self._hooks, []
        for hook in hooks:
            with suppress(Exception):  # a hook closes something that may be closed already
                hook()

    def check(self) -> None:
        """Raise `Stopped` if cancellation was requested."""
        if self._event.is_set():
            raise Stopped

    def wait(self, seconds: float) -> bool:
        """Sleep for at most `seconds`. Return True as soon as cancellation is requested."""
        return self._event.wait(seconds)

    @contextmanager
    def on_cancel(self, hook: Callable[[], None]) -> Iterator[None]:
        """Call `hook` on cancellation during the block, or at once if cancellation was requested before."""
        with self._lock:
            already = self._event.is_set()
            if not already:
                self._hooks.append(hook)
        if already:
            hook()
        try:
            yield
        finally:
            with self._lock:
                if hook in self._hooks:
                    self._hooks.remove(hook)

    @contextmanager
    def report_wait(self, reporter: WaitReporter) -> Iterator[None]:
        """Report a wait during the block; `reporter` is called whenever the state is requested."""
        with self._lock:
            self._wait_reporters.append(reporter)
        try:
            with self._reports_to.report_wait(reporter) if self._reports_to else nullcontext():
                yield
        finally:
            with self._lock:
                self._wait_reporters.remove(reporter)

    def list_waits(self) -> list[Wait]:
        """Return everything that the work waits for at present, longest wait first."""
        with self._lock:
            reporters = list(self._wait_reporters)
        found = [wait for reporter in reporters if (wait := reporter()) is not None]
        return sorted(found, key=lambda wait: wait.since)

    def record_model_call(self, call: ModelCall) -> None:
        """Pass a model call that ended to the listener. Most work has none."""
        if self.on_model_call is not None:
            self.on_model_call(call)

    def begin_external_call(self) -> None:
        """Say that the work is about to wait for something outside of this process."""
        if self.on_external_call is not None:
            self.on_external_call()


@contextmanager
def cancel_after(
    seconds: float, stop: Cancellation, postpone: Callable[[Cancellation], bool] = lambda _: False
) -> Iterator[Cancellation]:
    """Provide a cancellation of its own that is requested after `seconds`, or together with `stop`.

    It is postponed by another `seconds` as long as `postpone` returns True for it.
    """
    own, is_over = Cancellation(reports_to=stop), threading.Event()

    def watch() -> None:
        while not is_over.wait(seconds):
            if not postpone(own):
                own.cancel()
                return

    threading.Thread(target=watch, name="deadline", daemon=True).start()
    try:
        with stop.on_cancel(own.cancel):
            yield own
    finally:
        is_over.set()


class ConnectionGroup:
    """The connections of one model call, which another thread can cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._cut = False

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Add the connections that this thread opens during the block to the group."""
        token = _current_group.set(self)
        try:
            yield
        finally:
            _current_group.reset(token)

    def add(self, opened: socket.socket) -> None:
        """Add a connection, and close it at once if the group was cut before."""
        with self._lock:
            self._sockets.append(opened)
            late = self._cut
        if late:
            _shut_down(opened)

    @property
    def is_cut(self) -> bool:
        """Whether the group was cut because nobody waits for the call any more."""
        return self._cut

    def cut(self) -> None:
        """Shut down all present and future connections.

        A thread waiting on one gets an error. Repeated calls have no effect.
        """
        with self._lock:
            self._cut = True
            held = list(self._sockets)
        for opened in held:
            _shut_down(opened)


def current_connection_group() -> ConnectionGroup | None:
    """Return the group that collects the connections opened by this thread, if any."""
    return _current_group.get()


def _shut_down(opened: socket.socket) -> None:
    with suppress(OSError):  # it may be closed already
        opened.shutdown(socket.SHUT_RDWR)


_current_group: ContextVar[ConnectionGroup | None] = ContextVar("_current", default=None)


Item = TypeVar("Item")


class _EndOfWork:
    """End of the items. `error` is the reason if the work failed."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error


def call_cancellable(work: Callable[[], Item], stop: Cancellation, seconds: float | None = None) -> Item:
    """Return `work()`, called in a thread of its own. Raises as `run_cancellable` does."""
    with closing(run_cancellable(lambda: [work()], stop, seconds)) as results:
        return next(results)


def run_cancellable(
    produce: Callable[[], Iterable[Item]], stop: Cancellation, seconds: float | None = None
) -> Generator[Item, None, None]:
    """Run `produce()` in a thread of its own and yield its items as they arrive.

    Raises `Stopped` as soon as `stop` is requested, `TimeoutError` after `seconds`, and whatever `produce` raises. When
    the caller leaves, for any reason, the connections of the thread are cut, so that no server continues to generate
    unread tokens. A thread that uses other connections ends with its next item.
    """
    stop.check()
    deadline = None if seconds is None else time.monotonic() + seconds
    connections = ConnectionGroup()
    inbox: SimpleQueue[Item | _EndOfWork] = SimpleQueue()
    work = partial(
        copy_context().run, _put_items, produce, connections, inbox
    )  # the context holds the user, the run and its step
    threading.Thread(target=work, name="model-call", daemon=True).start()
    try:
        with stop.on_cancel(lambda: inbox.put(_EndOfWork())):
            while not isinstance(item := _take(inbox, deadline), _EndOfWork):
                stop.check()
                yield item
        stop.check()
        if item.error is not None:
            raise item.error
    finally:
        connections.cut()


def _take(inbox: SimpleQueue[Item], deadline: float | None) -> Item:
    try:
        return inbox.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
    except Empty:
        raise TimeoutError from None


def _put_items(
    produce: Callable[[], Iterable[Item]], connections: ConnectionGroup, inbox: SimpleQueue[Item | _EndOfWork]
) -> None:
    try:
        with connections.collect():
            for item in produce():
                if connections.is_cut:
                    break
                inbox.put(item)
        inbox.put(_EndOfWork())
    except Exception as error:  # noqa: BLE001 — raised again where the items are waited for
        inbox.put(_EndOfWork(error))
