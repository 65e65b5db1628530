"""What a parser is given, and what can be read at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crag.errors import SourceRefused
from crag.library.parse.limits import Limits

# Of the files that are looked for in folders and archives; what a file is, its content decides.
SUFFIXES = frozenset(
    """
    .pdf .docx .pptx .pptm .xlsx .xlsm .odt .epub .eml .html .htm .xhtml .csv .tsv .json .jsonl .ndjson .md .markdown
    .txt .text .zip
    """.split()  # noqa: SIM905 — a list of so many would hide the words
)
SUPPORTED = (
    "Add a PDF, an Office file (.docx, .pptx, .xlsx), OpenDocument text (.odt), an e-book (.epub), an e-mail (.eml), "
    "a web page, a table (.csv), JSON, Markdown, text, a picture of text (.png, .jpg, .tif) or a .zip of these."
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
    tesseract: str  # where that program is; empty: nowhere
    begin_ocr: Callable[[int], float]  # asks for more time, as so many pages need OCR; how many seconds there are

    def said_to_be(self, *extensions: str, types: tuple[str, ...]) -> bool:
        """Whether the name ends in one of `extensions`, or the server said one of `types`."""
        return self.name.lower().rpartition(".")[2] in extensions or self.content_type in types


def unsupported(what: str, remedy: str = SUPPORTED) -> SourceRefused:
    """The refusal of a kind of file; `what` is a sentence without its full stop."""
    return SourceRefused("unsupported", f"{what}.", remedy)
