"""Parser for Word files, in the order of the body."""

from __future__ import annotations

import io
import re
from typing import Any

from crag.errors import SourceRefused
from crag.library.parse.document import Block, Document
from crag.library.parse.request import Request

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)


def read_docx(request: Request) -> Document:
    """Parse paragraphs and table rows, with headings by their style. Raises `SourceRefused`."""
    import docx
    from lxml.etree import LxmlError

    request.progress("Reading the document", 0, 0)
    try:
        document = docx.Document(io.BytesIO(request.data))
        blocks = [block for part in document.iter_inner_content() for block in _blocks(part)]
        title, author = document.core_properties.title, document.core_properties.author
    except (LxmlError, KeyError, ValueError, AttributeError, IndexError) as error:
        raise SourceRefused(
            "corrupt", "The Word file is damaged and cannot be read.", "Open it, save it anew and add that."
        ) from error
    heading = next((block.text for block in blocks if block.level == 1), "")
    return Document(title.strip() or heading, "docx", None, tuple(blocks), author)


def _blocks(part: Any) -> list[Block]:
    from docx.table import Table

    if isinstance(part, Table):
        return [Block(_row(row), "row") for row in part.rows]
    style = (part.style.name if part.style is not None else "") or ""
    if style == "Title":
        return [Block(part.text, "heading", level=1)]
    if found := _HEADING.match(style):
        return [Block(part.text, "heading", level=max(1, min(6, int(found[1]))))]
    if part.text.strip() and (style.startswith("List") or _is_numbered(part)):
        return [Block(f"- {part.text}", "item")]
    return [Block(part.text)]


def _is_numbered(paragraph: Any) -> bool:
    properties = paragraph._p.pPr  # noqa: SLF001 — python-docx has no public API for numbering
    return properties is not None and properties.numPr is not None


def _row(row: Any) -> str:
    """Join the cells with bars. `row.cells` repeats a cell for each column it spans; it is written once."""
    texts: list[str] = []
    cells = row.cells
    column = 0
    while column < len(cells):
        texts.append(" ".join(cells[column].text.split()))
        column += max(1, cells[column].grid_span)
    return " | ".join(texts)
