"""Reads the log-probabilities of a reply's first token, in the forms that model servers give them."""

from __future__ import annotations

import math
import sys
from typing import Any


def read_alternatives(told: Any) -> dict[str, float]:
    """Each token that could have stood first, with its natural log-probability; empty where nothing is told.

    Ollama tells a list of objects (`ollama.Logprob`), OpenAI a mapping whose `content` lists mappings; both name the
    chosen token and, in `top_logprobs`, the likeliest ones, which need not hold it.
    """
    entries = told.get("content") if isinstance(told, dict) else told
    if not isinstance(entries, list) or not entries:
        return {}
    first = entries[0]
    likeliest = _field(first, "top_logprobs")
    found = [first, *(likeliest if isinstance(likeliest, list) else [])]
    pairs = [(_field(entry, "token"), _field(entry, "logprob")) for entry in found]
    return {token: value for token, value in pairs if isinstance(token, str) and _is_logarithm(value)}


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, dict) else getattr(entry, name, None)


def _is_logarithm(value: Any) -> bool:
    """No NaN, and no integer beyond all floats, which JSON can hold too."""
    return isinstance(value, float | int) and (value == -math.inf or -sys.float_info.max <= value <= 0)
