"""Archives: each supported file in an archive becomes a source of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from crag.errors import SourceRefused
from crag.library.parse.limits import Limits
from crag.library.parse.process import Child, deadline, running, why_ended
from crag.stopping import Stop

_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")
_DOCUMENT = (b"mimetype", b"[Content_Types].xml")  # first member of e-books and Office files
_INSIDE = re.compile(r"(.*?\.zip(?:\?[^!]*)?)!/(.+)", re.IGNORECASE | re.DOTALL)  # a URL may have a query
_LONGEST_LINE = 1_000_000
ARCHIVE_TYPES = frozenset({"application/zip", "application/x-zip-compressed"})


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: its name (for display, never used as a path), and its content or why it was refused."""

    name: str
    data: bytes
    refused: SourceRefused | None = None


def is_archive(name: str, data: bytes | Path) -> bool:
    """Return whether this is a zip file to unpack, not a document format that is zipped."""
    if not name.lower().endswith(".zip"):
        return False
    if isinstance(data, Path):
        try:
            with data.open("rb") as file:
                data = file.read(64)
        except OSError:
            return False
    return data.startswith(_BEGINNINGS) and not data[30:].startswith(_DOCUMENT)


def inside(archive: object, member: str) -> str:
    """Return the location of a member, as in `/folder/a.zip!/b/c.txt` or `https://example.org/a.zip!/b/c.txt`."""
    return f"{archive}!/{member}"


def outside(location: str) -> tuple[str, str] | None:
    """Split a location into archive and member; None if it names no member."""
    found = _INSIDE.fullmatch(location)
    return (found[1], found[2]) if found else None


def no_longer_there() -> SourceRefused:
    """Return the refusal for a file that is no longer in its archive."""
    return SourceRefused("unreachable", "The archive does not hold this file any more.", "Check the archive.")


def members(data: bytes | Path, limits: Limits, stop: Stop, only: str | None = None) -> Iterator[Member]:
    """Yield the supported files of an archive in order of name, unpacked one by one in a child process.

    `only` restricts it to one member. Nothing is written to disk. Raises `SourceRefused` (`empty`, `unreachable`,
    `encrypted`, `corrupt`, `too_large`, `too_slow`) and `Stopped`.
    """
    found = False
    with running("crag.library.parse.unpack", {"only": only}, data, limits, stop) as child:
        while (member := _next(child, limits, stop)) is not None:
            found = True
            yield member
    if not found and only is not None:
        raise no_longer_there()
    if not found:
        raise SourceRefused("empty", "There is no file in this archive that can be read.")


def _next(child: Child, limits: Limits, stop: Stop) -> Member | None:
    """Return the next member, or None at the end."""
    assert child.stdout  # noqa: S101 — opened as a pipe
    with deadline(child, limits.seconds) as late:
        reply, data = _message(child.stdout, limits.size)
    stop.check()
    if "member" in reply:
        return Member(reply["member"], data, SourceRefused(*reply["refused"]) if "refused" in reply else None)
    if "refused" in reply:
        raise SourceRefused(*reply["refused"])
    if "end" not in reply:
        raise why_ended(child, late.is_set(), limits)
    return None


def _message(out: IO[bytes], most: int) -> tuple[dict[str, Any], bytes]:
    """Read one JSON line from the child and the bytes after it; empty if the child ended."""
    line = out.readline(_LONGEST_LINE)
    try:
        reply: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}, b""
    size = min(reply.get("size", 0), most)
    data = out.read(size)
    return (reply, data) if len(data) == size else ({}, b"")
