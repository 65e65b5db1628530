"""Answer and knowledge split into sentences and terms, so that they can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from crag.graph.checking.claims import language
from crag.graph.checking.figures import allowed_figures, plain_figures
from crag.language import cjk, sentences, terms, words
from crag.prompts.language import Language
from crag.types import Knowledge

_NEIGHBOURS = 2
_ALIKE = 0.9
_LONG_ENOUGH = 5
_BEGINNING = 4


@dataclass(frozen=True)
class Unit:
    """One sentence of the knowledge with its terms in order."""

    text: str
    terms: tuple[str, ...]

    @cached_property
    def held(self) -> frozenset[str]:
        """The distinct terms."""
        return frozenset(self.terms)


@dataclass(frozen=True)
class Source:
    """One knowledge item, parsed once for all sentences of the answer."""

    n: int
    text: str
    around: frozenset[str]
    units: tuple[Unit, ...]

    @cached_property
    def held(self) -> frozenset[str]:
        """All terms of the text, its title and its heading."""
        return self.around.union(*(unit.held for unit in self.units))

    @cached_property
    def figures(self) -> frozenset[str]:
        """Every number in the text and its title."""
        return allowed_figures(self.text)

    @cached_property
    def language(self) -> Language | None:
        """The language of the text; None where its words cannot be compared."""
        return language(self.text)

    @cached_property
    def windows(self) -> list[frozenset[str]]:
        """The terms of each two adjacent sentences, with the title: a pronoun refers to the sentence before."""
        return [
            self.around.union(*(unit.held for unit in self.units[start : start + _NEIGHBOURS]))
            for start in range(max(1, len(self.units) - _NEIGHBOURS + 1))
        ]


@dataclass(frozen=True)
class Statement:
    """One sentence of the answer: its content words, each with its terms, and the variants of each term."""

    text: str
    words: tuple[tuple[str, ...], ...]
    alike: dict[str, frozenset[str]]

    @cached_property
    def language(self) -> Language | None:
        """The language of the sentence; None where its words cannot be compared."""
        return language(self.text)

    @cached_property
    def weights(self) -> list[float]:
        """One weight per word; text without spaces weighs as many words as it has pairs of characters."""
        return [max(1.0, len(parts) / 2) if cjk("".join(parts)) else 1.0 for parts in self.words]

    def covered(self, held: frozenset[str]) -> float:
        """Return the share of the sentence that these terms cover, in 0..1."""
        shares = (
            weight * sum(not self.alike[term].isdisjoint(held) for term in parts) / len(parts)
            for parts, weight in zip(self.words, self.weights, strict=True)
        )
        return sum(shares) / (sum(self.weights) or 1.0)


class Alike:
    """Variants of a term in the knowledge: the term itself, else its inflections (*invent*, *invention*)."""

    def __init__(self, held: frozenset[str]) -> None:
        self._held = held
        self._beginning: dict[str, list[str]] = {}
        for term in held:
            self._beginning.setdefault(term[:_BEGINNING], []).append(term)

    def to(self, term: str) -> frozenset[str]:
        """Return the term and its variants."""
        from rapidfuzz.distance import JaroWinkler

        if term in self._held or len(term) < _LONG_ENOUGH or not term.isalpha():
            return frozenset([term])
        like = self._beginning.get(term[:_BEGINNING], ())
        return frozenset(other for other in like if JaroWinkler.similarity(term, other) >= _ALIKE) | {term}


def read_source(item: Knowledge) -> Source:
    """Parse a knowledge item with its title and heading."""
    over = f"{item.passage.title} {item.passage.heading}"
    units = tuple(Unit(unit, tuple(terms(plain_figures(unit)))) for unit in sentences(item.text) or [item.text])
    return Source(item.n, f"{over}\n{item.text}", frozenset(terms(over)), units)


def read_statement(text: str, alike: Alike) -> Statement:
    """Parse a sentence of the answer."""
    parts = tuple(own for _, own in words(plain_figures(text)))
    return Statement(text, parts, {term: alike.to(term) for own in parts for term in own})
