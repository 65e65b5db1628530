"""Parser for web pages: main text without navigation, with headings, lists and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crag.errors import SourceRefused
from crag.language import cjk
from crag.library.parse.document import Block, Document
from crag.library.parse.markup import blocks_of
from crag.library.parse.request import Request

_NAVIGATION = "//nav | //*[@role='navigation']"
_CHROME = "//noscript | //aside | //footer | //body/header | //*[@aria-hidden='true']"
_SHORTEST = 50  # trafilatura's default of 250 characters would be a whole page in Chinese


def read_html(request: Request, text: str) -> Document:
    """Parse the main text found by trafilatura, or else all text of the page. Raises `SourceRefused`."""
    request.progress("Reading the page", 0, 0)
    tree = parse_html(text)
    if tree is None:
        raise _without_text()
    _drop(tree, _NAVIGATION)  # before extraction: trafilatura mistook its entries for authors
    found = _extract(tree)
    blocks = list(_walk(found.body)) if found is not None else []
    title = (found and found.title) or " ".join((tree.findtext(".//title") or "").split())
    author, published = _author(found, tree), (found and found.date) or ""
    if sum(bool(block.text.strip()) for block in blocks) < 2:  # a single block means that trafilatura failed
        blocks = _all_text(tree) or blocks
    if not any(block.text.strip() for block in blocks):
        raise _without_text()
    return Document(title, "html", None, tuple(blocks), author, published)


def _without_text() -> SourceRefused:
    return SourceRefused(
        "no_text", "The page holds no text. It may be drawn by a program.", "Save it as a PDF and add that."
    )


def _extract(tree: Any) -> Any:
    """Return main text and metadata from trafilatura, or None.

    Dates are used only where the page states them; they are never guessed from the text.
    """
    import trafilatura
    from trafilatura.settings import set_date_params, use_config

    config = use_config()
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", str(_SHORTEST))
    try:
        return trafilatura.bare_extraction(
            tree,
            include_comments=False,
            favor_recall=True,
            with_metadata=True,
            date_extraction_params=set_date_params(extensive=False),
            config=config,
        )
    except (ValueError, RecursionError):
        return None


def _author(found: Any, tree: Any) -> str:
    """Return the distinct author names.

    A one-word name is accepted only in scripts that write names without spaces. In other scripts it is usually an
    account name.
    """
    stated = (found.author or "").split("; ") if found is not None else []
    if not any(stated):
        stated = [name for name in tree.xpath("//meta[@name='author']/@content") if cjk(name)]
    names: dict[str, str] = {}
    for name in stated:
        names.setdefault("".join(name.lower().split()), name.strip())
    return "; ".join(names.values())


def _walk(element: Any) -> Iterator[Block]:
    """Yield the blocks of trafilatura's tree (TEI names: head, p, list, item, table, row, cell, code, quote)."""
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
    """Yield the items of a list; items of a nested list follow their parent item."""
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
    """Parse a page with a hardened parser and return its tree, or None when it is empty."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", huge_tree=False, no_network=True)
    try:
        return html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        return None


def _drop(tree: Any, path: str) -> None:
    for element in tree.xpath(path):
        if element.getparent() is not None:
            element.drop_tree()


def _all_text(tree: Any) -> list[Block]:
    """Return all text of the body without the boilerplate that a site repeats on every page."""
    _drop(tree, _CHROME)
    body = tree.find("body")
    return [] if body is None else list(blocks_of(body))
