"""A model's Markdown as HTML: formatting stays, but no image, link or HTML; citations lead to their sources."""

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
    """The answer; `links` are the anchor and the hover text of each source by its number.

    `sentences` that nothing carries, or only weakly, are marked.
    """
    reader = _reader()
    tokens = reader.parse(mark_sentences(text, sentences))
    for token in tokens:
        token.info = ""  # the language of a block of code, which nothing here reads
        if token.children:
            token.children = [part for child in token.children for part in _with_links(child, links)]
    html = reader.renderer.render(tokens, reader.options, {})
    for strength, mark in MARKS.items():
        sign = STRENGTHS[strength]
        html = html.replace(mark, _BADGE.format(sign.colour, sign.icon, sign.word))
    return Markup(html)  # noqa: S704 — all of it comes from the renderer, which escapes, and from here


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return reader.disable(["image", "link", "autolink", "html_inline", "html_block", "reference"])


def _with_links(token: Token, links: Mapping[int, tuple[str, str]]) -> list[Token]:
    """The token, of text cut where it cites a source that is there."""
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
