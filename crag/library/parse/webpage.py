"""Web pages to blocks: the main text without navigation, with its headings, lists and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crag.errors import SourceRefused
from crag.library.document import Block, Document
from crag.library.parse.request import Request

_SKIPPED = "//script | //style | //noscript | //template | //svg | //nav | //comment()"


def read_html(request: Request, text: str) -> Document:
    """The main text as trafilatura finds it, else all text of the page. Raises `SourceRefused`."""
    request.progress("Reading the page", 0, 0)
    title, blocks = _main_text(text)
    if not any(block.text.strip() for block in blocks):
        blocks = _all_text(text)
    if not any(block.text.strip() for block in blocks):
        raise SourceRefused(
            "no_text", "The page holds no text. It may be drawn by a program.", "Save it as a PDF and add that."
        )
    return Document(title or _title(text), "html", None, tuple(blocks))


def _main_text(text: str) -> tuple[str, list[Block]]:
    import trafilatura

    try:
        found: Any = trafilatura.bare_extraction(
            text, include_comments=False, include_tables=True, favor_recall=True, with_metadata=True
        )
        return (found.title or "", list(_walk(found.body))) if found is not None else ("", [])
    except (ValueError, RecursionError):
        return "", []


def _walk(element: Any) -> Iterator[Block]:
    """Blocks of trafilatura's tree (TEI names: head, p, list, item, table, row, cell, code, quote)."""
    for child in element:
        if child.tag == "head":
            yield Block(_flat(child), "heading", level=int(child.get("rend", "h2")[-1]))
        elif child.tag == "table":
            for row in child.iter("row"):
                yield Block(" | ".join(_flat(cell) for cell in row.iter("cell")), "row")
        elif child.tag == "list":
            yield from _items(child)
        elif child.tag == "code":
            yield Block("".join(child.itertext()), "code")
        elif child.tag in ("quote", "div", "main") and len(child):
            yield from _loose(child.text)
            yield from _walk(child)
        else:
            yield Block(_flat(child))
        yield from _loose(child.tail)


def _items(element: Any) -> Iterator[Block]:
    """Items of a list; what a deeper list holds follows its item."""
    for item in element.iter("item"):
        parts = [item.text or ""]
        for child in item:
            if child.tag not in ("list", "item"):
                parts.append(_flat(child))
            parts.append(child.tail or "")
        if text := " ".join(" ".join(parts).split()):
            yield Block(f"- {text}", "item")


def _loose(text: str | None) -> Iterator[Block]:
    if text and text.strip():
        yield Block(" ".join(text.split()))


def _flat(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())


def parse_html(text: str) -> Any:
    """The tree of a page, hardened; None when there is nothing in it."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", huge_tree=False, no_network=True)
    try:
        return html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        return None


def _title(text: str) -> str:
    tree = parse_html(text)
    return "" if tree is None else " ".join((tree.findtext(".//title") or "").split())


def _all_text(text: str) -> list[Block]:
    tree = parse_html(text)
    if tree is None:
        return []
    for element in tree.xpath(_SKIPPED):
        if element.getparent() is not None:
            element.dropparse_html()
    body = tree.find("body")
    lines = "\n".join((tree if body is None else body).itertext()).splitlines()
    return [Block(" ".join(line.split())) for line in lines if line.strip()]
