"""Comparison of statements across texts: terms, names, figures, negations, directions."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

from crag.text.citation_marks import escape_brackets, strip_bold
from crag.text.figures import allowed_figures, normalize_figures
from crag.text.language import (
    HAN_KANA_RANGES,
    HANGUL_RANGES,
    detect_language,
    extract_terms,
    extract_words,
    is_cjk,
    is_table_row,
    split_sentences,
    strip_list_mark,
)
from crag.text.patterns import MONTHS, lazy_regex
from crag.text.questions import find_name_terms
from crag.text.tables import find_column_names, pair_knowledge_rows, table_cells
from crag.types import Knowledge, Language

_MONTHS = {name.lower(): str(number) for number, name in enumerate(MONTHS, start=1)}
_OTHER_MONTHS = "|".join(name for name in MONTHS if name != "May")
_MONTH = lazy_regex(rf"\b({_OTHER_MONTHS}|(?<=\d )May|May(?= \d))\b")


def extract_months(text: str) -> frozenset[str]:
    """Return the numbers of the months that a text names in English; `may` counts only next to a number."""
    return frozenset(_MONTHS[name.lower()] for name in _MONTH.findall(text))


# The first word of a sentence is capitalised anyway; before these words it can only be the subject.
_SENTENCE_SUBJECT = lazy_regex(
    r"([A-Z][\w-]+)(?:[’']s\b| (?=(?:is|was|has|had|will|did|does|became|won|wrote|said|made|built|led|found|born|died"
    r"|[a-z]{2,}ed|[A-Z]\w+)\b))"
)
_OTHER_LATIN_WORDS = frozenset(
    """
    der die das den dem des und ist ein eine einen nicht mit von für auf sich wird wurde sind im zu als auch
    le la les et est une dans pour que qui sur du au el los las del por con para y se en una il che di
    """.split()  # noqa: SIM905 — a list literal of this length would be harder to read
)
_ENGLISH_WORDS = frozenset(
    """
    the of and is in to a was for that with it as are by on from this be an at were has have or its their
    """.split()  # noqa: SIM905 — as above
)
_ENGLISH_NEGATION = lazy_regex(
    r"\b(?:not(?! only| just| merely)|never|no(?! doubt| longer than)|none|neither|nor|without|cannot|nobody|nothing"
    r"|hardly|(?:fails?|failed|refuses?|refused|unable) to)\b|n[’']t\b",
    re.IGNORECASE,
)
_MONTH_TERMS = frozenset(extract_terms(" ".join(MONTHS)))
_KOREAN_NOUN = lazy_regex(
    f"(?<![{HANGUL_RANGES}])[{HANGUL_RANGES}]{{2,}}(?=(?:은|는|이|가|을|를|에서|에게|의|와|과)(?![{HANGUL_RANGES}]))"
)
_NEGATION_SCOPE_TERMS = 2
_CONTEXT_TERMS = 3
_CONTEXT_CHARACTERS = 40  # characters
_KOREAN_NEGATION = lazy_regex(r"지\s?(?:는|도|를)?\s?(?:않|못)|(?:^|\s)(?:안|못)\s|없|아니|아닌|아닙")
_KOREAN_NEGATION_MARK = "지 않다"
_CHINESE_NEGATION = lazy_regex(
    r"(?:不(?![僅仅只但過过同斷断論论管久])|[沒没]有?|[無无](?![論论線线數数])|未(?![來来])|非(?![常洲])|並非|并非)"
    rf"[有能會会可要被曾]?([{HAN_KANA_RANGES}]{{1,4}})"
)
_DIRECTION_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:increas|grew|grow|rose|rise|rising|climb|gain|improv|doubl)\w*|증가|상승|늘|올랐|增|升|涨|漲|提高",
        r"\b(?:decreas|shrank|shrink|fell|fall|drop|declin|lost|lose|worsen|halv)\w*|감소|하락|줄|내렸|減|减|降|跌",
    ),
    (
        r"\b(?:more|higher|above|over|exceed\w*)\b|이상|초과|高於|高于|多於|多于|超過|超过",
        r"\b(?:less|fewer|lower|below|under)\b|이하|미만|低於|低于|少於|少于",
    ),
    (r"\b(?:before|earlier|prior)\b|이전|전에|之前|以前", r"\b(?:after|later|since)\b|이후|후에|之後|之后|以後|以后"),
    (
        r"\b(?:max\w*|largest|biggest|highest|most|longest)\b|최대|최고|가장 큰|가장 높|最大|最高|最多|最長|最长",
        r"\b(?:min\w*|smallest|lowest|least|shortest)\b|최소|최저|가장 작|가장 낮|最小|最低|最少|最短",
    ),
    (
        r"\b(?:allow|permit|accept|include|enabl)\w*|허용|포함|允許|允许|包括|包含",
        r"\b(?:forbid|forbad|prohibit|reject|exclud|disabl|ban)\w*|금지|제외|禁止|不得|排除",
    ),
)
_OPPOSITE_DIRECTIONS = [
    (lazy_regex(one, re.IGNORECASE), lazy_regex(other, re.IGNORECASE)) for one, other in _DIRECTION_PATTERNS
]


def comparable_language(text: str) -> Language | None:
    """Detect the language for comparing words; None for Latin script that is not English."""
    found = detect_language(text)
    if found != "en":
        return found
    words = re.findall(r"[^\W\d_]+", text.lower())
    other, english = (sum(word in known for word in words) for known in (_OTHER_LATIN_WORDS, _ENGLISH_WORDS))
    return None if other > english else "en"


def name_terms(text: str) -> frozenset[str]:
    """Return the terms that name a person, place or thing. Based on capitals, so English only. Months are left out."""
    if comparable_language(text) != "en":
        return frozenset()
    found = {term for term in find_name_terms(text) if not term[0].isdigit()} - _MONTH_TERMS
    opening = _SENTENCE_SUBJECT.match(text.lstrip('*_#>-•"“ '))
    return frozenset(found | set(extract_terms(opening[1]) if opening else ()))


def subject_terms(text: str) -> frozenset[str]:
    """Return the terms that may name something: names and, in Korean, the nouns marked by particles."""
    return name_terms(text) | {term for noun in _KOREAN_NOUN.findall(text) for term in extract_terms(noun)}


def opening_terms(text: str) -> frozenset[str]:
    """Return the first pair of characters of a Chinese sentence, usually its subject. Empty for other languages."""
    first = extract_terms(text.lstrip("-*•# 《“「")[:4])[:1] if comparable_language(text) == "zh" else []
    return frozenset(term for term in first if not term[0].isdigit())


def contradicts(first: str, second: str) -> bool:
    """Return whether one of two similar sentences negates the other or reverses its direction."""
    by_one, by_other = _negation_scopes(first), _negation_scopes(second)
    if _negates_statement(by_one, by_other, second) or _negates_statement(by_other, by_one, first):
        return True
    return any(
        _reverses_direction(first, second, up, down) or _reverses_direction(first, second, down, up)
        for up, down in _OPPOSITE_DIRECTIONS
    )


def _reverses_direction(first: str, second: str, direction: re.Pattern[str], opposite: re.Pattern[str]) -> bool:
    """Return whether a direction in the first sentence is reversed in the second."""
    if not (stated := _terms_near_each(first, direction)):
        return False
    reversed_, kept = _terms_near_each(second, opposite), _terms_near_each(second, direction)
    return any(_count_shared(near, reversed_) > _count_shared(near, kept) for near in stated)


def _count_shared(near: frozenset[str], others: Iterable[frozenset[str]]) -> int:
    """Return the largest number of these terms that any one of the others shares."""
    return max((len(near & other) for other in others), default=0)


def _terms_near_each(text: str, direction: re.Pattern[str]) -> set[frozenset[str]]:
    """Return the terms next to each word of a direction."""
    return {_terms_near(text, match) for match in direction.finditer(text)}


def _terms_near(text: str, match: re.Match[str]) -> frozenset[str]:
    before = extract_terms(text[max(0, match.start() - _CONTEXT_CHARACTERS) : match.start()])
    after = extract_terms(text[match.end() : match.end() + _CONTEXT_CHARACTERS])
    return frozenset((*before[-_CONTEXT_TERMS:], *after[:_CONTEXT_TERMS]))


def _negates_statement(negated: list[set[str]], also_negated: list[set[str]], text: str) -> bool:
    """Return whether something negated here is stated without negation in the other text."""
    stated = {*extract_terms(text), _KOREAN_NEGATION_MARK}
    return any(group & stated and all(group.isdisjoint(other) for other in also_negated) for group in negated)


def _negation_scopes(text: str) -> list[set[str]]:
    """Return the scope of each negation: the next terms; in Korean, where negation follows, a marker that it exists."""
    matches = [*_ENGLISH_NEGATION.finditer(text)]
    nexts = [match.start() for match in matches[1:]] + [len(text)]
    found = [
        set(
            extract_terms(text[match.end() : min(following, match.end() + _CONTEXT_CHARACTERS)])[:_NEGATION_SCOPE_TERMS]
        )
        for match, following in zip(matches, nexts, strict=False)
    ]
    found += [set(extract_terms(match[1])) for match in _CHINESE_NEGATION.finditer(text)]
    return found + ([{_KOREAN_NEGATION_MARK}] if _KOREAN_NEGATION.search(text) else [])


_LABEL = lazy_regex(r"\s*(?:[-*]\s+)?\*\*([^*]+)\*\*:?\s+")  # the heading of a section before its sentence
_LABELLED_CELLS = 2
_MIN_SIMILARITY = 0.9
_MIN_TERM_LENGTH = 5
_PREFIX_LENGTH = 4


@dataclass(frozen=True)
class SourceSentence:
    """One sentence of the knowledge, or row with its columns, and its terms in order; `quote` is as written."""

    text: str
    terms: tuple[str, ...]
    quote: str

    @cached_property
    def term_set(self) -> frozenset[str]:
        """The distinct terms."""
        return frozenset(self.terms)


@dataclass(frozen=True)
class SourceText:
    """One knowledge item, parsed once for all sentences of the answer."""

    n: int
    text: str
    around: frozenset[str]
    sentences: tuple[SourceSentence, ...]

    @cached_property
    def all_terms(self) -> frozenset[str]:
        """All terms of the text, its title and its heading."""
        return self.around.union(*(sentence.term_set for sentence in self.sentences))

    @cached_property
    def quotations(self) -> frozenset[str]:
        """The sentences and list items as an answer quotes them: on one line, without bullet or reference marks."""
        return frozenset(_quoted_form(sentence.quote) for sentence in self.sentences)

    def is_quoted_by(self, statement: str) -> bool:
        """Return whether a sentence of an answer repeats a sentence of the source, perhaps after a heading above it."""
        if _quoted_form(statement) in self.quotations:
            return True
        row = table_cells(statement) if is_table_row(statement) else []
        label, quoted = row if len(row) == _LABELLED_CELLS else ("", statement)
        if lead := _LABEL.match(quoted):
            label, quoted = lead[1], quoted[lead.end() :]
        named = extract_terms(normalize_figures(label))
        return _quoted_form(quoted) in self.quotations and self.all_terms.issuperset(named)

    @cached_property
    def figures(self) -> frozenset[str]:
        """Every number in the text and its title."""
        return allowed_figures(self.text)

    @cached_property
    def language(self) -> Language | None:
        """The language of the text; None where its words cannot be compared."""
        return comparable_language(self.text)

    @cached_property
    def months(self) -> frozenset[str]:
        """The number of every month that the text or its title names."""
        return extract_months(self.text)

    @cached_property
    def by_length(self) -> list[SourceSentence]:
        """The sentences, those with the fewest terms first."""
        return sorted(self.sentences, key=lambda sentence: len(sentence.terms))

    @cached_property
    def sentence_bits(self) -> dict[str, int]:
        """For each term, one bit for each sentence of `by_length` that contains it."""
        return _term_bits(self.by_length)

    @cached_property
    def window_bits(self) -> dict[str, int]:
        """For each term, one bit for each two adjacent sentences that contain it; the title is part of all.

        They count together, because a pronoun refers to the sentence before.
        """
        bits = {term: places | places >> 1 for term, places in _term_bits(self.sentences).items()}
        return bits | dict.fromkeys(self.around, (1 << len(self.sentences)) - 1)


def _term_bits(sentences: Iterable[SourceSentence]) -> dict[str, int]:
    found = defaultdict[str, int](int)
    for place, sentence in enumerate(sentences):
        for term in sentence.term_set:
            found[term] |= 1 << place
    return found


@dataclass(frozen=True)
class AnswerStatement:
    """One sentence of the answer: its content words, each with its terms, and the variants of each term."""

    text: str
    words: tuple[tuple[str, ...], ...]
    variants: dict[str, frozenset[str]]

    @cached_property
    def language(self) -> Language | None:
        """The language of the sentence; None where its words cannot be compared."""
        return comparable_language(self.text)

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each term: 1 per word; text without spaces counts as a word per pair of characters."""
        found = defaultdict[str, float](float)
        for parts in self.words:
            weight = max(1.0, len(parts) / 2) if is_cjk("".join(parts)) else 1.0
            for term in parts:
                found[term] += weight / len(parts)
        return found

    @cached_property
    def _whole_weight(self) -> float:
        return math.fsum(self.weights.values()) or 1.0

    def covered_share(self, terms: frozenset[str]) -> float:
        """Return the share of the sentence that the terms of a text cover, in 0..1."""
        return self.weigh(term for term, variants in self.variants.items() if not variants.isdisjoint(terms))

    def weigh(self, covered: Iterable[str]) -> float:
        """Return the share of the sentence that these of its terms make up, in 0..1."""
        return math.fsum(map(self.weights.__getitem__, covered)) / self._whole_weight

    def best_place(self, bits: Mapping[str, int], besides: frozenset[str] = frozenset()) -> tuple[int, frozenset[str]]:
        """Return the place that covers most of the sentence besides some terms, and the terms that it covers.

        `bits` has for each term one bit for each place that contains it. The first place wins a tie. Places that cover
        the same are compared once, since there may be thousands.
        """
        holders = {term: self._places(term, bits) for term in self.variants if term not in besides}
        weights = {-1: 0.0}  # all places, not yet told apart
        for term, holding in holders.items():
            inside = {places & holding: weight + self.weights[term] for places, weight in weights.items()}
            outside = {places & ~holding: weight for places, weight in weights.items()}
            weights = inside | outside
            weights.pop(0, None)
        best = max(weights, key=lambda places: (weights[places], -(places & -places)))
        place = (best & -best).bit_length() - 1
        return place, frozenset(term for term, holding in holders.items() if holding >> place & 1)

    def _places(self, term: str, bits: Mapping[str, int]) -> int:
        return reduce(or_, (bits.get(variant, 0) for variant in self.variants[term]), 0)


class TermVariants:
    """Variants of a term in the knowledge: the term itself, else its inflections (*invent*, *invention*)."""

    def __init__(self, terms: frozenset[str]) -> None:
        self._terms = terms
        self._beginning: dict[str, list[str]] = {}
        for term in terms:
            self._beginning.setdefault(term[:_PREFIX_LENGTH], []).append(term)

    def variants_of(self, term: str) -> frozenset[str]:
        """Return the term and its variants."""
        from rapidfuzz.distance import JaroWinkler

        if term in self._terms or len(term) < _MIN_TERM_LENGTH or not term.isalpha():
            return frozenset([term])
        like = self._beginning.get(term[:_PREFIX_LENGTH], ())
        return frozenset(other for other in like if JaroWinkler.similarity(term, other) >= _MIN_SIMILARITY) | {term}


def _quoted_form(text: str) -> str:
    return " ".join(escape_brackets(strip_bold(strip_list_mark(text)).replace("\\[", "[")).split()).replace("|", "/")


def parse_source(item: Knowledge) -> SourceText:
    """Parse a knowledge item with its title, its heading and the columns of its tables."""
    columns = find_column_names(split_sentences(item.passage.text))
    over = " ".join([item.passage.title, item.passage.heading, *columns])
    sentences = tuple(
        SourceSentence(labelled, tuple(extract_terms(normalize_figures(labelled))), sentence)
        for sentence, labelled in pair_knowledge_rows(item) or [(item.text, item.text)]
    )
    return SourceText(item.n, f"{over}\n{item.text}", frozenset(extract_terms(over)), sentences)


def parse_statement(text: str, variants: TermVariants) -> AnswerStatement:
    """Parse a sentence of the answer."""
    parts = tuple(own for _, own in extract_words(normalize_figures(strip_bold(text))))
    return AnswerStatement(text, parts, {term: variants.variants_of(term) for own in parts for term in own})
