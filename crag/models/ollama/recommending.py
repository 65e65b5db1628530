"""Which Llama 3 suits a machine, by its memory alone: what is larger than that would be read from disk all the time."""

from __future__ import annotations

import psutil

_GIGABYTE = 1_000_000_000
# Memory from which it runs beside everything else, name, bytes to download; from Ollama's library, November 2026.
_LLAMAS = (
    (12 * _GIGABYTE, "llama3.1:8b", 4_900_000_000),
    (6 * _GIGABYTE, "llama3.2:3b", 2_000_000_000),
    (0, "llama3.2:1b", 1_300_000_000),
)


def recommended(memory: int | None = None) -> tuple[str, int]:
    """The Llama 3 for a machine with so many bytes of memory (this one's), and how many bytes it is to download."""
    there = psutil.virtual_memory().total if memory is None else memory
    return next((name, size) for least, name, size in _LLAMAS if there >= least)
