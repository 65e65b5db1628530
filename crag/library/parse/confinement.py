"""What a process that reads foreign files does to itself first: bounds its means, and keeps its answers apart.

Its argument is a JSON object with `limits`; it answers in JSON lines, maybe `{"refused": [code, message, remedy]}`.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any

from crag.errors import SourceRefused
from crag.library.parse.limits import Limits, out_of_memory, refusal

Answer = Callable[..., None]


def run_confined(work: Callable[[dict[str, Any], Limits, Answer], None]) -> None:
    """Calls `work` with the request, within its limits. What it refuses becomes its last answer."""
    answer = _only_answers()
    request: dict[str, Any] = json.loads(sys.argv[1])
    limits = Limits(**request.pop("limits"))
    restrict(limits)
    try:
        work(request, limits, answer)
    except SourceRefused as refused:
        answer(refusal(refused))
    except MemoryError:
        answer(refusal(out_of_memory()))


def _only_answers() -> Answer:
    """What writes one line to the parent, and bytes behind it; anything a library prints goes elsewhere."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def answer(message: dict[str, Any], data: bytes = b"") -> None:
        out.write(json.dumps(message).encode() + b"\n" + data)
        out.flush()

    return answer


def restrict(limits: Limits) -> None:
    """Bound memory and processor time, forbid writing files, where the system can (macOS ignores RLIMIT_AS)."""
    wanted = {"RLIMIT_AS": limits.memory, "RLIMIT_DATA": limits.memory, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    for name, value in wanted.items():
        _bound(name, value)
    allow_seconds(limits.seconds)


def allow_seconds(seconds: float) -> None:
    """Bound the processor time of this process, and of each that it starts from now on."""
    _bound("RLIMIT_CPU", math.ceil(seconds))


def _bound(name: str, value: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none of this; the parent's deadline still holds
        return
    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):  # macOS knows the name and refuses the value
        return
