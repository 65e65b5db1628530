"""Format detection by content, and dispatch to the parser of each format."""

from __future__ import annotations

import re
from collections.abc import Callable

from crag.errors import SourceRefused
from crag.ingest.parse.document import Document, ParseRequest, unsupported_refusal
from crag.ingest.parse.images import read_image
from crag.ingest.parse.markup import read_email, read_epub, read_html
from crag.ingest.parse.office import read_docx, read_odt, read_pptx, read_xlsx
from crag.ingest.parse.pdf import read_pdf
from crag.ingest.parse.plain_text import decode_text, read_csv, read_json, read_markdown, read_plain_text
from crag.ingest.parse.zip_container import check_zip_members, detect_zipped_format

_ZIPPED_FORMATS: dict[str, Callable[[ParseRequest], Document]] = {
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
    "odt": read_odt,
}
_IMAGE_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_UNSUPPORTED_SIGNATURES = {
    b"GIF8": "an image",
    b"BM": "an image",
    b"RIFF": "a picture, sound or video",
    b"MZ": "a program",
    b"\x7fELF": "a program",
    b"\xcf\xfa\xed\xfe": "a program",
    b"\x1f\x8b": "a compressed file",
    b"7z\xbc\xaf": "an archive",
    b"Rar!": "an archive",
    b"BZh": "a compressed file",
    b"\xfd7zXZ": "a compressed file",
    b"ID3": "a sound file",
    b"OggS": "a sound file",
    b"\x1aE\xdf\xa3": "a video",
    b"SQLite format 3": "a database",
    b"{\\rtf": "a rich text file (.rtf)",
}
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])",
    re.IGNORECASE | re.DOTALL,
)


def parse_document(request: ParseRequest) -> Document:
    """Parse the requested file; its text is not yet cleaned.

    Raises `SourceRefused`, `MemoryError`, and whatever a library raises for a damaged file. Such an exception ends the
    process, which the parent reports as a damaged file.
    """
    data = request.data
    if b"%PDF-" in data[:1024]:
        return read_pdf(request)
    if data.startswith(b"PK\x03\x04"):
        return _ZIPPED_FORMATS[detect_zipped_format(request, check_zip_members(request))](request)
    if data.startswith(_IMAGE_SIGNATURES):
        return read_image(request)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise _ole_refusal(data)
    for magic, what in _UNSUPPORTED_SIGNATURES.items():
        if data.startswith(magic) and not (len(magic) < 3 and _looks_like_text(data)):
            raise unsupported_refusal(f"This is {what}")
    return _parse_text(request)


def _parse_text(request: ParseRequest) -> Document:
    html = bool(_HTML_START.match(request.data[:4096]))
    if not html and request.is_declared_as("eml", types=("message/rfc822",)):
        return read_email(request)
    html = html or request.is_declared_as("html", "htm", "xhtml", types=("text/html", "application/xhtml+xml"))
    text = decode_text(request.data, request.charset, html)
    if not text.strip():
        raise SourceRefused("no_text", "The file holds nothing but blank space.")
    if html:
        return read_html(request, text)
    if request.is_declared_as("md", "markdown", types=("text/markdown", "text/x-markdown")):
        return read_markdown(text)
    if request.is_declared_as("csv", "tsv", "tab", types=("text/csv", "text/tab-separated-values")):
        return read_csv(request, text)
    if request.is_declared_as("json", "jsonl", "ndjson", types=("application/json", "application/x-ndjson")):
        return read_json(text)
    return read_plain_text(text)


def _looks_like_text(data: bytes) -> bool:
    return not any(byte < 9 for byte in data[:512])


def _ole_refusal(data: bytes) -> SourceRefused:
    """Build the refusal of an OLE2 container ([MS-CFB]).

    These are password-protected Office files, Office files from before 2007, and Outlook messages.
    """
    if "EncryptedPackage".encode("utf-16-le") in data:
        return SourceRefused(
            "encrypted", "Needs a password.", "Save it without one, then add it again. Nothing was stored."
        )
    if "__substg1.0_".encode("utf-16-le") in data:
        return unsupported_refusal("Outlook messages (.msg) are not supported", "Save it as .eml and add that.")
    return unsupported_refusal(
        "Office files from before 2007 (.doc, .xls, .ppt) are not supported",
        "Open it, save it in the new format (.docx, .xlsx, .pptx) and add that.",
    )
