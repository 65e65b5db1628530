"""Resource limits that a child process sets on itself, and its reply channel."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any

from crag.errors import SourceRefused
from crag.ingest.parse.document import ParseLimits, out_of_memory_refusal, refusal_message

SendReply = Callable[..., None]


def run_confined(work: Callable[[dict[str, Any], ParseLimits, SendReply], None]) -> None:
    """Call `work` with the request, within its limits; a refusal becomes the last reply."""
    answer = _open_reply_channel()
    request: dict[str, Any] = json.loads(sys.argv[1])
    limits = ParseLimits(**request.pop("limits"))
    limit_resources(limits)
    try:
        work(request, limits, answer)
    except SourceRefused as refused:
        answer(refusal_message(refused))
    except MemoryError:
        answer(refusal_message(out_of_memory_refusal()))


def _open_reply_channel() -> SendReply:
    """Return a function that sends one line, and bytes after it, to the parent.

    Standard output is redirected, so that a library that prints cannot corrupt the replies.
    """
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def answer(message: dict[str, Any], data: bytes = b"") -> None:
        out.write(json.dumps(message).encode() + b"\n" + data)
        out.flush()

    return answer


def limit_resources(limits: ParseLimits) -> None:
    """Limit memory and processor time and forbid writing files, where supported (macOS ignores RLIMIT_AS)."""
    wanted = {"RLIMIT_AS": limits.memory, "RLIMIT_DATA": limits.memory, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    for name, value in wanted.items():
        _set_limit(name, value)
    limit_cpu_seconds(limits.seconds)


def limit_cpu_seconds(seconds: float) -> None:
    """Limit the processor time of this process and of every process that it starts afterwards."""
    _set_limit("RLIMIT_CPU", math.ceil(seconds))


def _set_limit(name: str, value: int) -> None:
    try:
        import resource
    except ImportError:  # not available on Windows; the parent's deadline still applies
        return
    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):  # macOS defines the limit but rejects the value
        return
