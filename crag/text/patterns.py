"""Regular expressions that are compiled when they are first used, and the words of months and numbers for them.

Compiling the rules of all languages takes longer than answering a question, which needs few of them.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
"""The English names of the months, in order."""
COUNT_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""The English words for the numbers from one, in order."""
SEVERAL = "|".join(COUNT_WORDS[1:])
"""A pattern for the words of numbers from two on."""


class _LazyPattern:
    """Stands for a compiled pattern, and gets its methods as attributes when they are first looked up."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.compiled, name)
        setattr(self, name, method)
        return method


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` would; an error in the pattern is raised when it is first used."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
