"""Input of a parser, and the set of supported files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crag.errors import SourceRefused
from crag.library.parse.limits import Limits

# Suffixes collected from folders and archives. The format itself is detected from the content.
SUFFIXES = frozenset(
    """
    .pdf .docx .pptx .pptm .xlsx .xlsm .odt .epub .eml .html .htm .xhtml .csv .tsv .json .jsonl .ndjson .md .markdown
    .txt .text .zip
    """.split()  # noqa: SIM905 — a list of that many quoted strings would be harder to read
)
SUPPORTED = (
    "Add a PDF, an Office file (.docx, .pptx, .xlsx), OpenDocument text (.odt), an e-book (.epub), an e-mail (.eml), "
    "a web page, a table (.csv), JSON, Markdown, text, a picture of text (.png, .jpg, .tif) or a .zip of these."
)


@dataclass(frozen=True, slots=True)
class Request:
    """One file to parse, with its declared name, type and encoding."""

    name: str
    content_type: str
    charset: str | None
    data: bytes
    limits: Limits
    progress: Callable[[str, int, int], None]
    tesseract: str  # path of the Tesseract executable; empty if not installed
    begin_ocr: Callable[[int], float]  # requests time for this many OCR pages; returns the total in seconds

    def said_to_be(self, *extensions: str, types: tuple[str, ...]) -> bool:
        """Return whether the name has one of `extensions` or the declared content type is one of `types`."""
        return self.name.lower().rpartition(".")[2] in extensions or self.content_type in types


def unsupported(what: str, remedy: str = SUPPORTED) -> SourceRefused:
    """Build the refusal of an unsupported kind of file; `what` is a sentence without its full stop."""
    return SourceRefused("unsupported", f"{what}.", remedy)
