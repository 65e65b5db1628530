"""Parsers for plain text and Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crag.library.parse.document import Block, BlockKind, Document

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)
_BLANK = re.compile(r"\n[ \t]*\n")


def read_plain(text: str) -> Document:
    """Parse plain text; blank lines separate paragraphs."""
    parts = _BLANK.split(text.replace("\r\n", "\n").replace("\r", "\n"))
    return Document("", "text", None, tuple(Block(part) for part in parts))


def read_markdown(text: str) -> Document:
    """Parse CommonMark with tables into headings, list items, rows, code and paragraphs, without markup.

    The title is the first heading.
    """
    from markdown_it import MarkdownIt

    source = _FRONT_MATTER.sub("", text.replace("\r\n", "\n").lstrip("\ufeff"))
    blocks = _blocks(MarkdownIt("commonmark").enable("table").parse(source))
    title = next((block.text for block in blocks if block.kind == "heading"), "")
    return Document(title, "markdown", None, tuple(blocks))


def _blocks(tokens: list[Token]) -> list[Block]:
    blocks: list[Block] = []
    cells: list[str] = []
    inside: list[str] = []
    for token in tokens:
        if token.nesting == 1:
            inside.append(token.tag)
        elif token.nesting == -1:
            inside.pop()
            if token.type == "tr_close":
                blocks.append(Block(" | ".join(cells), "row"))
                cells = []
        elif token.type == "inline" and inside[-1] in ("td", "th"):
            cells.append(_text(token))
        elif token.type == "inline":
            blocks.append(_block(_text(token), inside))
        elif token.type in ("fence", "code_block"):
            blocks.append(Block(token.content, "code"))
    return blocks


def _block(text: str, inside: list[str]) -> Block:
    if inside[-1] in ("h1", "h2", "h3", "h4", "h5", "h6"):
        return Block(text, "heading", level=int(inside[-1][1]))
    kind: BlockKind = "item" if "li" in inside else "paragraph"
    return Block(f"- {text}" if kind == "item" else text, kind)


def _text(token: Token) -> str:
    """Return the visible text of an inline token, without markup, link addresses or raw HTML."""
    breaks = {"softbreak": " ", "hardbreak": "\n", "html_inline": ""}
    return "".join(breaks.get(child.type, child.content) for child in token.children or [])
