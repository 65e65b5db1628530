"""Model calls: requests to chat models with their replies, passed to a listener."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from crag.protocols import Prompt
from crag.stopping import Stop


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a chat model: `prompts` as sent, `reply` and `thought` as far as received.

    `node` is the step of the run that made the request, and `at` the seconds since the start of the run. In the call
    passed to a listener, `node` is empty and `at` is a `time.monotonic` value. Token counts are the server's; None if
    it did not report them. `fault` is empty if the reply was read to its end. Every retry is a call of its own.
    """

    node: str
    model: str
    at: float
    seconds: float
    prompts: tuple[Prompt, ...]
    reply: str = ""
    thought: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    fault: str = ""


Hear = Callable[[ModelCall], None]


def listen(stop: Stop, listener: Hear) -> None:
    """Call `listener` with each later model call made under `stop`, in the thread that made the call.

    `listener` must return at once. It must not hold a reference to `stop`, which would keep the entry alive forever.
    """
    with _lock:
        _listeners[stop] = listener


def tell(stop: Stop, call: ModelCall) -> None:
    """Notify the listener when a model call ends. Most work has no listener."""
    with _lock:
        listener = _listeners.get(stop)
    if listener is not None:
        listener(call)


_lock = threading.Lock()
_listeners: WeakKeyDictionary[Stop, Hear] = WeakKeyDictionary()
