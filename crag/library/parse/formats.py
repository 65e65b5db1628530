"""Detects the format of a file by its content and parses it."""

from __future__ import annotations

import re
from collections.abc import Callable

from crag.errors import SourceRefused
from crag.library.parse.archive import member_names
from crag.library.parse.book import read_epub
from crag.library.parse.document import Document
from crag.library.parse.encoding import decode
from crag.library.parse.mail import read_mail
from crag.library.parse.opendocument import read_odt
from crag.library.parse.package import package_kind
from crag.library.parse.pdf import read_pdf
from crag.library.parse.picture import read_picture
from crag.library.parse.plain import read_markdown, read_plain
from crag.library.parse.records import read_json
from crag.library.parse.request import Request, unsupported
from crag.library.parse.sheets import read_xlsx
from crag.library.parse.slides import read_pptx
from crag.library.parse.table import read_table
from crag.library.parse.webpage import read_html
from crag.library.parse.word import read_docx

_PACKAGES: dict[str, Callable[[Request], Document]] = {
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
    "odt": read_odt,
}
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_BINARY = {
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
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])",
    re.IGNORECASE | re.DOTALL,
)


def read(request: Request) -> Document:
    """Parse the requested file; its text is not yet cleaned.

    Raises `SourceRefused`, `MemoryError`, and whatever a library raises for a damaged file. Such an exception ends the
    process, which the parent reports as a damaged file.
    """
    data = request.data
    if b"%PDF-" in data[:1024]:
        return read_pdf(request)
    if data.startswith(b"PK\x03\x04"):
        return _PACKAGES[package_kind(request, member_names(request))](request)
    if data.startswith(_PICTURES):
        return read_picture(request)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise _old_office(data)
    for magic, what in _BINARY.items():
        if data.startswith(magic) and not (len(magic) < 3 and _looks_like_text(data)):
            raise unsupported(f"This is {what}")
    return _read_text(request)


def _read_text(request: Request) -> Document:
    html = bool(_HTML.match(request.data[:4096]))
    if not html and request.said_to_be("eml", types=("message/rfc822",)):
        return read_mail(request)
    html = html or request.said_to_be("html", "htm", "xhtml", types=("text/html", "application/xhtml+xml"))
    text = decode(request.data, request.charset, html)
    if not text.strip():
        raise SourceRefused("no_text", "The file holds nothing but blank space.")
    if html:
        return read_html(request, text)
    if request.said_to_be("md", "markdown", types=("text/markdown", "text/x-markdown")):
        return read_markdown(text)
    if request.said_to_be("csv", "tsv", "tab", types=("text/csv", "text/tab-separated-values")):
        return read_table(request, text)
    if request.said_to_be("json", "jsonl", "ndjson", types=("application/json", "application/x-ndjson")):
        return read_json(text)
    return read_plain(text)


def _looks_like_text(data: bytes) -> bool:
    return not any(byte < 9 for byte in data[:512])


def _old_office(data: bytes) -> SourceRefused:
    """Build the refusal of an OLE2 container ([MS-CFB]).

    These are password-protected Office files, Office files from before 2007, and Outlook messages.
    """
    if "EncryptedPackage".encode("utf-16-le") in data:
        return SourceRefused(
            "encrypted", "Needs a password.", "Save it without one, then add it again. Nothing was stored."
        )
    if "__substg1.0_".encode("utf-16-le") in data:
        return unsupported("Outlook messages (.msg) are not supported", "Save it as .eml and add that.")
    return unsupported(
        "Office files from before 2007 (.doc, .xls, .ppt) are not supported",
        "Open it, save it in the new format (.docx, .xlsx, .pptx) and add that.",
    )
