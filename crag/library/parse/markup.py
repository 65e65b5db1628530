"""Full text of an HTML tree as blocks, without boilerplate removal: for books, not web pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crag.library.parse.document import Block

_SKIPPED = frozenset({"script", "style", "template", "svg", "head", "rt", "rp"})
_HEADING = re.compile("h[1-6]")
_BLOCKS = frozenset(
    """
    address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 header hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul
    """.split()  # noqa: SIM905 — a list of that many quoted strings would be harder to read
)


def blocks_of(element: Any, in_list: bool = False) -> Iterator[Block]:
    """Yield headings, paragraphs, list items, table rows and code below `element`, in order."""
    loose = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str) or child.tag in _SKIPPED:
            pass
        elif any(inner.tag in _BLOCKS for inner in child.iter()):
            yield from _flush(loose, in_list)
            yield from _block(child, in_list)
        else:
            loose.append("\n" if child.tag == "br" else _text(child))
        loose.append(child.tail or "")
    yield from _flush(loose, in_list)


def _block(element: Any, in_list: bool) -> Iterator[Block]:
    if _HEADING.fullmatch(element.tag):
        yield Block(_flat(_text(element)), "heading", level=int(element.tag[1]))
    elif element.tag == "tr":
        cells = [_flat(_text(cell)) for cell in element.iterchildren("td", "th")]
        yield Block(" | ".join(cells) if any(cells) else "", "row")
    elif element.tag == "pre":
        yield Block(_text(element), "code")
    else:
        yield from blocks_of(element, in_list or element.tag == "li")


def _flush(loose: list[str], in_list: bool) -> Iterator[Block]:
    text = _flat("".join(loose))
    loose.clear()
    if text:
        yield Block(f"- {text}", "item") if in_list else Block(text)


def _text(element: Any) -> str:
    """Return all text inside, without comments, scripts and ruby annotations (`rt`, `rp`)."""
    if not isinstance(element.tag, str) or element.tag in _SKIPPED:
        return ""
    if element.tag == "br":
        return "\n"
    return (element.text or "") + "".join(_text(child) + (child.tail or "") for child in element)


def _flat(text: str) -> str:
    return " ".join(text.split())
