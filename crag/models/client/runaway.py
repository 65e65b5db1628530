"""Notices a reply that goes round in circles, or on without end, while it comes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

# A text repeats itself when its last characters, as many as one of these, are one unit at least eight times over.
_STRETCHES = (400, 800, 1600, 3200, 6400, 12_800)
_TIMES = 8
_LOOKS = 4  # how often each stretch is looked at while it passes by
# Ollama ends a stream after more than 30 equal tokens, without a word.
_EQUAL_TOKENS = 30
# A piece is one token at least, and a token of prose far less than 16 characters.
_BEYOND, _PIECES_MORE, _TOKEN_CHARACTERS = 1.25, 16, 16
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")


@dataclass(frozen=True, slots=True)
class Runaway:
    """Why a reply was ended. `repeated` is how many characters at its end only repeat what stands before them."""

    reason: Literal["repetition", "length"]
    repeated: int = 0


class RunawayGuard:
    """Reads a reply as it comes, at a cost that does not grow with it."""

    def __init__(self, answer_limit: int) -> None:
        """`answer_limit` is the number of tokens that were asked for at most."""
        self._most_pieces = answer_limit * _BEYOND + _PIECES_MORE
        self._most_characters = answer_limit * _TOKEN_CHARACTERS + max(_STRETCHES)
        self._pieces = self._characters = 0
        self._tail = ""
        self._new: list[str] = []
        self._looked_at = dict.fromkeys(_STRETCHES, 0)
        self._next_look = _STRETCHES[0]
        self._last, self._equal = "", 0  # the last piece, and how many like it have come in a row

    def read(self, piece: str) -> Runaway | None:
        """What is wrong with the reply, now that this piece has come."""
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
        """Whether a reply that ended without its mark did so because the server saw it repeat one token."""
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
    """The length of the unit that `text` repeats at least eight times over, the last one perhaps cut; 0 for none.

    An end as long as two of the longest units comes again after a multiple of the smallest one, and after that itself
    first (Fine and Wilf, 1965). Searching backwards finds it in linear time.
    """
    backwards = text[::-1]
    end = backwards[: 2 * len(text) // _TIMES]
    unit = backwards.find(end, 1)
    if 0 < unit <= len(text) // _TIMES and text[unit:] == text[:-unit]:
        return unit
    return 0


def _repeated(text: str, unit: int) -> int:
    """How many characters at the end of `text` follow the first instance of its unit, and the sentence that ends it.

    What stands before the first instance may end like the unit does, so that the first seems to begin too early.
    """
    count = 0
    while count + unit < len(text) and text[-1 - count] == text[-1 - count - unit]:
        count += 1
    kept = text[: len(text) - count]
    if _SENTENCE_END.match(f"{kept.rstrip(' ')[-1:]} "):
        return count
    end = _SENTENCE_END.search(text, len(kept), len(kept) + unit)
    return count - (end.end() - len(kept)) if end else count
