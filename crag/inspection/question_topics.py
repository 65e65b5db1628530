"""Question topics: groups similar questions and names each group."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from crag.text import chinese, korean
from crag.text.language import (
    HAN_KANA_RANGES,
    HANGUL_RANGES,
    detect_language,
    extract_key_words,
    extract_terms,
    is_cjk,
)
from crag.text.questions import find_name_terms
from crag.types import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


# Tuned on questions of half of the SQuAD, KorQuAD and DRCD articles; docs/measurements.md reports how well they
# generalise.
_MIN_SIMILARITY = 0.08
_VECTOR_WEIGHT = 0.5
_BASE_COSINE = {"latin": 0.04, "hangul": 0.74, "characters": 0.60}  # cosine of the vectors of unrelated questions
_HANGUL = re.compile(f"[{HANGUL_RANGES}]")
_CHARACTERS = re.compile(f"[{HAN_KANA_RANGES}]")


def group_questions(questions: Sequence[str], vectors: Vectors, idf: Mapping[str, float]) -> list[list[int]]:
    """Group the indexes of questions on the same topic; each group and the list of groups are in order.

    `vectors` come from the built-in embedder, one row of length 1 per question; `idf` maps each term of the
    questions to its inverse document frequency in the library.
    """
    if not questions:
        return []
    by_words = _term_similarity([_key_terms(question) for question in questions], idf)
    by_meaning = vectors @ vectors.T - _base_similarity(questions)
    similarity: Matrix = (by_words + _VECTOR_WEIGHT * by_meaning).round(5)  # processors differ in later digits
    return _cluster_by_average_linkage(similarity)


def _term_similarity(terms: Sequence[Sequence[str]], idf: Mapping[str, float]) -> Matrix:
    """Return the cosine similarity of the questions' terms, weighted by rarity in the library."""
    import numpy as np

    places = {term: place for place, term in enumerate(sorted({term for held in terms for term in held}))}
    rows = np.zeros((len(terms), len(places) or 1), dtype=np.float32)
    for row, held in zip(rows, terms, strict=True):
        for term in held:
            row[places[term]] = idf[term]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    likeness: Matrix = rows @ rows.T
    return likeness


def _base_similarity(questions: Sequence[str]) -> Matrix:
    """Return the similarity expected between vectors of two unrelated questions; it depends on their script."""
    import numpy as np

    alone = np.array([_BASE_COSINE[_script(question)] for question in questions], dtype=np.float32)
    return np.maximum(alone[:, None], alone[None, :])


def _script(text: str) -> str:
    if _HANGUL.search(text):
        return "hangul"
    return "characters" if _CHARACTERS.search(text) else "latin"


def _cluster_by_average_linkage(similarity: Matrix) -> list[list[int]]:
    """Cluster by average linkage: merge the two most similar groups until no two are similar enough.

    Sokal and Michener (1958), "A statistical method for evaluating systematic relationships" (UPGMA).
    """
    import numpy as np

    groups = [[place] for place in range(len(similarity))]
    np.fill_diagonal(similarity, -np.inf)
    while True:
        one, other = divmod(int(similarity.argmax()), len(similarity))
        if similarity[one, other] < _MIN_SIMILARITY:
            return sorted(sorted(held) for held in groups if held)
        sizes = len(groups[one]), len(groups[other])
        merged = np.average(similarity[[one, other]], axis=0, weights=sizes)
        similarity[one] = similarity[:, one] = merged
        similarity[other] = similarity[:, other] = -np.inf
        groups[one] += groups[other]
        groups[other] = []


_MAX_TOPIC_WORDS = 4
_MAX_WORD_LENGTH = 24  # characters: Chinese comes in long runs without spaces
_NAME_WEIGHT = 2.0  # times the weight of another word
_CACHED_QUESTIONS = 2_000
_MIN_WEIGHT_SHARE = 0.6  # of the best word's weight, so that next to a name only names are shown

_COMMON_WORDS = (
    "although though because since unless until while whether however instead get got give gave go make made put take "
    "took allow become come came happen help keep kept mean need say said tell told think use want already also ever "
    "never still yet"
)

WordTerms = tuple[str, ...]


def topic_terms(question: str) -> set[str]:
    """Return every term of a question whose rarity is needed."""
    return {term for _, terms in _key_words(question) for term in terms}


def _key_terms(question: str) -> list[str]:
    return [term for _, terms in _key_words(question) for term in terms]


@lru_cache(maxsize=_CACHED_QUESTIONS)
def _key_words(question: str) -> list[tuple[str, WordTerms]]:
    """Return the topical words of a question with their terms, in order.

    English conjunctions and general verbs tell nothing. In Korean and Chinese these are nouns: the endings of verbs,
    such as 되나요, are shared by questions on any subject.
    """
    words = extract_key_words(question)
    find_nouns = {"ko": korean.find_topics, "zh": chinese.find_topics}.get(detect_language(question))
    if find_nouns is None:
        return [one for one in words if _common_terms().isdisjoint(one[1])] or words
    nouns = [(noun, tuple(extract_terms(noun))) for noun in find_nouns(question)]
    nouns += [(word, terms) for word, terms in words if not is_cjk(word)]
    known = {word: terms for word, terms in nouns if terms}
    return sorted(known.items(), key=lambda one: question.find(one[0])) or words


@cache
def _common_terms() -> frozenset[str]:
    return frozenset(extract_terms(_COMMON_WORDS))


def name_topic(questions: Sequence[str], idf: Mapping[str, float]) -> str:
    """Name the topic of several questions by the words they share, one question by itself.

    Of many shared words, those that tell most are taken: rare in the library, preferably names, in many questions.
    """
    if len(questions) == 1:
        return " ".join(questions[0].split())
    read = [list(_weighted_words(question, idf)) for question in questions]
    weights: defaultdict[WordTerms, float] = defaultdict(float)
    forms: defaultdict[WordTerms, Counter[str]] = defaultdict(Counter)
    for word, found, weight in chain.from_iterable(read):
        weights[found] += weight
        forms[found][word] += 1
    if not weights:
        return name_topic(questions[:1], idf)
    if shared := {found for found in weights if sum(found in (one for _, one, _ in words) for words in read) > 1}:
        weights = defaultdict(float, {found: weights[found] for found in shared})
    least = _MIN_WEIGHT_SHARE * max(weights.values())
    best = sorted((found for found in weights if weights[found] >= least), key=lambda found: -weights[found])
    best = best[:_MAX_TOPIC_WORDS]
    most = max(([found for _, found, _ in words if found in best] for words in read), key=len)
    in_order = dict.fromkeys([*most, *best])  # in the order of the question that contains most of them
    words = [_usual_form(forms[found])[:_MAX_WORD_LENGTH] for found in in_order]
    return " ".join(word for word in words if not (is_cjk(word) and any(one in word for one in words if one != word)))


def _usual_form(forms: Counter[str]) -> str:
    """Return the most frequent spelling, preferring capitals on a tie."""
    return max(forms, key=lambda form: (forms[form], form != form.lower()))


def _weighted_words(question: str, idf: Mapping[str, float]) -> Iterator[tuple[str, WordTerms, float]]:
    """Yield each word once, with its terms and its weight: that of its rarest term.

    A name weighs more, and so does a word that follows one: *NBA finals*, *Turing machine*. Single characters are
    skipped.
    """
    names, after_name, seen = find_name_terms(question), False, set()
    for word, found in _key_words(question):
        named = bool(names.intersection(found))
        if len(word) > 1 and found not in seen:
            seen.add(found)
            yield word, found, max(idf[term] for term in found) * (_NAME_WEIGHT if named or after_name else 1.0)
        after_name = named
