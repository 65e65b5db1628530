"""Child process that unpacks an archive from standard input to standard output, under limits, writing no file.

For each member it sends one line `{"member": name, "size": n}` and n bytes, or `{"member": name, "refused": […]}`. The
last line is `{"end": true}`, or `{"refused": […]}` for the whole archive.
"""

from __future__ import annotations

import re
import stat
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from crag.errors import SourceRefused
from crag.library.cleaning import clean_text
from crag.library.parse.archive import DAMAGED_ZIP
from crag.library.parse.confinement import Answer, run_confined
from crag.library.parse.encoding import decode
from crag.library.parse.limits import Limits, refusal, too_large
from crag.library.parse.request import SUFFIXES, unsupported

_PIECE = 1024 * 1024
_MAX_MEMBERS = 10_000
_ELSEWHERE = re.compile(r"/|[A-Za-z]:|(?:.*/)?\.\.(?:/|$)")
_HIDDEN = re.compile(r"(?:^|/)(?:\.[^./]|__MACOSX/)")
_UTF8_NAME = 0x800  # general purpose bit 11 (APPNOTE.TXT 6.3.10, section 4.4.4)


def main() -> None:
    """Unpack the archive and send the replies."""
    run_confined(_unpack)


def _unpack(request: dict[str, Any], limits: Limits, answer: Answer) -> None:
    try:
        for name, found in _members(limits, request["only"]):
            if isinstance(found, bytes):
                answer({"member": name, "size": len(found)}, found)
            else:
                answer({"member": name} | refusal(found))
    except DAMAGED_ZIP as error:
        raise _damaged("The archive") from error
    answer({"end": True})


def _members(limits: Limits, only: str | None) -> Iterator[tuple[str, bytes | SourceRefused]]:
    """Yield the readable members by name. Raises `SourceRefused` for passwords and exceeded limits."""
    left = limits.inflated
    with zipfile.ZipFile(sys.stdin.buffer) as archive:
        chosen = [(name, member) for name, member in _readable(archive).items() if only in (None, name)]
        if len(chosen) > _MAX_MEMBERS:
            raise too_large(f"holds more than {_MAX_MEMBERS:,} files")
        if any(member.flag_bits & 1 for _, member in chosen):
            raise SourceRefused("encrypted", "The archive needs a password.", "Unpack it and add the files.")
        for name, member in sorted(chosen):
            found = _refused(name, member) or _inflate(archive, member, min(left, limits.size))
            left -= len(found) if isinstance(found, bytes) else 0
            if found is None:
                left -= limits.size
                found = too_large(f"is larger than the limit of {limits.size / _PIECE:,.0f} MB")
            if left < 0:
                raise too_large(f"unpacks to more than {limits.inflated / _PIECE:,.0f} MB")
            yield name, found


def _readable(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the visible members with a supported suffix, by name; of duplicate names the last one."""
    members = {_name(member): member for member in archive.infolist() if not member.is_dir()}
    return {
        name: member
        for name, member in members.items()
        if PurePosixPath(name).suffix.lower() in SUFFIXES and not _HIDDEN.search(name)
    }


def _name(member: zipfile.ZipInfo) -> str:
    """Return a displayable name. Names not marked as Unicode are in the encoding of the packing system."""
    name = member.filename
    if not member.flag_bits & _UTF8_NAME and not name.isascii():
        with suppress(SourceRefused, UnicodeEncodeError):
            name = decode(name.encode("cp437"), None, html=False)
    return clean_text(name.replace("\\", "/"))


def _refused(name: str, member: zipfile.ZipInfo) -> SourceRefused | None:
    """Return why a member is not unpacked, or None."""
    if stat.S_ISLNK(member.external_attr >> 16):
        return unsupported("This is a link to another file", "Add that file.")
    if _ELSEWHERE.match(name):
        return unsupported("Its name points outside the archive", "Unpack the archive and add the file.")
    if name.lower().endswith(".zip"):
        return unsupported("This is an archive within an archive", "Unpack the outer one and add this.")
    return None


def _inflate(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes | SourceRefused | None:
    """Decompress a member, counting bytes because its declared size is not trusted; None when over `most`."""
    data = bytearray()
    try:
        with archive.open(member) as file:
            while piece := file.read(_PIECE):
                data += piece
                if len(data) > most:
                    return None
    except DAMAGED_ZIP:
        return _damaged("The file")
    return bytes(data)


def _damaged(what: str) -> SourceRefused:
    return SourceRefused("corrupt", f"{what} is damaged and cannot be unpacked.", "Pack it anew and add that.")


if __name__ == "__main__":
    main()
