"""Continuation of an interrupted answer: trims its end and joins the new text to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from crag.protocols import Piece

_ENOUGH = 80  # characters within which a model may repeat the end of the begun answer
_LEAST_OVERLAP = 4
_NO_SPACES = r"\u2e80-\u312f\u3190-\ua95f\ua980-\uabff\uf900-\uffef"  # Chinese, Japanese; not Korean
_LAST_WORD = re.compile(rf"\s+[^\s{_NO_SPACES}]*\w$")
_OPEN_CITATION = re.compile(r"\s*\[[\d\s,]*$")
_WORD = re.compile(r"\w")
_WIDE = re.compile(f"[{_NO_SPACES}]")


def without_broken_word(text: str) -> str:
    """Remove the last word or citation, which may be incomplete.

    The text is complete if it ends with punctuation, or in a script without spaces between words.
    """
    return _LAST_WORD.sub("", _OPEN_CITATION.sub("", text.rstrip()))


def joined(begun: str, pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces that continue `begun`, without repeated text and with a space where needed.

    The model may repeat the end of `begun`, or all of it.
    """
    held: str | None = ""
    for piece in pieces:
        if held is None:
            yield piece
            continue
        held += piece.text
        repeats = begun.startswith(held.strip())
        if piece.usage or (len(held.strip()) >= _ENOUGH and not repeats):
            yield replace(piece, text=_continued(begun, held))
            held = None
        elif piece.thought:
            yield replace(piece, text="")


def _continued(begun: str, text: str) -> str:
    fresh = text.lstrip()
    if not fresh:
        return ""
    lengths = range(min(len(begun), len(fresh)), _LEAST_OVERLAP - 1, -1)
    if overlap := next((length for length in lengths if begun.endswith(fresh[:length])), 0):
        return fresh[overlap:]
    if text != fresh:  # the model sent its own white space
        return text
    return f" {text}" if _needs_space(begun[-1:], text[:1]) else text


def _needs_space(before: str, after: str) -> bool:
    if before.isspace() or _WIDE.match(before) or _WIDE.match(after):
        return False
    return bool(_WORD.match(after)) or after in "([“\"'"
