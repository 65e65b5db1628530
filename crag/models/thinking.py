"""Leaves out what a model thinks aloud before its reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_OPEN = "<think>"
_THOUGHT = re.compile(r"<think>.*?</think>\s*", re.DOTALL)


def without_thinking(texts: Iterable[str]) -> Iterator[str]:
    """The pieces of a reply without a leading `<think>…</think>`; later mentions of the tag are part of the reply."""
    held = ""
    begun = False
    for text in texts:
        if begun:
            yield text
            continue
        held = _THOUGHT.sub("", (held + text).lstrip(), count=1) if _may_think(held + text) else held + text
        begun = bool(held.strip()) and not _may_think(held)
        if begun:
            yield held.lstrip()
    if not begun and not held.lstrip().startswith(_OPEN) and held.strip():
        yield held.lstrip()


def _may_think(text: str) -> bool:
    """Whether `text` begins with the tag, or with as much of it as has come."""
    start = text.lstrip()
    return start.startswith(_OPEN) or _OPEN.startswith(start)
