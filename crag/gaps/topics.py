"""Topic of a group of questions, in a few of their own words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from crag.language import key_words, terms
from crag.questions import names_in

_MOST_WORDS = 4
_LONGEST_WORD = 24  # characters: Chinese comes in long runs without spaces
_LONGEST_QUESTION = 60
_NAME = 2.0  # times the weight of another word
_NEAR_THE_BEST = 0.6  # of the best word's weight, so that next to a name only names are shown

Terms = tuple[str, ...]


def spoken_terms(question: str) -> set[str]:
    """Return every term of a question whose rarity is needed, in its words as written and without their particles."""
    return {*terms(question), *(term for _, found in key_words(question) for term in found)}


def topic(questions: Sequence[str], rarity: Mapping[str, float]) -> str:
    """Name the topic by its most telling words: rare in the library, preferably names, in many of the questions."""
    read = [list(_words(question, rarity)) for question in questions]
    weights: defaultdict[Terms, float] = defaultdict(float)
    forms: defaultdict[Terms, Counter[str]] = defaultdict(Counter)
    for word, found, weight in chain.from_iterable(read):
        weights[found] += weight
        forms[found][word] += 1
    if not weights:
        return " ".join(questions[0].split())[:_LONGEST_QUESTION]
    least = _NEAR_THE_BEST * max(weights.values())
    best = sorted((found for found in weights if weights[found] >= least), key=lambda found: -weights[found])
    best = best[:_MOST_WORDS]
    most = max(([found for _, found, _ in words if found in best] for words in read), key=len)
    in_order = dict.fromkeys([*most, *best])  # in the order of the question that contains most of them
    return " ".join(_form(forms[found])[:_LONGEST_WORD] for found in in_order)


def _form(forms: Counter[str]) -> str:
    """Return the most frequent spelling, preferring capitals on a tie."""
    return max(forms, key=lambda form: (forms[form], form != form.lower()))


def _words(question: str, rarity: Mapping[str, float]) -> Iterator[tuple[str, Terms, float]]:
    """Yield each word once, with its terms and its weight: that of its rarest term.

    A name weighs more, and so does a word that follows one: *NBA finals*, *Turing machine*. Single characters are
    skipped.
    """
    names, after_name, seen = names_in(question), False, set()
    for word, found in key_words(question):
        named = bool(names.intersection(found))
        if len(word) > 1 and found not in seen:
            seen.add(found)
            yield word, found, max(rarity[term] for term in found) * (_NAME if named or after_name else 1.0)
        after_name = named
