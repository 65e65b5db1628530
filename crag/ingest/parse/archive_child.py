"""Child process that unpacks an untrusted archive without writing files."""

from __future__ import annotations

import re
import stat
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from crag.errors import SourceRefused
from crag.ingest.parse.confinement import SendReply, limit_cpu_seconds, run_confined
from crag.ingest.parse.document import ParseLimits, damaged_refusal, refusal_message, too_large_refusal
from crag.ingest.parse.formats import ARCHIVE_SUFFIX, check_suffix, unsupported_refusal
from crag.ingest.parse.plain_text import decode_text
from crag.ingest.parse.zip_container import MAX_MEMBERS, ZIP_ERRORS, inflate_member, inflated_size_refusal
from crag.text.sanitization import clean_text

_OUTSIDE_PATH = re.compile(r"/|[A-Za-z]:|(?:.*/)?\.\.(?:/|$)")
_HIDDEN_PATH = re.compile(r"(?:^|/)\.[^./]")
_PACKER_FILE = re.compile(r"(?:^|/)(?:__MACOSX/|\.DS_Store$)")
_PACK_AGAIN = "Pack it again, then add it."
_UTF8_NAME = 0x800  # general purpose bit 11 (APPNOTE.TXT 6.3.10, section 4.4.4)


def main() -> None:
    """Unpack the archive and send the replies."""
    run_confined(_unpack)


def _unpack(request: dict[str, Any], limits: ParseLimits, answer: SendReply) -> None:
    try:
        for name, found in _read_members(limits, request["only"]):
            if isinstance(found, bytes):
                limit_cpu_seconds(time.process_time() + limits.seconds)
                answer({"member": name, "size": len(found)}, found)
            else:
                answer({"member": name} | refusal_message(found))
    except ZIP_ERRORS as error:
        raise damaged_refusal("The archive is damaged and cannot be unpacked.", _PACK_AGAIN) from error
    answer({"end": True})


def _read_members(limits: ParseLimits, only: str | None) -> Iterator[tuple[str, bytes | SourceRefused]]:
    """Yield every member by name, or only one. Raises `SourceRefused` for passwords and exceeded limits."""
    left = limits.inflated
    with zipfile.ZipFile(sys.stdin.buffer) as archive:
        chosen = [(name, member) for name, member in _members(archive).items() if only in (None, name)]
        if len(chosen) > MAX_MEMBERS:
            raise too_large_refusal(f"The archive has more than {MAX_MEMBERS:,} files.")
        if any(member.flag_bits & 1 and not _member_refusal(name, member) for name, member in chosen):
            raise SourceRefused("encrypted", "The archive needs a password.", "Unpack it and add the files.")
        for name, member in sorted(chosen):
            found = _member_refusal(name, member) or _read_member(archive, member, min(left, limits.size))
            left -= len(found) if isinstance(found, bytes) else 0
            if found is None:
                left -= limits.size
                found = too_large_refusal(f"The file is larger than the limit of {limits.size / 1_048_576:,.0f} MB.")
            if left < 0:
                raise inflated_size_refusal(limits)
            yield name, found


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files by name, of duplicate names the last one, without the system files that packers add."""
    members = {_member_name(member): member for member in archive.infolist() if not member.is_dir()}
    return {name: member for name, member in members.items() if not _PACKER_FILE.search(name)}


def _member_name(member: zipfile.ZipInfo) -> str:
    """Return a displayable name. Names not marked as Unicode are in the encoding of the packing system."""
    name = member.filename
    if not member.flag_bits & _UTF8_NAME and not name.isascii():
        with suppress(SourceRefused, UnicodeEncodeError):
            name = decode_text(name.encode("cp437"), None, html=False)
    return clean_text(name.replace("\\", "/"))


def _member_refusal(name: str, member: zipfile.ZipInfo) -> SourceRefused | None:
    """Return why a member is not unpacked, or None."""
    if stat.S_ISLNK(member.external_attr >> 16):
        return unsupported_refusal("This is a link to another file.", "Add that file.")
    if _OUTSIDE_PATH.match(name):
        return unsupported_refusal("Its name points outside the archive.", "Unpack the archive and add the file.")
    if name.lower().endswith(ARCHIVE_SUFFIX):
        return unsupported_refusal("This is an archive within an archive.", "Unpack the outer one and add this.")
    if _HIDDEN_PATH.search(name):
        return unsupported_refusal("This is a hidden file.", "Rename it without the dot, then pack it again.")
    try:
        check_suffix(name)
    except SourceRefused as refused:
        return refused
    return None


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes | SourceRefused | None:
    """Decompress a member, counting bytes because its declared size is not trusted; None when over `most`."""
    data = bytearray()
    try:
        for piece in inflate_member(archive, member):
            data += piece
            if len(data) > most:
                return None
    except ZIP_ERRORS:
        return damaged_refusal("The file is damaged and cannot be unpacked.", _PACK_AGAIN)
    return bytes(data)


if __name__ == "__main__":
    main()
