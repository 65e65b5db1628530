"""Parser for OpenDocument text (.odt), in the order of the body."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from crag.errors import SourceRefused
from crag.library.parse.document import Block, Document
from crag.library.parse.package import read_xml
from crag.library.parse.request import Request

_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
# Deleted text, comments, tables of contents and layout-only elements.
_SKIPPED = frozenset({"tracked-changes", "annotation", "table-of-content", "sequence-decls", "forms", "note-citation"})
_BLANKS = {"s": " ", "tab": " ", "line-break": "\n"}


def read_odt(request: Request) -> Document:
    """Parse headings, paragraphs, list items and table rows. Raises `SourceRefused` (`encrypted`, `corrupt`)."""
    request.progress("Reading the document", 0, 0)
    with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
        names = archive.namelist()
        manifest = "META-INF/manifest.xml"
        if manifest in names and read_xml(archive, manifest).find(".//{*}encryption-data") is not None:
            raise SourceRefused("encrypted", "Needs a password.", "Save it without one, then add it again.")
        content = read_xml(archive, "content.xml")
        title = read_xml(archive, "meta.xml").findtext(".//{*}title") if "meta.xml" in names else ""
    titles = {"Title"} | {
        style.get(f"{_STYLE}name")
        for style in content.iterfind(".//{*}automatic-styles/{*}style")
        if style.get(f"{_STYLE}parent-style-name") == "Title"
    }
    blocks = [block for body in content.iterfind(".//{*}body/{*}text") for block in _blocks(body, titles)]
    heading = next((block.text for block in blocks if block.level == 1), "")
    return Document((title or "").strip() or heading, "odt", None, tuple(blocks))


def _blocks(element: Any, titles: set[str], in_list: bool = False) -> Iterator[Block]:
    for child in element:
        name = _name(child)
        if name == "h":
            level = child.get(f"{_TEXT}outline-level", "1")
            yield Block(_flat(child), "heading", level=max(1, min(6, int(level) if level.isdecimal() else 1)))
        elif name == "p" and child.get(f"{_TEXT}style-name") in titles:
            yield Block(_flat(child), "heading", level=1)
        elif name == "p":
            text = _flat(child)
            yield Block(f"- {text}", "item") if in_list and text else Block(text)
        elif name == "table-row":
            cells = [_flat(cell) for cell in child if _name(cell) == "table-cell"]
            yield Block(" | ".join(cells) if any(cells) else "", "row")
        elif name not in _SKIPPED:
            yield from _blocks(child, titles, in_list or name == "list")


def _name(element: Any) -> str:
    """Return the tag without its namespace; empty for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _flat(element: Any) -> str:
    return " ".join(_text(element).split())


def _text(element: Any) -> str:
    """Return all text inside, with notes at their anchor and a space after each paragraph of a cell or frame."""
    name = _name(element)
    if not name or name in _SKIPPED:
        return ""
    inner = (element.text or "") + "".join(_text(child) + (child.tail or "") for child in element)
    return f"{inner} " if name in ("p", "h") else inner + _BLANKS.get(name, "")
