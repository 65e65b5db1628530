"""Answer and knowledge taken apart into sentences and terms, so that they can be compared."""

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
    """One sentence of the knowledge and its terms in order."""

    text: str
    terms: tuple[str, ...]

    @cached_property
    def held(self) -> frozenset[str]:
        """Its terms, each once."""
        return frozenset(self.terms)


@dataclass(frozen=True)
class Source:
    """One piece of knowledge, taken apart once for all sentences of the answer."""

    n: int
    text: str
    around: frozenset[str]
    units: tuple[Unit, ...]

    @cached_property
    def held(self) -> frozenset[str]:
        """Every term of the text and of what stands over it."""
        return self.around.union(*(unit.held for unit in self.units))

    @cached_property
    def figures(self) -> frozenset[str]:
        """Every number of the text and its title."""
        return allowed_figures(self.text)

    @cached_property
    def language(self) -> Language | None:
        """The language of the text."""
        return language(self.text)

    @cached_property
    def windows(self) -> list[frozenset[str]]:
        """The terms of each two neighbouring sentences, with the title: a `he` or `it` names what stands before."""
        return [
            self.around.union(*(unit.held for unit in self.units[start : start + _NEIGHBOURS]))
            for start in range(max(1, len(self.units) - _NEIGHBOURS + 1))
        ]


@dataclass(frozen=True)
class Statement:
    """One sentence of the answer: its words that carry meaning, each with its terms, and what says the same as each."""

    text: str
    words: tuple[tuple[str, ...], ...]
    alike: dict[str, frozenset[str]]

    @cached_property
    def language(self) -> Language | None:
        """The language of the sentence."""
        return language(self.text)

    @cached_property
    def weights(self) -> list[float]:
        """One for each word; what is written without spaces weighs as many words as it has pairs of characters."""
        return [max(1.0, len(parts) / 2) if cjk("".join(parts)) else 1.0 for parts in self.words]

    def covered(self, held: frozenset[str]) -> float:
        """The share of the sentence that these terms cover, in 0..1."""
        shares = (
            weight * sum(not self.alike[term].isdisjoint(held) for term in parts) / len(parts)
            for parts, weight in zip(self.words, self.weights, strict=True)
        )
        return sum(shares) / (sum(self.weights) or 1.0)


class Alike:
    """The terms of the knowledge that say the same as another: itself, else its inflections (*invent*, *invention*)."""

    def __init__(self, held: frozenset[str]) -> None:
        self._held = held
        self._beginning: dict[str, list[str]] = {}
        for term in held:
            self._beginning.setdefault(term[:_BEGINNING], []).append(term)

    def to(self, term: str) -> frozenset[str]:
        """The term, and those like it."""
        from rapidfuzz.distance import JaroWinkler

        if term in self._held or len(term) < _LONG_ENOUGH or not term.isalpha():
            return frozenset([term])
        like = self._beginning.get(term[:_BEGINNING], ())
        return frozenset(other for other in like if JaroWinkler.similarity(term, other) >= _ALIKE) | {term}


def read_source(item: Knowledge) -> Source:
    """A piece of knowledge with its title and heading, taken apart."""
    over = f"{item.passage.title} {item.passage.heading}"
    units = tuple(Unit(unit, tuple(terms(plain_figures(unit)))) for unit in sentences(item.text) or [item.text])
    return Source(item.n, f"{over}\n{item.text}", frozenset(terms(over)), units)


def read_statement(text: str, alike: Alike) -> Statement:
    """A sentence of the answer, taken apart."""
    parts = tuple(own for _, own in words(plain_figures(text)))
    return Statement(text, parts, {term: alike.to(term) for own in parts for term in own})
