"""Zip safety checks, detection of zipped formats, and hardened XML parsing."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import Any

from crag.errors import SourceRefused
from crag.ingest.parse.document import ParseRequest, too_large_refusal, unsupported_refusal

# Raised by `zipfile` for damaged or unknown archives; RuntimeError means that a password is needed.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
_READ_BYTES = 1024 * 1024
_MAX_MEMBERS = 10_000
# `<!DOCTYPE html>` is allowed: e-book chapters carry it, and it declares no entities.
_DOCTYPE = re.compile(rb"<!DOCTYPE(?!\s+html\b[^\[>]*>)")


def check_zip_members(request: ParseRequest) -> set[str]:
    """Return the member names after decompressing and counting every member, without writing anything.

    Raises `SourceRefused` (`too_large`, `corrupt`, `encrypted`).
    """
    left = request.limits.inflated
    try:
        with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
            members = archive.infolist()
            if len(members) > _MAX_MEMBERS:
                raise too_large_refusal(f"holds more than {_MAX_MEMBERS:,} parts")
            for member in members:
                left = _count_inflated(archive, member, left, request)
            return {member.filename for member in members}
    except ZIP_ERRORS as error:
        raise SourceRefused(
            "corrupt", "The file is damaged and cannot be read.", "Open it, save it anew and add that."
        ) from error


def _count_inflated(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int, request: ParseRequest) -> int:
    """Decompress one member and return the remaining byte budget.

    Raises `SourceRefused` for zip bombs, passwords and document type declarations.
    """
    if member.flag_bits & 1:
        raise SourceRefused("encrypted", "Needs a password.", "Save it without one, then add it again.")
    with archive.open(member) as file:
        beginning = True
        while piece := file.read(_READ_BYTES):
            left -= len(piece)
            if left < 0:
                raise too_large_refusal(f"unpacks to more than {request.limits.inflated / _READ_BYTES:,.0f} MB")
            if beginning and member.filename.endswith((".xml", ".rels")) and _DOCTYPE.search(piece[:4096]):
                raise SourceRefused("corrupt", "The file declares XML entities, which no office program writes.")
            beginning = False
    return left


# Content type of the main document part ([Content_Types].xml, ECMA-376-2, section 10.1.2).
_OFFICE_FORMATS = {
    b"wordprocessingml.document.main+xml": "docx",
    b"presentationml.presentation.main+xml": "pptx",
    b"ms-powerpoint.presentation.macroEnabled.main+xml": "pptx",
    b"spreadsheetml.sheet.main+xml": "xlsx",
    b"ms-excel.sheet.macroEnabled.main+xml": "xlsx",
}
_MIMETYPE_FORMATS = {b"application/epub+zip": "epub", b"application/vnd.oasis.opendocument.text": "odt"}


def detect_zipped_format(request: ParseRequest, names: set[str]) -> str:
    """Return `docx`, `pptx`, `xlsx`, `epub` or `odt`. Raises `SourceRefused` (`unsupported`)."""
    with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
        types = archive.read("[Content_Types].xml") if "[Content_Types].xml" in names else b""
        mimetype = archive.read("mimetype").strip() if "mimetype" in names else b""
    if mimetype in _MIMETYPE_FORMATS:
        return _MIMETYPE_FORMATS[mimetype]
    for kind in (kind for content_type, kind in _OFFICE_FORMATS.items() if content_type in types):
        return kind
    if "META-INF/container.xml" in names:
        return "epub"
    if mimetype.startswith(b"application/vnd.oasis.opendocument"):
        raise unsupported_refusal("Of OpenDocument only text (.odt) is supported", "Save it as a PDF and add that.")
    if types:
        raise unsupported_refusal(
            "This kind of Office file is not supported", "Save it as .docx, .xlsx or .pptx and add that."
        )
    raise unsupported_refusal("This is an archive", "Call it .zip and add it again, or unpack it and add the files.")


def read_xml(archive: zipfile.ZipFile, name: str) -> Any:
    """Parse a member and return its root element.

    Raises `SourceRefused` (`corrupt`) when it is missing or not well-formed XML.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(archive.read(name), parser)
    except (KeyError, etree.XMLSyntaxError) as error:
        raise SourceRefused(
            "corrupt", "The file is damaged and cannot be read.", "Open it, save it anew and add that."
        ) from error
