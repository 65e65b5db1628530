"""Origin of documents that a web search found before the user added them."""

from __future__ import annotations

from collections.abc import Sequence

from crag.types import Source
from pages.parts import markdown
from pages.parts.person import person
from pages.parts.resources import application

SIGN = "found by a web search"


def questions(sources: Sequence[Source]) -> set[str]:
    """Return the questions whose web search found any of these sources, limited to the user's own."""
    found_by = {source.found_by for source in sources if source.found_by}
    return application().gaps.may_see(found_by, person()) if found_by else set()


def line(source: Source) -> str:
    """Return that a web search found the source, with the question if it is the user's own; safe Markdown or empty."""
    if not source.found_by:
        return ""
    question = f" for “{markdown.label(source.found_by, 160)}”" if questions([source]) else ""
    return f":material/travel_explore: {SIGN.capitalize()}{question}"
