"""A question whose words are marked as they are understood, so that what is left over shows."""

from __future__ import annotations

import re


class MarkedQuestion:
    """A question, which of its characters are used, and how many parts of a table used them."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.used = bytearray(len(question))
        self.matches = 0

    def take(self, start: int, end: int, *, counts: bool = True) -> None:
        """Mark a part as used; it counts as a match unless `counts` is false or some of it was used before."""
        self.matches += counts and self.is_free(start, end)
        self.used[start:end] = b"\1" * (end - start)

    def take_all(self, pattern: str | re.Pattern[str], *, counts: bool = False) -> list[re.Match[str]]:
        """Mark all matches of a pattern and return them."""
        found = list(re.finditer(pattern, self.question, 0 if isinstance(pattern, re.Pattern) else re.IGNORECASE))
        for match in found:
            self.take(*match.span(), counts=counts)
        return found

    def is_free(self, start: int, end: int) -> bool:
        """Return whether nothing of a part is used."""
        return not any(self.used[start:end])

    def free_text(self) -> str:
        """Return the question with spaces for what is used."""
        return "".join(" " if used else sign for sign, used in zip(self.question, self.used, strict=True))
