"""Tells by its content what a file is, and reads it with the parser for that."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from crag.errors import SourceRefused
from crag.library.document import Document
from crag.library.parse.limits import Limits

SUPPORTED = "Add a PDF, a Word file (.docx), a web page, Markdown or text."
_OFFICE = {"ppt/": "PowerPoint", "xl/": "Excel", "META-INF/container.xml": "EPUB", "content.xml": "OpenDocument"}
_BINARY = {
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"II*\0": "an image",
    b"MM\0*": "an image",
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


@dataclass(frozen=True, slots=True)
class Request:
    """One file to read, with what was said about it."""

    name: str
    content_type: str
    charset: str | None
    data: bytes
    limits: Limits
    progress: Callable[[str, int, int], None]

    @property
    def extension(self) -> str:
        """Of the name, in lower case, without the dot."""
        return self.name.lower().rpartition(".")[2]


def read(request: Request) -> Document:
    """The document in `request`, its text not yet cleaned. Raises `SourceRefused`, `MemoryError`."""
    data = request.data
    if b"%PDF-" in data[:1024]:
        from crag.library.parse.pdf import read_pdf

        return read_pdf(request)
    if data.startswith(b"PK\x03\x04"):
        return _read_zip(request)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise _old_office(data)
    for magic, what in _BINARY.items():
        if data.startswith(magic) and not (len(magic) < 3 and _looks_like_text(data)):
            raise _unsupported(f"This is {what}")
    return _read_text(request)


def _read_zip(request: Request) -> Document:
    from crag.library.parse.archive import member_names

    names = member_names(request)
    if "word/document.xml" in names:
        from crag.library.parse.word import read_docx

        return read_docx(request)
    for beginning, what in _OFFICE.items():
        if any(name.startswith(beginning) for name in names):
            raise _unsupported(f"{what} files are not supported yet")
    raise _unsupported("This is an archive")


def _read_text(request: Request) -> Document:
    from crag.library.parse.encoding import decode

    html = _is_html(request)
    text = decode(request.data, request.charset, html)
    if not text.strip():
        raise SourceRefused("no_text", "The file holds nothing but blank space.")
    if html:
        from crag.library.parse.webpage import read_html

        return read_html(request, text)
    from crag.library.parse.plain import read_markdown, read_plain

    markdown = request.extension in ("md", "markdown") or request.content_type in ("text/markdown", "text/x-markdown")
    return read_markdown(text) if markdown else read_plain(text)


def _is_html(request: Request) -> bool:
    return (
        request.content_type in ("text/html", "application/xhtml+xml")
        or request.extension in ("html", "htm", "xhtml")
        or bool(_HTML.match(request.data[:4096]))
    )


def _looks_like_text(data: bytes) -> bool:
    return not any(byte < 9 for byte in data[:512])


def _old_office(data: bytes) -> SourceRefused:
    """Office files with a password, and those from before 2007, are both OLE2 containers ([MS-CFB])."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        return SourceRefused(
            "encrypted", "Needs a password.", "Save it without one, then add it again. Nothing was stored."
        )
    return _unsupported("Office files from before 2007 (.doc, .xls, .ppt) are not supported")


def _unsupported(what: str) -> SourceRefused:
    return SourceRefused("unsupported", f"{what}.", SUPPORTED)
