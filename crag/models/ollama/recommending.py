"""Which models are worth getting, and which Llama 3 suits a machine.

That is told by its memory alone: what is larger than that would be read from disk all the time.
"""

from __future__ import annotations

import psutil

_GIGABYTE = 1_000_000_000
# Names and bytes to download, as Ollama's library lists them; the server tells the true size when it begins.
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
# Memory from which it runs beside everything else.
_LLAMAS = {"llama3.1:8b": 12 * _GIGABYTE, "llama3.2:3b": 6 * _GIGABYTE, "llama3.2:1b": 0}


def recommended(memory: int | None = None) -> tuple[str, int]:
    """The Llama 3 for a machine with so many bytes of memory (this one's), and how many bytes it is to download."""
    there = psutil.virtual_memory().total if memory is None else memory
    return next((name, SUGGESTED[name]) for name, least in _LLAMAS.items() if there >= least)
