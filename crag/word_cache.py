"""Bounded cache for values computed per word: most words of a text were seen before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Known = TypeVar("Known")
_MOST_WORDS = 100_000
_LONGEST_WORD = 64


class WordCache(dict[str, Known]):
    """Bounded cache with the read speed of a dictionary, which no caching decorator reaches.

    `make` computes missing values. When the cache is full, entries that are not read again are dropped with the next
    generation. Keys above a maximum length are not stored. Thread-safe: at worst a value is computed twice.
    """

    def __init__(self, make: Callable[[str], Known]) -> None:
        super().__init__()
        self._make = make
        self._previous: dict[str, Known] = {}

    def __missing__(self, key: str) -> Known:
        value = self._previous.get(key)
        if value is None:
            value = self._make(key)
        if len(self) >= _MOST_WORDS:
            self._previous = self.copy()
            self.clear()
        if len(key) <= _LONGEST_WORD:
            self[key] = value
        return value
