"""Names for processes, so that what a dead one left behind can be told from what a live one still uses."""

from __future__ import annotations

import os

import psutil


def this_process() -> str:
    """A name for this process, fit for a file too, that no later process with the same number shares."""
    return f"{os.getpid()}-{int(psutil.Process().create_time())}"


def is_alive(name: str) -> bool:
    """Whether the process with this name still runs; what follows a second `-` does not matter."""
    number, _, rest = name.partition("-")
    try:
        return int(psutil.Process(int(number)).create_time()) == int(rest.partition("-")[0])
    except (psutil.Error, ValueError):
        return False
