"""Generated documents of invented words, identical in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator

WORDS_IN_PASSAGE = 56  # invented words have many tokens: about 200 here
PASSAGES_IN_DOCUMENT = 50


def documents(passages: int, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yield (name, Markdown) of documents with about `passages` passages in all; word frequencies follow Zipf's law."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("aeioubcdfglmnprst", k=chance.randint(3, 9))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    for number in range(passages // PASSAGES_IN_DOCUMENT):
        sections = (_section(chance, words, weights) for _ in range(PASSAGES_IN_DOCUMENT))
        yield f"document {number}.md", "\n\n".join(sections).encode()


def _section(chance: random.Random, words: list[str], weights: list[float]) -> str:
    drawn = chance.choices(words, weights, k=WORDS_IN_PASSAGE)
    sentences = (" ".join(drawn[start : start + 14]).capitalize() + "." for start in range(0, WORDS_IN_PASSAGE, 14))
    return f"# {drawn[0].capitalize()}\n\n{' '.join(sentences)}"
