"""Zipped document formats: detection by their metadata, and hardened XML parsing of members."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from crag.errors import SourceRefused
from crag.library.parse.request import Request, unsupported

# Content type of the main document part ([Content_Types].xml, ECMA-376-2, section 10.1.2).
_OFFICE_KINDS = {
    b"wordprocessingml.document.main+xml": "docx",
    b"presentationml.presentation.main+xml": "pptx",
    b"ms-powerpoint.presentation.macroEnabled.main+xml": "pptx",
    b"spreadsheetml.sheet.main+xml": "xlsx",
    b"ms-excel.sheet.macroEnabled.main+xml": "xlsx",
}
_MIMETYPES = {b"application/epub+zip": "epub", b"application/vnd.oasis.opendocument.text": "odt"}


def package_kind(request: Request, names: set[str]) -> str:
    """Return `docx`, `pptx`, `xlsx`, `epub` or `odt`. Raises `SourceRefused` (`unsupported`)."""
    with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
        types = archive.read("[Content_Types].xml") if "[Content_Types].xml" in names else b""
        mimetype = archive.read("mimetype").strip() if "mimetype" in names else b""
    if mimetype in _MIMETYPES:
        return _MIMETYPES[mimetype]
    for kind in (kind for content_type, kind in _OFFICE_KINDS.items() if content_type in types):
        return kind
    if "META-INF/container.xml" in names:
        return "epub"
    if mimetype.startswith(b"application/vnd.oasis.opendocument"):
        raise unsupported("Of OpenDocument only text (.odt) is supported", "Save it as a PDF and add that.")
    if types:
        raise unsupported("This kind of Office file is not supported", "Save it as .docx, .xlsx or .pptx and add that.")
    raise unsupported("This is an archive", "Call it .zip and add it again, or unpack it and add the files.")


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
