"""From a parsed document to passages as they are kept: their texts, and the terms they are searched by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crag.library.adding.split import HEADING_SEPARATOR, Chunk, CountTokens, split
from crag.library.parse.document import Document
from crag.library.search.terms import passage_terms

CHUNK_TOKENS = 250
CHUNK_OVERLAP = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """The chunks of a document, and the search terms of each."""

    chunks: list[Chunk]
    terms: list[str]

    def as_json(self) -> dict[str, Any]:
        """What can be written as JSON; the other way is `from_json`."""
        return {"chunks": self.chunks, "terms": self.terms}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Cut:
        """What `as_json` wrote."""
        return cls([Chunk(*chunk) for chunk in value["chunks"]], value["terms"])


def cut(document: Document, count_tokens: CountTokens) -> Cut:
    """The whole document in chunks."""
    chunks = split(document, count_tokens, CHUNK_TOKENS, CHUNK_OVERLAP)
    return Cut(chunks, [chunk_terms(document.title, chunk) for chunk in chunks])


def chunk_terms(title: str, chunk: Chunk) -> str:
    """What a chunk is found by: words of the title of its document and of the heading above it count too."""
    text = passage_text(title, passage_text(chunk.heading, chunk.text))
    return passage_terms(text.removesuffix(chunk.text), chunk.text)


def passage_text(heading: str, body: str) -> str:
    """What is embedded and searched of a passage: its text under the nearest heading.

    The headings further up are left out: they stand over most of a document and would make their words worthless.
    """
    nearest = heading.rpartition(HEADING_SEPARATOR)[2]
    return body if nearest in body[: 2 * len(nearest)] else f"{nearest}\n{body}"
