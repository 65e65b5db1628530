"""Parsed documents: blocks in reading order, immutable and serializable as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

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


def note_unread(pages: int, reasons: Mapping[str, int]) -> str:
    """Return the user-facing note on pages that could not be read, with a count per reason."""
    return " ".join(f"{n:,} of {pages:,} pages could not be read: {why}." for why, n in reasons.items() if n)
