"""Suggested models, and the Llama 3 that suits a machine.

The choice depends on memory alone: a larger model would be read from disk continuously.
"""

from __future__ import annotations

import psutil

_GIGABYTE = 1_000_000_000
# Names and download sizes in bytes from Ollama's library; the server reports the exact size when a pull begins.
SUGGESTED = {
    "llama3.1:8b": 4_900_000_000,
    "llama3.2:3b": 2_000_000_000,
    "llama3.2:1b": 1_300_000_000,
    "qwen3:8b": 5_200_000_000,
    "qwen3:4b": 2_600_000_000,
    "gemma3:4b": 3_300_000_000,
    "mistral:7b": 4_400_000_000,
    "nomic-embed-text": 274_000_000,
}
# Memory in bytes with which each runs alongside other programs.
_LLAMAS = {"llama3.1:8b": 12 * _GIGABYTE, "llama3.2:3b": 6 * _GIGABYTE, "llama3.2:1b": 0}


def recommended(memory: int | None = None) -> tuple[str, int]:
    """Return the Llama 3 for this many bytes of memory (default: this machine's) and its download size in bytes."""
    there = psutil.virtual_memory().total if memory is None else memory
    return next((name, SUGGESTED[name]) for name, least in _LLAMAS.items() if there >= least)
