"""Rendering of a model's Markdown as HTML: no images, links or raw HTML; citations link to their sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from crag.foreign_text import MARKS, mark_sentences
from crag.inspection.badges import STRENGTHS
from crag.types import Support

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_CITATION = re.compile(r"(\[\d{1,3}\])")
_BADGE = ' <span class="badge {}"><svg class="icon" aria-hidden="true"><use href="#{}"/></svg>{}</span>'


def render_answer(text: str, links: Mapping[int, tuple[str, str]], sentences: Sequence[Support] = ()) -> Markup:
    """Render the answer. `links` maps the number of a source to its anchor and hover text.

    `sentences` that have no support, or weak support, are marked.
    """
    reader = _reader()
    tokens = reader.parse(mark_sentences(text, sentences))
    for token in tokens:
        token.info = ""  # drop the language of code blocks; the page does not use it
        if token.children:
            token.children = [part for child in token.children for part in _with_links(child, links)]
    html = reader.renderer.render(tokens, reader.options, {})
    for strength, mark in MARKS.items():
        sign = STRENGTHS[strength]
        html = html.replace(mark, _BADGE.format(sign.colour, sign.icon, sign.word))
    return Markup(html)  # noqa: S704 — all markup comes from the escaping renderer or this module


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return reader.disable(["image", "link", "autolink", "html_inline", "html_block", "reference"])


def _with_links(token: Token, links: Mapping[int, tuple[str, str]]) -> list[Token]:
    """Split a text token at citations of known sources."""
    if token.type != "text":
        return [token]
    return [_cited(part, links) for part in _CITATION.split(token.content) if part]


def _cited(part: str, links: Mapping[int, tuple[str, str]]) -> Token:
    from markdown_it.token import Token

    found = links.get(int(part[1:-1])) if _CITATION.fullmatch(part) else None
    if found is None:
        return Token("text", "", 0, content=part)
    link = Markup('<a class="cite" href="#{}" title="{}">{}</a>').format(*found, part)
    return Token("html_inline", "", 0, content=str(link))
