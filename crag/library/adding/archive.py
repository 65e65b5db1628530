"""Archives are like folders: each file in them that can be read becomes a source of its own."""

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
_DOCUMENT = (b"mimetype", b"[Content_Types].xml")  # the first member of e-books and Office files
_INSIDE = re.compile(r"(.*?\.zip(?:\?[^!]*)?)!/(.+)", re.IGNORECASE | re.DOTALL)  # an address may have a query
_LONGEST_LINE = 1_000_000
ARCHIVE_TYPES = frozenset({"application/zip", "application/x-zip-compressed"})


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: its name there, text to show and never a path, and its content or why there is none."""

    name: str
    data: bytes
    refused: SourceRefused | None = None


def is_archive(name: str, data: bytes | Path) -> bool:
    """Whether this is a zip file to be unpacked, not a document that merely is one."""
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
    """The location of a member: `/folder/a.zip!/b/c.txt`, `https://example.org/a.zip!/b/c.txt`."""
    return f"{archive}!/{member}"


def outside(location: str) -> tuple[str, str] | None:
    """The archive and the member that a location names; None when it names no member."""
    found = _INSIDE.fullmatch(location)
    return (found[1], found[2]) if found else None


def no_longer_there() -> SourceRefused:
    """What is said of a file that left its archive."""
    return SourceRefused("unreachable", "The archive does not hold this file any more.", "Check the archive.")


def members(data: bytes | Path, limits: Limits, stop: Stop, only: str | None = None) -> Iterator[Member]:
    """The files in an archive that can be read, in order of name, unpacked one by one in a child; or `only` that one.

    Nothing is written to disk. Raises `SourceRefused` (`empty`, `unreachable`, `encrypted`, `corrupt`, `too_large`,
    `too_slow`) and `Stopped`.
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
    """None at the end."""
    assert child.stdout  # noqa: S101 — opened as a pipe
    with deadline(child, limits.seconds) as late:
        said, data = _message(child.stdout, limits.size)
    stop.check()
    if "member" in said:
        return Member(said["member"], data, SourceRefused(*said["refused"]) if "refused" in said else None)
    if "refused" in said:
        raise SourceRefused(*said["refused"])
    if "end" not in said:
        raise why_ended(child, late.is_set(), limits)
    return None


def _message(out: IO[bytes], most: int) -> tuple[dict[str, Any], bytes]:
    """One line of the child and the bytes behind it; nothing when it ended."""
    line = out.readline(_LONGEST_LINE)
    try:
        said: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}, b""
    size = min(said.get("size", 0), most)
    data = out.read(size)
    return (said, data) if len(data) == size else ({}, b"")
