"""Registry of file formats: names, suffixes and media types, how each is detected, and which function reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from crag.errors import SourceRefused
from crag.types import PRESENTATION_KIND, WORKBOOK_KIND

if TYPE_CHECKING:
    from crag.ingest.parse.document import Document, ParseRequest


@dataclass(frozen=True, slots=True)
class ZipPackage:
    """What zipped formats are detected by: member names, `[Content_Types].xml` and `mimetype` (empty if missing)."""

    names: frozenset[str] = frozenset()
    content_types: bytes = b""
    mimetype: bytes = b""


@dataclass(frozen=True, slots=True)
class FileSample:
    """What a format is detected from: the first 4,096 bytes, and the kind of a zip file."""

    start: bytes
    package: ZipPackage = ZipPackage()


Detect = Callable[[FileSample], bool]


def _begins_with(*signatures: bytes) -> Detect:
    return lambda file: file.start.startswith(signatures)


def _has_content_type(*endings: bytes) -> Detect:
    """Detect an Office file by its main part ([Content_Types].xml, ECMA-376-2, section 10.1.2)."""
    return lambda file: any(ending in file.package.content_types for ending in endings)


def _is_pdf(file: FileSample) -> bool:
    return b"%PDF-" in file.start[:1024]


def _is_odt(file: FileSample) -> bool:
    return file.package.mimetype == b"application/vnd.oasis.opendocument.text"


def _is_epub(file: FileSample) -> bool:
    return file.package.mimetype == b"application/epub+zip" or "META-INF/container.xml" in file.package.names


_HTML_START = re.compile(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])",
    re.IGNORECASE | re.DOTALL,
)


def _is_html(file: FileSample) -> bool:
    return bool(_HTML_START.match(file.start))


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. `kind` is stored with each document; `label` is its name on screen, `family` that of its group.

    `hint` completes the sentence “Add …” in refusals. `read` is the `module:function` in this package that parses it,
    loaded by the child only. `detect` recognizes the content; without it, as a text without a signature, the format is
    recognized by suffix or media type. `declared` allows that as well for a format with a `detect`. `in_folders` is
    False for files not collected from folders and archives. `libraries` are modules that `read` imports when called.
    """

    kind: str
    label: str
    family: str
    hint: str
    read: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...] = ()
    detect: Detect | None = None
    declared: bool = False
    in_folders: bool = True
    libraries: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it is text whose parser is Python alone."""
        return self.read.startswith("plain_text:")

    def is_declared(self, name: str, media_type: str) -> bool:
        """Return whether the suffix of the name or the media type declares this format, and may do so."""
        return (self.declared or self.detect is None) and self.is_likely(name, media_type)

    def is_likely(self, name: str, media_type: str) -> bool:
        """Return whether the suffix of the name or the media type is one of this format."""
        suffix = f".{name.lower().rpartition('.')[2]}"
        return suffix in self.suffixes or media_type in self.media_types

    def load_reader(self) -> Callable[[ParseRequest], Document]:
        """Import the parser."""
        reader: Callable[[ParseRequest], Document] = resolve_name(f"{__package__}.{self.read}")
        return reader


_OFFICE_HINT = "an Office file (.docx, .pptx, .xlsx)"
# A file is of the first format whose `detect` recognizes its content, else of the first one declared, else plain text.
FORMATS = (
    Format("pdf", "PDF", "PDF", "a PDF", "pdf:read_pdf", (".pdf",), detect=_is_pdf, libraries=("pypdfium2.raw",)),
    Format(
        *("docx", "Word", "Office", _OFFICE_HINT, "office:read_docx", (".docx",)),
        detect=_has_content_type(b"wordprocessingml.document.main+xml"),
        libraries=("docx",),
    ),
    Format(
        *(PRESENTATION_KIND, "PowerPoint", "Office", _OFFICE_HINT, "office:read_pptx", (".pptx", ".pptm")),
        detect=_has_content_type(
            b"presentationml.presentation.main+xml", b"ms-powerpoint.presentation.macroEnabled.main+xml"
        ),
        libraries=("pptx",),
    ),
    Format(
        *(WORKBOOK_KIND, "Excel", "Office", _OFFICE_HINT, "office:read_xlsx", (".xlsx", ".xlsm")),
        detect=_has_content_type(b"spreadsheetml.sheet.main+xml", b"ms-excel.sheet.macroEnabled.main+xml"),
    ),
    Format(
        *("odt", "OpenDocument", "Office", "OpenDocument text (.odt)", "office:read_odt", (".odt",)), detect=_is_odt
    ),
    Format("epub", "E-book", "EPUB", "an e-book (.epub)", "markup:read_epub", (".epub",), detect=_is_epub),
    Format("eml", "E-mail", "e-mail", "an e-mail (.eml)", "markup:read_email", (".eml",), ("message/rfc822",)),
    Format(
        *("html", "HTML", "HTML", "a web page", "markup:read_html", (".html", ".htm", ".xhtml")),
        media_types=("text/html", "application/xhtml+xml"),
        detect=_is_html,
        declared=True,
        libraries=("trafilatura",),
    ),
    Format(
        *("csv", "Table", "CSV", "a table (.csv)", "plain_text:read_csv", (".csv", ".tsv", ".tab")),
        media_types=("text/csv", "text/tab-separated-values"),
    ),
    Format(
        *("json", "JSON", "text", "JSON", "plain_text:read_json", (".json", ".jsonl", ".ndjson")),
        media_types=("application/json", "application/x-ndjson"),
    ),
    Format(
        *("markdown", "Markdown", "text", "Markdown", "plain_text:read_markdown", (".md", ".markdown")),
        media_types=("text/markdown", "text/x-markdown"),
        libraries=("markdown_it",),
    ),
    Format("text", "Text", "text", "text", "plain_text:read_plain_text", (".txt", ".text"), ("text/plain",)),
    Format(
        *("image", "Picture", "pictures", "a picture of text (.png, .jpg, .tif)", "images:read_image"),
        suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff"),
        detect=_begins_with(b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*"),
        in_folders=False,
    ),
)
PLAIN_TEXT = next(known for known in FORMATS if known.kind == "text")

ARCHIVE_SUFFIX = ".zip"
# Collected from folders and archives.
PLAIN_SUFFIXES = frozenset(suffix for known in FORMATS if known.is_plain for suffix in known.suffixes)
READABLE_SUFFIXES = frozenset(
    (*(suffix for known in FORMATS if known.in_folders for suffix in known.suffixes), ARCHIVE_SUFFIX)
)


SUPPORTED = f"Add {', '.join(dict.fromkeys(known.hint for known in FORMATS))} or a .zip of these."


def hangul_refusal() -> SourceRefused:
    """Build the refusal of a document of the Hangul word processor (HWP 3, HWP 5, OWPML)."""
    return unsupported_refusal(
        "Hangul documents (.hwp, .hwpx) are not supported.",
        "Save it as a PDF or Word file (.docx) first, then add that.",
    )


def check_suffix(name: str) -> None:
    """Refuse a file by the ending of its name, alone as in a folder or an archive. Raises `SourceRefused`."""
    if PurePosixPath(name).suffix.lower() not in READABLE_SUFFIXES:
        raise unsupported_refusal("This kind of file is not supported.", "Save it as a PDF and add that.")


def unsupported_refusal(what: str, remedy: str = "") -> SourceRefused:
    """Build the refusal of an unsupported kind of file; `what` is a sentence.

    The remedy names the supported formats unless one is given.
    """
    return SourceRefused("unsupported", what, remedy or SUPPORTED)
