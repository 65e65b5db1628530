"""The terms of passages, as they are kept and read again."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from crag.language import terms
from crag.word_cache import WordCache

_BORDER = "\n"  # between the terms above a passage and its own; to the tokenizer a blank like any other


@dataclass(frozen=True, slots=True)
class PassageTerms:
    """The terms of a passage in order: of the title and heading put above it, and of its own text."""

    above: Sequence[str]
    text: Sequence[str]

    def __len__(self) -> int:
        return len(self.above) + len(self.text)

    @classmethod
    def from_row(cls, row: str) -> PassageTerms:
        """As `passage_terms` wrote them."""
        above, _, text = row.rpartition(_BORDER)
        return cls(above.split(), text.split())


def passage_terms(above: str, body: str) -> str:
    """The terms of a passage as the full-text index keeps them, those of what stands above it first."""
    return f"{index_terms(above)}{_BORDER}{index_terms(body)}"


def index_terms(body: str) -> str:
    """The terms of a text, one space between two."""
    return " ".join(filter(None, map(_terms_of_words.__getitem__, body.split())))


def fold_accents(body: str) -> str:
    """The text without Latin accents and in the usual forms of letters and digits, so that *café* finds *cafe*."""
    if body.isascii():
        return body
    apart = unicodedata.normalize("NFKD", body)
    return unicodedata.normalize("NFC", "".join(sign for sign in apart if not "\u0300" <= sign <= "\u036f"))


_terms_of_words = WordCache(lambda word: " ".join(terms(fold_accents(word))))  # no term reaches over a blank
