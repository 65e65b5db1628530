"""Process names that tell whether the owner of a row or folder is still running."""

from __future__ import annotations

import os
from functools import cache

import psutil


def current_process_name() -> str:
    """Return a name for this process, usable in file names, that no later process with the same id shares."""
    return _process_name(os.getpid())


def is_process_alive(name: str) -> bool:
    """Return whether the named process is running. Anything after a second `-` is ignored."""
    if f"{name}-".startswith(f"{current_process_name()}-"):
        return True
    number, _, rest = name.partition("-")
    try:
        return _start_time(psutil.Process(int(number))) == int(rest.partition("-")[0])
    except (psutil.Error, ValueError):
        return False


@cache  # redraws ask for it often; a forked process has another number
def _process_name(number: int) -> str:
    return f"{number}-{_start_time(psutil.Process(number))}"


def _start_time(process: psutil.Process) -> int:
    """Return the start time in hundredths of a second.

    On Linux it counts from boot, because times of day change with the clock.
    """
    return round(100 * (process.create_time() - (psutil.boot_time() if psutil.LINUX else 0.0)))
