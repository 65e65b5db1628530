"""What was sent to chat models and what came back, told to whoever keeps it for the work it was done for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from crag.protocols import Prompt
from crag.stopping import Stop


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a chat model: `prompts` as they were sent, `reply` and `thought` as far as they came.

    `node` is the step of the run that asked, and `at` how many seconds after the run began; as told by `tell`, `node`
    is empty and `at` a time by `time.monotonic`. Tokens are those that the server counted, None where it did not say.
    `fault` is empty for a reply that was read to its end. A request that is tried again is a call each time.
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


def listen(stop: Stop, hear: Hear) -> None:
    """From now on each call made for the work of `stop` is told to `hear`, in the thread that made it.

    `hear` must return at once, and not hold `stop`: what it holds lives as long as that.
    """
    with _lock:
        _listeners[stop] = hear


def tell(stop: Stop, call: ModelCall) -> None:
    """Tells a call, when it is over, to who listens; most work has nobody who does."""
    with _lock:
        hear = _listeners.get(stop)
    if hear is not None:
        hear(call)


_lock = threading.Lock()
_listeners: WeakKeyDictionary[Stop, Hear] = WeakKeyDictionary()
