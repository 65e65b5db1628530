"""Untrusted text, escaped for Streamlit's Markdown: titles, names, questions, model output.

Escaping with backslashes is not enough: addresses become links, `:name:` an emoji and `->` an arrow even when escaped.
Such sequences are broken with a word joiner (U+2060), which has no width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from crag.foreign_text import JOINER, MARKS, calm, mark_sentences
from crag.foreign_text import visible as visible
from crag.inspection.badges import STRENGTHS
from crag.types import Citation, Support

_LABEL_LENGTH = 300
_HOVERED = 150

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&^=\"'])")
_LIVE = re.compile(
    r"(?P<colon>:)(?=[^\s\d])|(?P<at>@)|(?P<www>(?i:www))(?=\\*\.)|(?P<arrow>[-<>=~+])(?=[-<>=~+])|(?P<dots>\.)(?=\.)"
)
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_CITATION = re.compile(r"\[(\d{1,3})\]")
_CITED = re.compile(r"\s*\[\d{1,3}\]")
_LIST_SIGN = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_DIRECTIVE = re.compile(rf"(\\*):(?={JOINER})")


@lru_cache(4096)
def label(text: str, length: int = _LABEL_LENGTH) -> str:
    """Escape one line of untrusted text for a label, caption, title, badge or toast; cut at `length` characters."""
    line = " ".join(visible(text[: 4 * length]).split())
    if len(line) > length:
        line = f"{line[: length - 1].rstrip()}…"
    return _escape(line)


def paragraphs(text: str) -> str:
    """Escape untrusted text of several lines, such as a question, keeping its line breaks."""
    lines = visible(text).strip().split("\n")
    return "  \n".join(_escape(line.strip()) for line in lines)


def verbatim(text: str) -> str:
    """Escape a piece of untrusted text with its spaces and line breaks, to be joined with other pieces."""
    return "  \n".join(map(_escape, visible(text).split("\n")))


def answer(
    text: str,
    citations: Mapping[int, Citation] | None = None,
    anchor: str = "",
    sentences: Sequence[Support] = (),
) -> str:
    """Sanitize a model's Markdown: keep formatting, remove images, HTML, directives, formulas and foreign links.

    `[n]` becomes a link to `#cite-<anchor>-<n>` for each n in `citations`. Weakly supported and unsupported
    `sentences` get a badge.
    """
    known = citations or {}

    def link(match: re.Match[str]) -> str:
        cited = known.get(int(match.group(1)))
        return match.group(0) if cited is None else citation_link(cited, anchor, f"\\[{cited.n}\\]")

    parts = _CODE.split(mark_sentences(text, sentences))
    drawn = [calm(part) if index % 2 else _prose(part, link) for index, part in enumerate(parts)]
    done = "".join(drawn)
    for strength, mark in MARKS.items():
        sign = STRENGTHS[strength]
        done = done.replace(mark, f" :{sign.colour}-badge[:material/{sign.icon}: {sign.word}]")
    return done


def sentence(text: str, length: int = _LABEL_LENGTH) -> str:
    """Escape a single sentence of an answer, without its list marker and citations."""
    return label(_CITED.sub("", _LIST_SIGN.sub("", text)), length)


def place(title: str, page: int | None) -> str:
    """Return title and page number of a passage; the page is omitted where the document has none."""
    return title if page is None else f"{title} · p. {page}"


def place_label(title: str, page: int | None, length: int = _LABEL_LENGTH) -> str:
    """Escape title and page number of a passage as one line, shortened in the middle.

    Long titles often differ only at the end, where the page number is.
    """
    line = " ".join(visible(place(title, page)).split())
    kept = (length - 1) // 2
    return _escape(line if len(line) <= length else f"{line[:kept].rstrip()}…{line[-kept:].lstrip()}")


def citation_link(cited: Citation, anchor: str, text: str) -> str:
    """Return a link that opens the source; its tooltip shows title, page and quote. `text` must be safe Markdown."""
    shown = label(place(cited.title, cited.page), 120)
    if cited.quote:
        shown = f"{shown}: “{label(cited.quote, _HOVERED)}”"
    return f'[{text}](#cite-{anchor}-{cited.n} "{shown}")'


def _escape(line: str) -> str:
    broken = _LIVE.sub(lambda match: f"{match.group(0)}{JOINER}", line)
    return _PUNCTUATION.sub(r"\\\1", broken)


def _prose(text: str, link: Callable[[re.Match[str]], str]) -> str:
    return _CITATION.sub(link, _DIRECTIVE.sub(_escape_colon, calm(text)).replace("$", r"\$"))


def _escape_colon(match: re.Match[str]) -> str:
    """Escape a colon that starts no directive: Streamlit drops the `[label]` behind unknown directive names."""
    slashes = match.group(1)
    return f"{slashes}:" if len(slashes) % 2 else f"{slashes}\\:"
