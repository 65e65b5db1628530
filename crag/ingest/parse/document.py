"""Input and output of a parser: request, limits, blocks and the parsed document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from crag.errors import SourceRefused

BlockKind = Literal["heading", "paragraph", "item", "row", "code"]
DocumentKind = Literal[
    "pdf", "docx", "pptx", "xlsx", "odt", "epub", "eml", "html", "csv", "json", "markdown", "text", "image"
]


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list item, table row (`a | b`) or piece of code.

    `page` is the page or slide, counted from 1, or None where the format has no pages. `level` is 1 to 6 for headings,
    otherwise 0.
    """

    text: str
    kind: BlockKind = "paragraph"
    page: int | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document.

    `pages` is None where the format has no pages. `author` and `published` (YYYY-MM-DD) are empty where the document
    does not state them. `note` tells the user which parts are missing.
    """

    title: str
    kind: DocumentKind
    pages: int | None
    blocks: tuple[Block, ...]
    author: str = ""
    published: str = ""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the document as plain lists and values, the inverse of `from_json`."""
        blocks = [[block.text, block.kind, block.page, block.level] for block in self.blocks]
        facts = {"title": self.title, "kind": self.kind, "pages": self.pages}
        return facts | {"blocks": blocks, "author": self.author, "published": self.published, "note": self.note}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Document:
        """Rebuild a document from the output of `as_json`."""
        return cls(**(value | {"blocks": tuple(Block(*block) for block in value["blocks"])}))


def describe_unread_pages(pages: int, reasons: Mapping[str, int]) -> str:
    """Return the user-facing note on pages that could not be read, with a count per reason."""
    return " ".join(f"{n:,} of {pages:,} pages could not be read: {why}." for why, n in reasons.items() if n)


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits for parsing one file.

    Sizes are in bytes, `characters` counts text, `pages` counts pages or slides. `seconds` bounds both wall-clock and
    processor time. With OCR a file may take longer: `ocr_page_seconds` for each OCR page, `ocr_seconds` in total.
    """

    size: int = 100 * 1024 * 1024
    inflated: int = 300 * 1024 * 1024
    memory: int = 1536 * 1024 * 1024
    pages: int = 5_000
    characters: int = 20_000_000
    seconds: float = 60.0
    ocr_page_seconds: float = 60.0
    ocr_seconds: float = 3600.0

    def seconds_with_ocr(self, pages: int) -> float:
        """Return the time limit in seconds for a file with this many OCR pages."""
        return min(self.seconds + pages * self.ocr_page_seconds, self.ocr_seconds)


def too_large_refusal(what: str) -> SourceRefused:
    """Build the refusal of a file over a limit; `what` completes the sentence “The file …”."""
    return SourceRefused("too_large", f"The file {what}.", "Split it and add the parts.")


def out_of_memory_refusal() -> SourceRefused:
    """Build the refusal of a file that cannot be parsed within the memory limit."""
    return too_large_refusal("needs more memory than it may use")


def refusal_message(refused: SourceRefused) -> dict[str, Any]:
    """Return the message that a child sends to its parent for a refused file."""
    return {"refused": [refused.code, refused.message, refused.remedy]}


# Suffixes collected from folders and archives. The format itself is detected from the content.
READABLE_SUFFIXES = frozenset(
    """
    .pdf .docx .pptx .pptm .xlsx .xlsm .odt .epub .eml .html .htm .xhtml .csv .tsv .json .jsonl .ndjson .md .markdown
    .txt .text .zip
    """.split()  # noqa: SIM905 — a list of that many quoted strings would be harder to read
)
SUPPORTED_FORMATS_HINT = (
    "Add a PDF, an Office file (.docx, .pptx, .xlsx), OpenDocument text (.odt), an e-book (.epub), an e-mail (.eml), "
    "a web page, a table (.csv), JSON, Markdown, text, a picture of text (.png, .jpg, .tif) or a .zip of these."
)


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """One file to parse, with its declared name, type and encoding."""

    name: str
    content_type: str
    charset: str | None
    data: bytes
    limits: ParseLimits
    progress: Callable[[str, int, int], None]
    tesseract: str  # path of the Tesseract executable; empty if not installed
    begin_ocr: Callable[[int], float]  # requests time for this many OCR pages; returns the total in seconds

    def is_declared_as(self, *extensions: str, types: tuple[str, ...]) -> bool:
        """Return whether the name has one of `extensions` or the declared content type is one of `types`."""
        return self.name.lower().rpartition(".")[2] in extensions or self.content_type in types


def unsupported_refusal(what: str, remedy: str = SUPPORTED_FORMATS_HINT) -> SourceRefused:
    """Build the refusal of an unsupported kind of file; `what` is a sentence without its full stop."""
    return SourceRefused("unsupported", f"{what}.", remedy)
