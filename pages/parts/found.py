"""What is said of pages that a web search found before a person added them."""

from __future__ import annotations

from collections.abc import Sequence

from crag.types import Source
from pages.parts import markdown
from pages.parts.person import person
from pages.parts.resources import application

SIGN = "found by a web search"


def questions(sources: Sequence[Source]) -> set[str]:
    """The questions whose web search found any of these and that this person may read, being their own."""
    found_by = {source.found_by for source in sources if source.found_by}
    return application().gaps.may_see(found_by, person()) if found_by else set()


def line(source: Source) -> str:
    """That it came by a web search, and for which question if this person asked it; safe Markdown, or empty."""
    if not source.found_by:
        return ""
    told = f" for “{markdown.label(source.found_by, 160)}”" if questions([source]) else ""
    return f":material/travel_explore: {SIGN.capitalize()}{told}"
