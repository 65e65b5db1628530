"""Names for exported files: from a title, and good on every file system."""

from __future__ import annotations

import re

from crag.foreign_text import one_line

_LENGTH = 60  # characters: at most 240 bytes, where 255 are allowed
_FORBIDDEN = re.compile(r"[^\w\s().,-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_NAMELESS = "conversation"


def file_name(title: str, ending: str) -> str:
    """Such as `When does TraceMonkey give up.html`; never a folder, a hidden file or a device of Windows."""
    words = " ".join(_FORBIDDEN.sub(" ", one_line(title)).split())
    name = words[:_LENGTH].strip(" .,-") or _NAMELESS
    return f"{f'{_NAMELESS} {name}' if _RESERVED.fullmatch(name) else name}.{ending}"
