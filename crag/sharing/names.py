"""Names of exported files: made from a title, valid on every file system."""

from __future__ import annotations

import re

from crag.foreign_text import one_line

_LENGTH = 60  # characters; at most 240 bytes, below the usual limit of 255
_FORBIDDEN = re.compile(r"[^\w\s().,-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_NAMELESS = "conversation"


def file_name(title: str, ending: str) -> str:
    """Return a file name such as `When does TraceMonkey give up.html`, valid on every file system.

    The result is never a path, a hidden file or a reserved device name of Windows.
    """
    words = " ".join(_FORBIDDEN.sub(" ", one_line(title)).split())
    name = words[:_LENGTH].strip(" .,-") or _NAMELESS
    return f"{f'{_NAMELESS} {name}' if _RESERVED.fullmatch(name) else name}.{ending}"
