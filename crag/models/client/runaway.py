"""Detects a reply that loops or never ends, while it is streamed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

# A text loops when its tail of one of these lengths consists of a unit repeated at least eight times.
_STRETCHES = (400, 800, 1600, 3200, 6400, 12_800)
_TIMES = 8
_LOOKS = 4  # checks per tail length of new text
# Ollama ends a stream after more than 30 equal tokens, without a notice.
_EQUAL_TOKENS = 30
# A piece is at least one token, and a token of prose is much shorter than 16 characters.
_BEYOND, _PIECES_MORE, _TOKEN_CHARACTERS = 1.25, 16, 16
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")


@dataclass(frozen=True, slots=True)
class Runaway:
    """Why a reply was ended. `repeated` is the number of characters at its end that only repeat earlier text."""

    reason: Literal["repetition", "length"]
    repeated: int = 0


class RunawayGuard:
    """Runaway detector for a streamed reply; its cost per piece does not grow with the reply."""

    def __init__(self, answer_limit: int) -> None:
        """`answer_limit` is the maximum number of tokens requested."""
        self._most_pieces = answer_limit * _BEYOND + _PIECES_MORE
        self._most_characters = answer_limit * _TOKEN_CHARACTERS + max(_STRETCHES)
        self._pieces = self._characters = 0
        self._tail = ""
        self._new: list[str] = []
        self._looked_at = dict.fromkeys(_STRETCHES, 0)
        self._next_look = _STRETCHES[0]
        self._last, self._equal = "", 0  # the last piece and the length of the run of equal pieces

    def read(self, piece: str) -> Runaway | None:
        """Take in a piece and return the problem found, if any."""
        if not piece:
            return None
        self._pieces += 1
        self._characters += len(piece)
        self._new.append(piece)
        self._equal = self._equal + 1 if piece.strip() == self._last.strip() else 1
        self._last = piece
        if self._characters >= self._next_look and (repeated := self._look()):
            return Runaway("repetition", repeated)
        if self._pieces > self._most_pieces or self._characters > self._most_characters:
            return Runaway("length")
        return None

    def read_end(self) -> Runaway | None:
        """Return whether a reply without end mark was ended by the server for repeating one token."""
        if self._equal < _EQUAL_TOKENS:
            return None
        return Runaway("repetition", _repeated(self._tail + "".join(self._new), len(self._last)))

    def _look(self) -> int:
        self._tail = (self._tail + "".join(self._new))[-2 * _STRETCHES[-1] :]
        self._new.clear()
        for stretch in _STRETCHES:
            due = self._looked_at[stretch] + stretch // _LOOKS
            if self._characters >= max(stretch, due):
                self._looked_at[stretch] = self._characters
                if unit := smallest_unit(self._tail[-stretch:]):
                    return _repeated(self._tail, unit)
        self._next_look = self._characters + _STRETCHES[0] // _LOOKS
        return 0


def smallest_unit(text: str) -> int:
    """Return the length of the unit that `text` repeats at least eight times; 0 for none.

    The last repetition may be incomplete. An end as long as two of the longest units recurs after a multiple of the
    smallest unit, and first after that unit itself (Fine and Wilf, 1965). Searching backwards finds it in linear time.
    """
    backwards = text[::-1]
    end = backwards[: 2 * len(text) // _TIMES]
    unit = backwards.find(end, 1)
    if 0 < unit <= len(text) // _TIMES and text[unit:] == text[:-unit]:
        return unit
    return 0


def _repeated(text: str, unit: int) -> int:
    """Return how many characters at the end of `text` follow the first unit and the sentence that ends it.

    The text before the first unit may end like the unit, so the first unit may seem to begin too early.
    """
    count = 0
    while count + unit < len(text) and text[-1 - count] == text[-1 - count - unit]:
        count += 1
    kept = text[: len(text) - count]
    if _SENTENCE_END.match(f"{kept.rstrip(' ')[-1:]} "):
        return count
    end = _SENTENCE_END.search(text, len(kept), len(kept) + unit)
    return count - (end.end() - len(kept)) if end else count
