"""Marks in an answer: citations `[n]`, as distinct from brackets of a quoted document, and bold text."""

from __future__ import annotations

import re

from crag.text.patterns import lazy_regex

CITATION = re.compile(r"\s?(?<!\\)\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
"""One citation `[1]` or `[1, 2]`, whose numbers are group 1, with the space before it."""
_OWN_BRACKETS = lazy_regex(r"\[(?=\d{1,3}(?:\s*,\s*\d{1,3})*\])")
_REFERENCE_MARK = lazy_regex(r"(?<=[.,;:!?。，；：！？”’\"')）」』])(?:\[\d{1,3}\])+")
_BOLD = lazy_regex(r"\*\*(?=[^\s*])([^*\n]*[^\s*])\*\*")
_ANY_BRACKETS = lazy_regex(r"\s?\\?\[\d{1,3}(?:\s*,\s*\d{1,3})*\]")


def strip_citations(text: str) -> str:
    """Remove all citations from a text."""
    return CITATION.sub("", text)


def strip_brackets(text: str) -> str:
    """Remove all citations, and the brackets of a document that look like them, escaped or not."""
    return _ANY_BRACKETS.sub("", text)


def strip_bold(text: str) -> str:
    """Remove the marks of bold text, so that words can be compared."""
    return _BOLD.sub(r"\1", text)


def escape_brackets(quote: str) -> str:
    r"""Escape what looks like a citation in a quotation, so that Markdown shows it: `[0, 1]` becomes `\[0, 1]`.

    The mark of a reference behind a full stop or comma is dropped.
    """
    return _OWN_BRACKETS.sub(r"\\[", _REFERENCE_MARK.sub("", quote))
