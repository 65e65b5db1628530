"""Shareable form of a source location: the address of a web page, or the file name without its folders."""

from __future__ import annotations

import re
from dataclasses import replace

from crag.events import AnswerWritten, Event, PassagesFound
from crag.foreign_text import is_web_address

_IN_ARCHIVE = "!/"


def shareable(location: str) -> str:
    """Return a web address unchanged, or a file name without its folders; keep the path inside an archive."""
    if is_web_address(location):
        return location
    outer, found, inner = location.partition(_IN_ARCHIVE)
    return re.split(r"[/\\]", outer)[-1] + found + inner


def without_folders(event: Event) -> Event:
    """Return the event with shareable locations only."""
    match event:
        case PassagesFound():
            found = (replace(passage, location=shareable(passage.location)) for passage in event.passages)
            return replace(event, passages=tuple(found))
        case AnswerWritten():
            cited = (replace(one, location=shareable(one.location)) for one in event.citations)
            return replace(event, citations=tuple(cited))
    return event
