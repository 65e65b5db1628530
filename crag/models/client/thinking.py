"""Separates a model's thinking from its reply."""

from __future__ import annotations

from typing import Literal

_OPEN, _CLOSE = "<think>", "</think>"


class ThoughtSplitter:
    """Incremental parser for replies with a leading `<think>…</think>`; later tags are part of the text.

    It drops white space before the text, and a leading `</think>`, which ends a thought that was sent separately.
    """

    def __init__(self) -> None:
        self._held = ""
        self._reading: Literal["beginning", "thought", "text"] = "beginning"

    def split(self, piece: str) -> tuple[str, str]:
        """Return the (text, thought) that is certain so far, from this piece and what was held back."""
        if self._reading == "text":
            return piece, ""
        self._held += piece
        return self._think() if self._reading == "thought" else self._begin()

    def rest(self) -> tuple[str, str]:
        """Return the held-back remainder as (text, thought) at the end of the reply."""
        if self._reading == "thought":
            return "", self._held
        return self._held.lstrip() if self._reading == "beginning" else "", ""

    def _begin(self) -> tuple[str, str]:
        start = self._held.lstrip()
        if start.startswith(_OPEN):
            self._reading, self._held = "thought", start.removeprefix(_OPEN)
            return self._think()
        if start.startswith(_CLOSE):
            self._held = start.removeprefix(_CLOSE)
            return self._begin()
        if _OPEN.startswith(start) or _CLOSE.startswith(start):
            return "", ""
        self._reading = "text"
        return start, ""

    def _think(self) -> tuple[str, str]:
        thought, closed, after = self._held.partition(_CLOSE)
        if closed:
            self._reading, self._held = "beginning", after
            text, more = self._begin()
            return text, thought + more
        kept = next((n for n in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:n])), 0)
        self._held = thought[len(thought) - kept :]
        return "", thought[: len(thought) - kept]
