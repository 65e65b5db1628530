"""Names for processes, so that what a dead one left behind can be told from what a live one still uses."""

from __future__ import annotations

import os

import psutil


def this_process() -> str:
    """A name for this process, fit for a file too, that no later process with the same number shares."""
    return f"{os.getpid()}-{_started(psutil.Process())}"


def is_alive(name: str) -> bool:
    """Whether the process with this name still runs; what follows a second `-` does not matter."""
    number, _, rest = name.partition("-")
    try:
        return _started(psutil.Process(int(number))) == int(rest.partition("-")[0])
    except (psutil.Error, ValueError):
        return False


def _started(process: psutil.Process) -> int:
    """When it was started, in hundredths of a second: on Linux since the boot, for times of day move with the clock."""
    return round(100 * (process.create_time() - (psutil.boot_time() if psutil.LINUX else 0.0)))
