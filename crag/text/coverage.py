"""Coverage: whether the sentences used for an answer state everything that the question asks about.

A sentence can be near a question and yet speak of another year, another company, or the same word in another sense. An
answer is complete only if what it quotes names every key term of the question and holds a value of the kind that the
question word asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crag.protocols import CoverageCheck, Embedder, Quotation
from crag.text.language import extract_key_words, extract_terms, extract_words, is_cjk, split_sentences
from crag.text.questions import (
    AnalyzedQuestion,
    TermStatistics,
    analyze_question,
    announces_more,
    find_candidates,
    matches_answer_type,
)
from crag.text.relevance_features import TokenizedText
from crag.text.tables import label_table_rows

_SIMILAR = 0.45
"""Cosine from which one word stands for another: *founded*, *established* 0.60; *password*, *encryption* 0.35."""
_MIN_ROOT, _MAX_ENDING = 4, 4  # letters: *invent*, *invention*
_MIN_TYPO_LENGTH = 6
_MAX_WINDOWS = 8
_CJK_SHARE = 0.5  # of the character pairs of a word
_FRAME_TERMS = frozenset(
    extract_terms(
        "kind type sort way step example name term word number amount total year date day month week time period hour"
        " people person someone anybody company firm organization thing difference main different mean meaning"
        " document handbook text article paper file page according get got go went come came take took make made bring"
        " brought put know want need find back look say tell explain describe list show allow exactly currently today"
        " long many much often possible"
    )
)
"""Words that frame a question and need not occur in its answer."""
_OTHER_VERBS = frozenset({"found", "saw", "felt", "wound", "bore"})
"""Stems that are also the past of another verb: a company that was *founded* is not what people *found*."""
_FRAME_CJK = re.compile(
    r"叫|名字|多[长長久大高远遠少]|[时時][间間]|多少|[钱錢]|包括|需要|可以|[能要不年里裡从從到去坐]"
    r"|며칠.*|얼마.*|언제.*|이름|하루|년|어떻게|없|.*(?:나요|니까|인가요|는가|해야|하면|되면|[가-힣]면|려고|싶은데)$"
)
_PAST_SYLLABLES = "".join(chr(code) for code in range(ord("가") + 20, ord("힣") + 1, 28) if chr(code) not in "있겠")
_KOREAN_PAST_VERB = re.compile(f"(?<=[가-힣]{{2}})[{_PAST_SYLLABLES}](?:나요|습니까|는가)$")  # 태어|났나요
_SHORT_KOREAN_NOUN = re.compile("(?<=^[가-힣])[은는이가을를의에도]$")  # with its particle
_CLASS_NOUN = re.compile(
    r"\b(?:which|what)\s+(?!(?:is|are|was|were|do|does|did|can|will|has|have)\b)(\w+)", re.IGNORECASE
)
_DEFINITION = re.compile(
    r"\s*what(?: is|'s|’s| are)(?: an?)? (?!the\b|it\b)((?:[\w’'-]+\s?){1,3})\??\s*", re.IGNORECASE
)
_DEFINING_VERB = re.compile(
    r"(?:\W|an?\b|the\b)*(?:[\w’'-]+\W{1,3}){1,3}?"
    r"(?:is|are|was|were|means?|refers?|denotes?|describes?|assumes?|allows?|consists?|uses?)\b",
    re.IGNORECASE,
)
_MONEY_QUESTION = re.compile(
    r"\bhow much (?:is|are|was|were|do|does|did|will|would|can|must)\b(?!.*\b(?:weigh|time|longer|space|memory)\b)"
    r"|\b(?:price|cost|costs|fee|rent|salary|wage|revenue|budget|income|profit|deposit)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|first|second|third|fourth|fifth)\b"
)
_AMOUNT = re.compile(  # no share, duration or date
    r"[$€£¥₩]\s?\d|\d[\d.,]*(?!\d|[.,]\d|\s?(?:per cent|percent|%|days?|weeks?|months?|years?|hours?|minutes?|January"
    r"|February|March|April|May|June|July|August|September|October|November|December))|\bfree\b"
    r"|\b\w+ (?:dollars|euros|pounds|kroner)\b",
    re.IGNORECASE,
)
# Two capitalised words or a title with one; a single one only where it is neither a role nor part of an address.
_PERSON = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof)\.? )?"
    r"[A-Z][\w’'-]+(?:(?: [A-Z]\.)* (?:(?:van|von|de|da|del|bin|al|of|the) )?[A-Z][\w’'-]+)+"
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z][\w’'-]+"
    r"|(?<![.!?:]\s)(?<!^)(?<!\b[Tt]he )(?<!\b[Aa]n )(?<!\b[Aa] )(?<!, )\b[A-Z][\w’'-]+"
)
_REFERENCE = re.compile(
    r"\W*(?:(?:in|at|by|from|for|of|on|after|before|since|with|to|during|under)\s)?"
    r"(?:it|its|he|his|she|her|they|their|this|these|that|those|there|such|both|the|then|here)\b",
    re.IGNORECASE,
)
_COUNTS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = re.compile(rf"\b({'|'.join(_COUNTS[2:])})\s+(?:[\w-]+\s+){{0,3}}?\w+s\b", re.IGNORECASE)
_COUNTED_NOUN = re.compile(r"\bhow many (?:more |other |different )?([\w-]+)", re.IGNORECASE)
_MAX_WORDS_TO_NOUN = 8
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_IDENTIFIER = re.compile(r"\b[A-Za-z]+-?\d[\w-]*")


@dataclass(frozen=True, slots=True)
class Gaps:
    """What quoted sentences lack: names and figures, other key words, a value of the kind asked for."""

    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    value: bool = False

    def __bool__(self) -> bool:
        return bool(self.names or self.words or self.value)

    def is_smaller_than(self, other: Gaps) -> bool:
        """Return whether less is missing than in `other`."""
        return self._count() < other._count()

    def _count(self) -> int:
        return len(self.names) + len(self.words) + self.value


class BuiltinCoverageCheck(CoverageCheck):
    """`CoverageCheck` by words: forms, synonyms by word vectors, and the kind of value."""

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    def is_covered(self, question: str, used: Sequence[Quotation], *, names_only: bool = False) -> bool:
        """Return whether one of the quotations lacks nothing, or, with `names_only`, all together lack no name."""
        asked = analyze_question(question, self._statistics)
        if not names_only:
            return any(_is_whole(question, each) and not find_gaps(asked, each, self._embedder) for each in used)
        everything = " ".join(f"{each.text} {each.context}" for each in used)
        return not find_gaps(asked, Quotation(everything, ""), self._embedder).names


def _is_whole(question: str, quoted: Quotation) -> bool:
    """Return whether a quoted list has as many items as the question asks for, or else does not break off."""
    if quoted.items < 2:
        return not announces_more(quoted.text)
    wanted = _COUNT.search(question)
    return quoted.items >= _COUNTS.index(wanted[1].lower()) if wanted else not quoted.is_cut


def refers_back(sentence: str) -> bool:
    """Return whether a sentence may speak of what the one before it names: "It was founded in 1998."."""
    return bool(_REFERENCE.match(sentence)) or is_cjk(sentence)


def is_complete(question: AnalyzedQuestion, passage: TokenizedText, embedder: Embedder) -> bool:
    """Return whether neighbouring sentences of a passage state everything that the question asks for."""
    sentences = label_table_rows(passage.sentences)
    if find_gaps(question, Quotation("\n".join(sentences), passage.title), embedder):
        return False
    windows = (Quotation("\n".join(sentences[at : at + 2]), passage.title) for at in range(len(sentences)))
    shares = {window: question.covered_share(extract_terms(window.text)) for window in windows}
    best = sorted(shares, key=lambda window: -shares[window])[:_MAX_WINDOWS]
    return any(not find_gaps(question, window, embedder) for window in best)


def find_gaps(question: AnalyzedQuestion, quoted: Quotation, embedder: Embedder) -> Gaps:
    """Return what a quotation lacks for a complete answer. Raises `ModelFault` if embedding fails."""
    lacks_value = not _states_value(question, quoted.text)
    if question.is_cjk:
        missing = _missing_cjk_words(question, f"{quoted.text} {quoted.context}")
        figures = tuple(word for word in missing if word[0].isdigit())
        return Gaps(figures, tuple(word for word in missing if word not in figures), lacks_value)
    names, words = _missing_words(question, quoted.text, quoted.context, embedder)
    return Gaps(names, words, lacks_value)


def _states_value(question: AnalyzedQuestion, quoted: str) -> bool:
    """Return whether the sentences hold a value of the expected kind, or the definition that is asked for."""
    if defined := _DEFINITION.fullmatch(question.text):
        return _defines(defined[1], quoted)
    if question.is_cjk:
        return matches_answer_type(question, quoted)
    if _MONEY_QUESTION.search(question.text):
        return bool(_AMOUNT.search(quoted))
    if question.answer_type == "time":
        return bool(find_candidates(question, quoted) or _FIGURE.search(quoted))
    if question.answer_type == "person":
        named = (frozenset(extract_terms(name)) for name in _PERSON.findall(quoted))
        return any(name - question.weights.keys() for name in named)
    if counted := _COUNTED_NOUN.search(question.text):
        return _counts(counted[1], quoted)
    return matches_answer_type(question, quoted)


def _counts(noun: str, quoted: str) -> bool:
    """Return whether a number belongs to the noun: "58 skilled sailors", "Sailors: 58". Without the noun, any does."""
    stem = "".join(extract_terms(noun))
    words = re.findall(r"\w+(?:[.,]\w+)*", quoted)
    places = [at for at, word in enumerate(words) if any(_shares_root(stem, term) for term in extract_terms(word))]
    numbers = [at for at, word in enumerate(words) if _FIGURE.match(word)]
    if not places or stem in _FRAME_TERMS:
        return bool(numbers)
    return any(
        noun_at - at in range(-1, _MAX_WORDS_TO_NOUN + 1)
        or (noun_at == at - 2 and words[at - 1] in ("is", "are", "was", "were", "of", "to"))
        for at in numbers
        for noun_at in places
    )


def _defines(term: str, quoted: str) -> bool:
    """Return whether a sentence begins with the term and goes on about it: "A trace is …", "Traces are …"."""
    terms = set(extract_terms(term))
    for sentence in split_sentences(quoted):
        words = [parts for _, parts in extract_words(sentence)]
        if {part for parts in words[: len(terms)] for part in parts} == terms and _DEFINING_VERB.match(sentence):
            return True
    return False


def _missing_words(
    question: AnalyzedQuestion, quoted: str, context: str, embedder: Embedder
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the missing names and figures, and the other missing key words."""
    text = f"{quoted} {context}"
    held = set(extract_terms(text))
    if ambiguous := {term for term in question.order if term in _OTHER_VERBS and term not in question.text.split()}:
        regular = " ".join(word for word, _ in extract_words(text) if word.lower() not in ambiguous)
        held = set(extract_terms(regular))
    words = list({word.lower() for word, _ in extract_words(text) if word.isalpha()})
    missing, unlike = [], []
    classes = {term for noun in _CLASS_NOUN.findall(question.text) for term in extract_terms(noun)}
    for word, parts in dict(question.words).items():
        if held.issuperset(parts):
            continue
        if word[0].isdigit():
            missing.append(word)
        elif question.names.intersection(parts):
            if not any(_shares_root(part, term) for part in parts for term in held):
                missing.append(word)
        elif not (_FRAME_TERMS | classes).issuperset(parts) and not any(
            _shares_root(part, term) or _is_typo(part, term) for part in parts for term in held
        ):
            unlike.append(word)
    missing += _missing_years(quoted, question.text)
    missing += [name for name in _IDENTIFIER.findall(question.text) if name.casefold() not in text.casefold()]
    return tuple(dict.fromkeys(missing)), tuple(_without_synonyms(unlike, words, embedder))


def _without_synonyms(words: Sequence[str], held: Sequence[str], embedder: Embedder) -> list[str]:
    """Return the words to which none of the words `held` is similar in meaning."""
    if not words or not held:
        return list(words)
    similarities = embedder.embed_documents([word.lower() for word in words]) @ embedder.embed_documents(held).T
    return [word for word, row in zip(words, similarities, strict=True) if row.max() < _SIMILAR]


def _missing_years(quoted: str, question: str) -> list[str]:
    """Return the years asked for, if the sentences name only other ones."""
    asked, said = set(_YEAR.findall(question)), set(_YEAR.findall(quoted))
    return sorted(asked - said) if said and not asked & said else []


def _shares_root(one: str, other: str) -> bool:
    """Return whether two terms differ only in their endings."""
    shared = min(len(one), len(other)) - 1
    return (
        shared >= _MIN_ROOT - 1
        and abs(len(one) - len(other)) <= _MAX_ENDING
        and one[: max(_MIN_ROOT, shared)] == other[: max(_MIN_ROOT, shared)]
    )


def _is_typo(one: str, other: str) -> bool:
    """Return whether two long terms differ in a single letter."""
    from rapidfuzz.distance import OSA

    return min(len(one), len(other)) >= _MIN_TYPO_LENGTH and OSA.distance(one, other, score_cutoff=1) <= 1


def _missing_cjk_words(question: AnalyzedQuestion, text: str) -> tuple[str, ...]:
    held = set(extract_terms(text))
    missing = []
    for run, _ in extract_key_words(question.text):
        for word in _FRAME_CJK.split(_SHORT_KOREAN_NOUN.sub("", _KOREAN_PAST_VERB.sub("", run))):
            parts = extract_terms(word) if word else []
            if parts and sum(part in held or part in text for part in parts) < _CJK_SHARE * len(parts):
                missing.append(word)
    return tuple(missing)
