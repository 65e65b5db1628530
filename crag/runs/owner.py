"""Which process a run belongs to, so that runs of a dead process can be told from those of another live one."""

from __future__ import annotations

import os

import psutil


def this_process() -> str:
    """A name for this process that no later process with the same number shares."""
    return f"{os.getpid()}:{int(psutil.Process().create_time())}"


def is_alive(owner: str) -> bool:
    """Whether the process with this name still runs."""
    number, _, created = owner.partition(":")
    try:
        return int(psutil.Process(int(number)).create_time()) == int(created)
    except (psutil.Error, ValueError):
        return False
