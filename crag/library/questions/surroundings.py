"""What the rules of every language share: the text around a sentence, and a question with its subject."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from crag.text.patterns import lazy_regex

MIN_MENTIONS = 2  # of a name, for the text to be about it


@dataclass(frozen=True, slots=True)
class DerivedQuestion:
    """A question and its subject (`about`)."""

    question: str
    about: str


@dataclass(frozen=True)
class Surroundings:
    """The text of a document, which distinguishes names and terms from ordinary words, and its `title`."""

    text: str
    title: str = ""

    @cached_property
    def is_english(self) -> bool:
        """Return whether the text is English, judged by its commonest function words."""
        words = _LATIN_WORD.findall(self._folded)
        return len(words) > 0 and sum(word in _ENGLISH_WORDS for word in words) >= _MIN_ENGLISH_SHARE * len(words)

    def count(self, name: str) -> int:
        """Return how often the name is mentioned, in whatever case."""
        return self._folded.count(name.lower())

    def is_proper(self, word: str) -> bool:
        """Return whether the word is a name: written with unusual capitals, or mostly with one within a sentence."""
        if UNUSUAL_CASE.search(word):
            return True
        return word[:1].isupper() and self._inside[word] > 2 * self._inside[word.lower()]

    def is_heading_line(self, phrase: str) -> bool:
        """Return whether the phrase alone, apart from a number, is a line of the text: a heading."""
        return bool(re.search(rf"(?im)^\W*(?:\d[\d.]*)?\W*{re.escape(phrase)}\W*$", self.text))

    def is_written_inside(self, phrase: str) -> bool:
        """Return whether the phrase is in the middle of a sentence somewhere, with the same capitals."""
        return bool(re.search(rf"[a-z,;] {re.escape(phrase)}\b", self.text))

    def lower_ordinary(self, phrase: str) -> str:
        """Return the phrase without the capitals of the words that are no names."""
        return " ".join(word if self.is_proper(word) else word.lower() for word in phrase.split())

    @cached_property
    def _folded(self) -> str:
        return self.text.lower()

    @cached_property
    def _inside(self) -> Counter[str]:
        """Count the words within sentences: after a word in lower case that is followed by prose."""
        return Counter(_INSIDE_SENTENCE.findall(self.text))


_LATIN_WORD = lazy_regex(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_INSIDE_SENTENCE = lazy_regex(r"(?<=[a-z,;] )[A-Za-z][\w’'-]*(?=[ ,;.][^A-Z])")
UNUSUAL_CASE = lazy_regex(r"[A-Z]{2}|[a-z][A-Z]|[A-Za-z]\d|^[A-Z]\.$")
_ENGLISH_WORDS = frozenset("the of and to is in for that by with are be this it as".split())  # noqa: SIM905
_MIN_ENGLISH_SHARE = 0.12


SentenceAsk = str | Callable[[re.Match[str], str], str]
"""A template of the groups of the match and the subject's name, or a function of both; an empty result asks nothing."""


def fill_question(ask: SentenceAsk, found: re.Match[str], name: str) -> str:
    """Return the question about the subject `name` of a match."""
    return ask.format(**found.groupdict() | {"name": name}) if isinstance(ask, str) else ask(found, name)
