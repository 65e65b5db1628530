"""Groups of questions on the same topic, by embedding similarity and shared rare words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crag.language import CHARACTERS, HANGUL, terms
from crag.protocols import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Tuned on questions of half of the SQuAD, KorQuAD and DRCD articles; docs/measurements.md reports how well they
# generalise.
_LEAST_LIKENESS = 0.08
_SHARE_OF_MEANING = 0.5
_BY_CHANCE = {"latin": 0.04, "hangul": 0.74, "characters": 0.60}  # cosine of the vectors of unrelated questions
_HANGUL = re.compile(f"[{HANGUL}]")
_CHARACTERS = re.compile(f"[{CHARACTERS}]")


def group(questions: Sequence[str], vectors: Vectors, rarity: Mapping[str, float]) -> list[list[int]]:
    """Group the indexes of questions on the same topic; each group and the list of groups are in order.

    `vectors` come from the built-in embedder, one row of length 1 per question; `rarity` maps each term of the
    questions to its inverse document frequency in the library.
    """
    if not questions:
        return []
    by_words = _likeness_of_words([terms(question) for question in questions], rarity)
    by_meaning = vectors @ vectors.T - _chance(questions)
    return _link(by_words + _SHARE_OF_MEANING * by_meaning)


def _likeness_of_words(found: Sequence[Sequence[str]], rarity: Mapping[str, float]) -> Matrix:
    """Return the cosine similarity of the questions' terms, weighted by rarity in the library."""
    import numpy as np

    places = {term: place for place, term in enumerate(sorted({term for held in found for term in held}))}
    rows = np.zeros((len(found), len(places) or 1), dtype=np.float32)
    for row, held in zip(rows, found, strict=True):
        for term in held:
            row[places[term]] = rarity[term]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    likeness: Matrix = rows @ rows.T
    return likeness


def _chance(questions: Sequence[str]) -> Matrix:
    """Return the similarity expected between vectors of two unrelated questions; it depends on their script."""
    import numpy as np

    alone = np.array([_BY_CHANCE[_script(question)] for question in questions], dtype=np.float32)
    return np.maximum(alone[:, None], alone[None, :])


def _script(text: str) -> str:
    if _HANGUL.search(text):
        return "hangul"
    return "characters" if _CHARACTERS.search(text) else "latin"


def _link(likeness: Matrix) -> list[list[int]]:
    """Cluster by average linkage: merge the two most similar groups until no two are similar enough.

    Sokal and Michener (1958), "A statistical method for evaluating systematic relationships" (UPGMA).
    """
    import numpy as np

    groups = [[place] for place in range(len(likeness))]
    np.fill_diagonal(likeness, -np.inf)
    while True:
        one, other = divmod(int(likeness.argmax()), len(likeness))
        if likeness[one, other] < _LEAST_LIKENESS:
            return sorted(sorted(held) for held in groups if held)
        sizes = len(groups[one]), len(groups[other])
        merged = np.average(likeness[[one, other]], axis=0, weights=sizes)
        likeness[one] = likeness[:, one] = merged
        likeness[other] = likeness[:, other] = -np.inf
        groups[one] += groups[other]
        groups[other] = []
