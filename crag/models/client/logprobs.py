"""Parses the log-probabilities of a reply's first token in the formats of the model servers."""

from __future__ import annotations

import math
import sys
from typing import Any


def read_alternatives(told: Any) -> dict[str, float]:
    """Return each candidate for the first token with its natural log-probability; empty if none are reported.

    Ollama sends a list of objects (`ollama.Logprob`), OpenAI a mapping whose `content` lists mappings. Both name the
    chosen token and, in `top_logprobs`, the likeliest ones, which need not include it.
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
    """Return whether the value is a log-probability: no NaN, no integer beyond the float range (JSON allows both)."""
    return isinstance(value, float | int) and (value == -math.inf or -sys.float_info.max <= value <= 0)
