"""Zip safety checks, the facts that zipped formats are detected by, and hardened XML parsing."""

from __future__ import annotations

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from crag.errors import SourceRefused
from crag.ingest.parse.document import (
    ParseLimits,
    ParseRequest,
    damaged_refusal,
    password_refusal,
    too_large_refusal,
)
from crag.ingest.parse.formats import ZipPackage, hangul_refusal, unsupported_refusal

# Raised by `zipfile` for damaged or unknown archives; RuntimeError means that a password is needed.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OverflowError,
    RuntimeError,
    ValueError,
)
_CONTENT_TYPES = "[Content_Types].xml"
_READ_BYTES = 1024 * 1024
MAX_MEMBERS = 10_000
# `<!DOCTYPE html>` is allowed: e-book chapters carry it, and it declares no entities.
_DOCTYPE = re.compile(rb"<!DOCTYPE(?!\s+html\b[^\[>]*>)")


def check_zip_members(request: ParseRequest) -> frozenset[str]:
    """Return the member names after decompressing and counting every member, without writing anything.

    Raises `SourceRefused` (`too_large`, `corrupt`, `encrypted`).
    """
    left = request.limits.inflated
    try:
        with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise too_large_refusal(f"The file has more than {MAX_MEMBERS:,} parts.")
            for member in members:
                left = _count_inflated(archive, member, left, request)
            return frozenset(member.filename for member in members)
    except ZIP_ERRORS as error:
        raise damaged_refusal() from error


def _count_inflated(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int, request: ParseRequest) -> int:
    """Decompress one member and return the remaining byte budget.

    Raises `SourceRefused` for zip bombs, passwords and document type declarations.
    """
    if member.flag_bits & 1:
        raise password_refusal()
    for piece in inflate_member(archive, member):
        left -= len(piece)
        if left < 0:
            raise inflated_size_refusal(request.limits)
        if member.filename.endswith((".xml", ".rels")) and _DOCTYPE.search(piece[:4096]):
            raise SourceRefused("corrupt", "The file declares XML entities, which no office program writes.")
    return left


def inflate_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a member in pieces to be counted, because its declared size is not trusted. Raises `ZIP_ERRORS`."""
    try:
        with archive.open(member) as file:
            while piece := file.read(_READ_BYTES):
                yield piece
    except OSError as error:  # how bz2 reports damage
        raise zipfile.BadZipFile from error


def inflated_size_refusal(limits: ParseLimits) -> SourceRefused:
    """Build the refusal of a zip file that is too large unpacked."""
    return too_large_refusal(f"The file unpacks to more than {limits.inflated / 1_048_576:,.0f} MB.")


def open_package(request: ParseRequest) -> ZipPackage:
    """Check every member and return what the format is detected by. Raises `SourceRefused` as `check_zip_members`."""
    names = check_zip_members(request)
    with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
        types = archive.read(_CONTENT_TYPES) if _CONTENT_TYPES in names else b""
        mimetype = archive.read("mimetype").strip() if "mimetype" in names else b""
    return ZipPackage(names, types, mimetype)


def unsupported_zip_refusal(package: ZipPackage) -> SourceRefused:
    """Build the refusal of a zip file of no supported format."""
    if package.mimetype == b"application/hwp+zip":
        return hangul_refusal()
    if package.mimetype.startswith(b"application/vnd.oasis.opendocument"):
        return unsupported_refusal(
            "Of OpenDocument files, only text (.odt) is supported.", "Save it as a PDF and add that."
        )
    if package.content_types:
        return unsupported_refusal(
            "This kind of Office file is not supported.", "Save it as .docx, .xlsx or .pptx and add that."
        )
    return unsupported_refusal(
        "This is an archive.", "Rename it to .zip and add it again, or unpack it and add the files."
    )


def xml_parser(**options: bool) -> Any:
    """Create an XML parser that loads nothing from elsewhere and expands no entities."""
    from lxml import etree

    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, **options
    )


def read_xml(archive: zipfile.ZipFile, name: str) -> Any:
    """Parse a member and return its root element.

    Raises `SourceRefused` (`corrupt`) when it is missing or not well-formed XML.
    """
    from lxml import etree

    try:
        return etree.fromstring(archive.read(name), xml_parser(remove_pis=True))
    except (KeyError, etree.XMLSyntaxError) as error:
        raise damaged_refusal() from error
