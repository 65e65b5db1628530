"""Safety checks of a zip file before it is parsed; its declared sizes are not trusted."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from crag.errors import SourceRefused
from crag.library.parse.limits import too_large
from crag.library.parse.request import Request

# Raised by `zipfile` for damaged or unknown archives; RuntimeError means that a password is needed.
DAMAGED_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
_PIECE = 1024 * 1024
_MAX_MEMBERS = 10_000
# `<!DOCTYPE html>` is allowed: e-book chapters carry it, and it declares no entities.
_DECLARATIONS = re.compile(rb"<!DOCTYPE(?!\s+html\b[^\[>]*>)")


def member_names(request: Request) -> set[str]:
    """Return the member names after decompressing and counting every member, without writing anything.

    Raises `SourceRefused` (`too_large`, `corrupt`, `encrypted`).
    """
    left = request.limits.inflated
    try:
        with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
            members = archive.infolist()
            if len(members) > _MAX_MEMBERS:
                raise too_large(f"holds more than {_MAX_MEMBERS:,} parts")
            for member in members:
                left = _inflate(archive, member, left, request)
            return {member.filename for member in members}
    except DAMAGED_ZIP as error:
        raise SourceRefused(
            "corrupt", "The file is damaged and cannot be read.", "Open it, save it anew and add that."
        ) from error


def _inflate(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int, request: Request) -> int:
    """Decompress one member and return the remaining byte budget.

    Raises `SourceRefused` for zip bombs, passwords and document type declarations.
    """
    if member.flag_bits & 1:
        raise SourceRefused("encrypted", "Needs a password.", "Save it without one, then add it again.")
    with archive.open(member) as file:
        beginning = True
        while piece := file.read(_PIECE):
            left -= len(piece)
            if left < 0:
                raise too_large(f"unpacks to more than {request.limits.inflated / _PIECE:,.0f} MB")
            if beginning and member.filename.endswith((".xml", ".rels")) and _DECLARATIONS.search(piece[:4096]):
                raise SourceRefused("corrupt", "The file declares XML entities, which no office program writes.")
            beginning = False
    return left
