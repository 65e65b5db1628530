"""What the zip files called documents share: how they say what they are, and XML members read hardened."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from crag.errors import SourceRefused
from crag.library.parse.request import Request, unsupported

# Of the part that is the document itself ([Content_Types].xml, ECMA-376-2, section 10.1.2).
_OFFICE_KINDS = {
    b"wordprocessingml.document.main+xml": "docx",
    b"presentationml.presentation.main+xml": "pptx",
    b"ms-powerpoint.presentation.macroEnabled.main+xml": "pptx",
    b"spreadsheetml.sheet.main+xml": "xlsx",
    b"ms-excel.sheet.macroEnabled.main+xml": "xlsx",
}
_MIMETYPES = {b"application/epub+zip": "epub", b"application/vnd.oasis.opendocument.text": "odt"}


def package_kind(request: Request, names: set[str]) -> str:
    """One of `docx`, `pptx`, `xlsx`, `epub`, `odt`. Raises `SourceRefused` (`unsupported`)."""
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
    """The root element of a member. Raises `SourceRefused` (`corrupt`) when it is missing or no XML."""
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
