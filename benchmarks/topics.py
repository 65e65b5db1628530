"""Generated texts on topics, identical in every run: real words with real frequencies, so vectors cluster by topic.

The words are the vocabulary of the built-in vectors, by frequency.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from crag.models.token_counts import find_llama_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


PASSAGES_ON_TOPIC = 50
_TOPICS = 4_000
_WORDS_OF_TOPIC = 40
_NAMES_OF_TOPIC = 12
_WORDS_IN_SENTENCE = 13
_SENTENCES = 8
# Shares of general words, words of the topic, and names that no other topic has.
_SHARES = (0.55, 0.40, 0.05)
_SHORT = re.compile("an?|and|are|as|at|be|by|for|he|in|is|it|no|not|of|on|or|the|to|was|we|you")
_QUESTIONS = ("What is said about {}?", "How does {} relate to {}?", "Who or what was {}, and why {}?")


@dataclass(frozen=True, slots=True)
class Topic:
    """Words of a topic, most frequent first, and its names."""

    words: NDArray[Any]
    names: NDArray[Any]


def make_passages(source: int, passages: int) -> list[str]:
    """Return the passages of one source; each run of `PASSAGES_ON_TOPIC` passages has one topic."""
    chance = np.random.default_rng((1, source))
    texts: list[str] = []
    while len(texts) < passages:
        texts += _on_topic(chance, _topic(int(chance.integers(_TOPICS))), min(PASSAGES_ON_TOPIC, passages - len(texts)))
    return texts


def make_queries(texts: Sequence[str], number: int) -> list[str]:
    """Return queries from passages: in turn a sentence, some key words, and a question."""
    chance = np.random.default_rng(2)
    queries = []
    for index in range(number):
        sentences = texts[int(chance.integers(len(texts)))].split(". ")
        words = sentences[int(chance.integers(len(sentences)))].rstrip(".").split()
        telling = sorted(words, key=len)[-6:]
        form = _QUESTIONS[int(chance.integers(len(_QUESTIONS)))]
        asked = form.format(" ".join(telling[:2]), " ".join(telling[-2:]))
        queries.append((" ".join(words), " ".join(telling), asked)[index % 3])
    return queries


def _on_topic(chance: np.random.Generator, topic: Topic, passages: int) -> list[str]:
    size = (passages, _SENTENCES * _WORDS_IN_SENTENCE)
    kinds = chance.choice(3, size=size, p=_SHARES)
    drawn = np.choose(kinds, [_draw(chance, words, size) for words in (_vocabulary(), topic.words, topic.names)])
    return [" ".join(map(_sentence, row.reshape(_SENTENCES, -1))) for row in drawn]


def _sentence(words: NDArray[Any]) -> str:
    return f"{' '.join(words).capitalize()}."


def _draw(chance: np.random.Generator, words: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """Draw words by the Zipf–Mandelbrot law."""
    weights = np.cumsum(1 / (np.arange(len(words)) + 2.7))
    return words[np.searchsorted(weights, chance.random(size) * weights[-1])]


@cache
def _topic(number: int) -> Topic:
    chance = np.random.default_rng((3, number))
    rare = _vocabulary()[200:]
    names = ["".join(chance.choice(rare, 2)) for _ in range(_NAMES_OF_TOPIC)]
    return Topic(chance.choice(rare, _WORDS_OF_TOPIC, replace=False), np.array(names, dtype=object))


@cache
def _vocabulary() -> NDArray[Any]:
    """Return whole words by frequency; token ids are in that order, as the tokenizer learned frequent words first."""
    from tokenizers import Tokenizer

    known = Tokenizer.from_file(str(find_llama_tokenizer())).get_vocab()
    words = [piece[1:] for piece in sorted(known, key=known.__getitem__) if piece[0] == "▁"]
    return np.array([word for word in words if _SHORT.fullmatch(word) or re.fullmatch("[a-z]{4,}", word)], dtype=object)
