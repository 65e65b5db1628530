"""Coverage: whether the sentences used for an answer state everything that the question asks about.

A sentence can be near a question and yet speak of another year, another company, or the same word in another sense. An
answer is complete only if what it quotes names every key term of the question and holds a value of the kind that the
question word asks for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from crag.protocols import CoverageCheck, Embedder, Quotation
from crag.text import chinese, english, korean
from crag.text.contrasts import is_contrary
from crag.text.definitions import find_term
from crag.text.language import (
    detect_language,
    extract_terms,
    is_cjk,
    is_heading_above,
    is_labelled_line,
    is_table_row,
    split_sentences,
)
from crag.text.nested_questions import joins_steps
from crag.text.opening_hours import asks_opening, find_days, name_hours_asked_for, names_day_itself, tells_other_opening
from crag.text.patterns import lazy_regex
from crag.text.question_parts import split_question
from crag.text.questions import (
    FRAME_TERMS,
    SINGLE_VALUE_TYPES,
    AnalyzedQuestion,
    TermStatistics,
    analyze_question,
    announces_more,
    matches_answer_type,
    states_directly,
)
from crag.text.relevance_features import TokenizedText
from crag.text.stated_values import StatedValue, agree, find_values, may_hold_value
from crag.text.tables import is_remark, label_table_rows, table_cells, trim_row, write_row
from crag.text.topics import (
    BORROWED_WORDS,
    DEFINITE_NOUN,
    MIN_LIST_ITEMS,
    REFERENCE,
    cjk_reader,
    find_labelled_values,
    find_topics,
    is_about,
    is_line_asked_for,
    names_topic,
)
from crag.types import Passage

_MIN_FRAGMENT_TOPICS = 3
_GENERAL_TERMS = FRAME_TERMS | frozenset(extract_terms("good bad better best right wrong new first next now today"))
_MAX_WINDOWS = 8
_MAX_REFERENCES = 3
_MIN_WEIGHT_SHARE = 0.4
_MIN_HELD_SHARE = 0.6
_CLAUSE_END = lazy_regex(r"[;；]|(?<=[고며]),\s|(?<=[하되이있없주받]고)\s|(?<=[하되이으]며)\s")
_CLAUSE_START = lazy_regex(r"[;；]\s*|\s[—–]\s|,?\s(?=plus\b)|,\s(?:and|but|while|whereas|although)\s", re.IGNORECASE)
_CONDITION = lazy_regex(r"\b(?:if|unless|in case|provided that|in the event)\b[^,;]*", re.IGNORECASE)
_ASKS_CONDITION = lazy_regex(rf"{_CONDITION.pattern}|\b(?:need|requir|must|have to|so that)", re.IGNORECASE)
_OWN_SUBJECT = lazy_regex(
    r"(?:the |an? |any |each |every |all )?([a-z-]+(?: [a-z-]+){0,3}?)"
    r" (?:is|are|was|were|has|have|had|must|may|can|will|costs?|pays?|gets?|takes?)\b",
    re.IGNORECASE,
)
_FIGURE = lazy_regex(r"\d[\d,.]*\d|\d")
_CJK_QUALIFIERS = (  # words of a question of which its answer must hold one of the same kind
    lazy_regex("가장|제일|최[고대다소저장단]|最(?!近|[后後]|初|[终終])"),
    lazy_regex("합계|총[합액계]|총매출|누계|[总總合][计計和]|累[计計]"),
    lazy_regex("평균|平均|均[价價值]"),
)
_ASKS = lazy_regex(
    r"\b(?:who|whom|whose|whats?|when|where|why|how|which|is|are|was|were|do|does|did|can|could|may|must|shall|should|will"
    r"|would|has|have|had)\b",
    re.IGNORECASE,
)
_LATIN = lazy_regex(r"[A-Za-z][A-Za-z\d-]*")
_NUMBERED = lazy_regex(r"\d+(?:학년|반|층|동|호선|호|조|급|과|관|[楼樓层層栋棟号號班室级級])(?![가-힣\d])")  # 3반, 2楼


@dataclass(frozen=True, slots=True)
class Gaps:
    """What quoted sentences lack: names and figures, other key words, a value of the kind asked for."""

    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    value: bool = False

    def __bool__(self) -> bool:
        return self.count > 0

    def is_smaller_than(self, other: Gaps) -> bool:
        """Return whether less is missing than in `other`."""
        return self.count < other.count

    @property
    def count(self) -> int:
        """Number of things that are missing."""
        return len(self.names) + len(self.words) + self.value


class BuiltinCoverageCheck(CoverageCheck):
    """`CoverageCheck` by words: forms, synonyms by word vectors, and the kind of value."""

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    def is_covered(
        self, question: str, used: Sequence[Quotation], *, answer: str = "", passages: Sequence[Passage] = ()
    ) -> bool:
        """Return whether one of the quotations lacks nothing, and whether an `answer` in other words keeps to them."""
        asked = analyze_question(question, self._statistics)
        if not _names_enough(asked):
            return False
        if not self._covers(asked, used) and not all(self._covers_part(asked, part, used) for part in _clauses(asked)):
            return False
        if _has_rival(asked, used, passages):
            return False
        return not answer or self._keeps_to(asked, answer, used)

    def _keeps_to(self, question: AnalyzedQuestion, answer: str, used: Sequence[Quotation]) -> bool:
        """Return whether an answer states the value asked for, and mostly what the quotations hold.

        What it repeats of the question does not count. In Chinese and Korean, only figures and dates are compared.
        """
        quoted_text = " ".join(f"{each.text} {each.context}" for each in used)
        new = set(extract_terms(answer)) - set(extract_terms(question.text))
        if not new or len(new & set(extract_terms(quoted_text))) < _MIN_HELD_SHARE * len(new):
            return False
        values = find_values(question, " ".join(each.text for each in used))
        if any(agree(one, other) for one in values for other in find_values(question, answer)):
            return True
        return not (
            values if question.is_cjk else find_gaps(question, Quotation(answer, quoted_text), self._embedder).value
        )

    def find_unanswered_part(self, question: str, used: Sequence[Quotation]) -> str:
        """Return the part of a question in two parts that the quotations do not answer, while they do the other."""
        asked = analyze_question(question, self._statistics)
        parts = split_question(asked)
        missing = [part for part in parts if not self._covers_part(asked, part, used)]
        if not missing and asked.is_cjk:  # a place alone is not recognized, only beside a time
            missing = [part for part in parts if part.answer_type == "place"]
        is_half = len(missing) == len(parts) - 1 == 1
        return missing[0].text if is_half and self._leaves_open(missing[0], used) else ""

    def _leaves_open(self, question: AnalyzedQuestion, used: Sequence[Quotation]) -> bool:
        """Return whether certainly no quotation answers: none on the topic holds anything of the kind asked for."""
        return not any(
            may_hold_value(question, each.text)
            for each in used
            if not is_off_topic(question, find_gaps(question, each, self._embedder))
        )

    def _covers(self, question: AnalyzedQuestion, used: Sequence[Quotation]) -> bool:
        return any(
            _is_whole(each)
            and not find_gaps(question, each, self._embedder)
            and any(self._states(question, sentence) for sentence in _separate_statements(question, each))
            for each in (_trim_rows(question, quoted) for quoted in used)
        )

    def _states(self, question: AnalyzedQuestion, sentence: Quotation) -> bool:
        """Return whether one sentence states everything in the form asked for, and nothing to the contrary."""
        if is_contrary(question.text, sentence.text, sentence.context) or find_gaps(question, sentence, self._embedder):
            return False
        if self._tells_value_of_another(question, sentence):
            return False
        if question.is_cjk and not joins_steps(question.text, sentence.text):
            return False  # the sentence before may describe another thing
        if not names_topic(question, sentence):
            return False
        return question.is_cjk or english.has_form(question, sentence, self._embedder)

    def _tells_value_of_another(self, question: AnalyzedQuestion, sentence: Quotation) -> bool:
        """Return whether the value of a sentence belongs to something else: "Bikes cost £5; cars park behind"."""
        is_row = is_table_row(sentence.text)
        parts = table_cells(sentence.text) if is_row else _CLAUSE_END.split(sentence.text)
        clauses = [part for part in parts if part.strip()]
        for topic in find_topics(question) if len(clauses) > 1 else ():
            about = [clause for clause in clauses if is_about(question, topic, clause)]
            if is_row and not all(map(is_remark, about)):
                continue
            if about and clauses[0] not in about:  # whose subject may be that of the clauses after it, too
                return not any(self._holds_value(question, clause, sentence) for clause in about)
        return not is_row and question.answer_type in SINGLE_VALUE_TYPES and self._has_own_subject(question, sentence)

    def _has_own_subject(self, question: AnalyzedQuestion, sentence: Quotation) -> bool:
        """Return whether the value stands in a condition or in a later clause about something else.

        "We pay the salary, plus £80 for travel", "Fees are paid by us; books are paid up to £60".
        """
        said = _CONDITION.sub(" ", sentence.text) if _is_unconditional(question) else sentence.text
        first, *rest = _CLAUSE_START.split(said)
        if self._holds_value(question, first, sentence):
            return False
        topics = [topic for topic in find_topics(question) if not FRAME_TERMS.issuperset(topic[1])]
        return all(
            _names_subject(clause) and not any(is_about(question, topic, clause) for topic in topics)
            for clause in rest
            if self._holds_value(question, clause, sentence)
        )

    def _holds_value(self, question: AnalyzedQuestion, clause: str, sentence: Quotation) -> bool:
        around = f"{sentence.context} {sentence.text}"
        return not find_gaps(question, Quotation(clause, around), self._embedder).value

    def _covers_part(self, question: AnalyzedQuestion, part: AnalyzedQuestion, used: Sequence[Quotation]) -> bool:
        """Return whether a quotation covers a part; it must also hold the names in the rest of the question."""
        return self._covers(part, [each for each in used if not find_gaps(question, each, self._embedder).names])


def _names_enough(question: AnalyzedQuestion) -> bool:
    """Return whether a question names enough for a sentence to be certain: not "Is it good?", "opening hours", "1".

    English that asks nothing must name three things, or one by its name.
    """
    if not re.search(r"[^\W\d_]", question.text):
        return False
    if question.names or _FIGURE.search(question.text) or find_term(question.text):
        return True
    topics = find_topics(question)
    if question.is_cjk:
        asks_value = question.answer_type in SINGLE_VALUE_TYPES and question.order
        return bool(topics or asks_value or _LATIN.search(question.text))
    topics = [(word, parts) for word, parts in topics if not _GENERAL_TERMS.issuperset(parts)]
    return len(topics) >= (1 if _ASKS.search(question.text) else _MIN_FRAGMENT_TOPICS)


def _is_unconditional(question: AnalyzedQuestion) -> bool:
    """Return whether a question asks for a figure or person that holds always, not for the condition of something."""
    return question.answer_type in {"number", "person"} and not _ASKS_CONDITION.search(question.text)


def _names_subject(clause: str) -> bool:
    """Return whether a clause names what it states something of: "books are paid up to £60", "plus £80 for travel"."""
    subject = _OWN_SUBJECT.match(clause)
    return clause.startswith("plus") or bool(subject and set(extract_terms(subject[1])) - FRAME_TERMS)


def _has_rival(question: AnalyzedQuestion, used: Sequence[Quotation], passages: Sequence[Passage]) -> bool:
    """Return whether a sentence that is not quoted names as much of the question and states a different value.

    A sentence that states a value directly has a rival only in another that does, or one on the day asked about.
    Of 62 such answers to Natural Questions, SQuAD, KorQuAD and DRCD, 32 were right; of the others, nine in ten.
    """
    sentences = [sentence for quoted in used for sentence in _separate_sentences(quoted)]
    if _leaves_out_day(question.text, sentences, passages) or _leaves_out_line(question, sentences, passages):
        return True
    if question.answer_type not in SINGLE_VALUE_TYPES or not passages:
        return False
    values = frozenset[StatedValue]().union(*(find_values(question, sentence.text) for sentence in sentences))
    if not values:
        return False
    share = max(question.covered_share(extract_terms(f"{each.text} {each.context}")) for each in sentences)
    is_direct = any(states_directly(question, sentence.text) for sentence in sentences)
    names_day = any(names_day_itself(question.text, sentence.text) for sentence in sentences)
    quoted_terms = {tuple(extract_terms(sentence.text)) for sentence in sentences}
    for passage in passages:
        for sentence in split_sentences(passage.text):
            terms = extract_terms(sentence)
            if tuple(terms) in quoted_terms:
                continue
            is_exact = not names_day and names_day_itself(question.text, sentence)
            if is_direct and not (is_exact or states_directly(question, sentence)):
                continue
            others = find_values(question, sentence)
            is_near = others and (is_exact or question.covered_share([*terms, *extract_terms(passage.title)]) >= share)
            if is_near and not any(agree(*pair) for pair in product(values, others)):
                return True
    return False


def _leaves_out_day(question: str, used: Sequence[Quotation], passages: Sequence[Passage]) -> bool:
    """Return whether another sentence on opening names the very day asked about: "We are closed on Mondays"."""
    if not (find_days(question) and asks_opening(question)) or any(names_day_itself(question, s.text) for s in used):
        return False
    sentences = (sentence for passage in passages for sentence in split_sentences(passage.text))
    return any(names_day_itself(question, sentence) and asks_opening(sentence) for sentence in sentences)


def _leaves_out_line(question: AnalyzedQuestion, used: Sequence[Quotation], passages: Sequence[Passage]) -> bool:
    """Return whether a line that is not quoted has the very noun asked for as its label."""
    if any(is_line_asked_for(question, sentence.text) for sentence in used):
        return False
    return any(is_line_asked_for(question, line) for passage in passages for line in split_sentences(passage.text))


def _trim_rows(question: AnalyzedQuestion, quoted: Quotation) -> Quotation:
    """Return a quotation whose table rows have only the cells that are shown as the answer."""
    lines = quoted.text.split("\n")
    cells = (trim_row(line, question.text) if is_table_row(line) else () for line in lines)
    shown = (write_row(kept) if kept else line for kept, line in zip(cells, lines, strict=True))
    return replace(quoted, text="\n".join(shown))


def _is_whole(quoted: Quotation) -> bool:
    """Return whether a quotation neither breaks off a list nor only announces what follows it."""
    return not (announces_more(quoted.text) or (quoted.is_cut and quoted.items >= MIN_LIST_ITEMS))


def _separate_sentences(quoted: Quotation) -> Iterable[Quotation]:
    """Yield each sentence with what it may refer to; a list is one statement."""
    if quoted.items >= MIN_LIST_ITEMS:
        yield quoted
        return
    sentences = quoted.text.split("\n")
    for at, sentence in enumerate(sentences):
        yield Quotation(sentence, find_context(sentences, at, quoted.context))


def _separate_statements(question: AnalyzedQuestion, quoted: Quotation) -> Iterable[Quotation]:
    """Yield what may answer alone: each sentence, or a list; where one value is asked for, each of its items."""
    is_single = question.answer_type in SINGLE_VALUE_TYPES and len(split_question(question)) < 2
    return _separate_sentences(replace(quoted, items=0) if is_single else quoted)


def find_context(sentences: Sequence[str], at: int, around: str) -> str:
    """Return what the sentence at an index may refer to: title and headings, and the sentences before "It was …".

    The sentence before may itself refer to an earlier one: "Odby is a town. It has a port. It is old."
    """
    above = reversed(range(at))
    heading = next((sentences[line] for line in above if is_heading_above(sentences[line], sentences[line + 1])), "")
    first = at
    while first and at - first < _MAX_REFERENCES and _refers_back(sentences[first], sentences[first - 1]):
        first -= 1
        if is_cjk(sentences[at]):  # any sentence may leave out its subject
            break
    return " ".join([around, heading, *sentences[first:at]])


def _refers_back(sentence: str, before: str) -> bool:
    """Return whether a sentence refers to what the one before it names: "It …", "The company …".

    A row of a table and a labelled line do not.
    """
    if is_table_row(sentence) or is_labelled_line(sentence):
        return False
    if REFERENCE.match(sentence) or is_cjk(sentence):
        return True
    noun = DEFINITE_NOUN.match(sentence)
    return bool(noun) and not set(extract_terms(before)).isdisjoint(extract_terms(noun[1]) if noun else ())


def is_complete(question: AnalyzedQuestion, passage: TokenizedText, embedder: Embedder | None) -> bool:
    """Return whether neighbouring sentences of a passage state everything that the question asks for.

    Without an embedder a single sentence must do so, in the question's own words. A question without words, such as
    "???", asks for nothing that could be stated.
    """
    if not question.order:
        return False
    sentences = label_table_rows(passage.sentences)
    return all(_has_complete_window(part, sentences, passage.title, embedder) for part in _clauses(question))


def _clauses(question: AnalyzedQuestion) -> list[AnalyzedQuestion]:
    """Return the parts of an English question, which may be answered in different places."""
    return [question] if question.is_cjk else split_question(question)


def _has_complete_window(
    question: AnalyzedQuestion, sentences: Sequence[str], title: str, embedder: Embedder | None
) -> bool:
    width = 2 if embedder else 1
    if find_gaps(question, Quotation("\n".join(sentences), title), embedder):
        return False
    windows = (
        Quotation("\n".join(sentences[at : at + width]), find_context(sentences, at, title))
        for at in range(len(sentences))
    )
    shares = {window: question.covered_share(extract_terms(f"{window.text} {window.context}")) for window in windows}
    best = sorted(shares, key=lambda window: -shares[window])[:_MAX_WINDOWS]
    return any(not find_gaps(question, window, embedder) for window in best)


def find_gaps(question: AnalyzedQuestion, quoted: Quotation, embedder: Embedder | None) -> Gaps:
    """Return what a quotation lacks for a complete answer; without an embedder no similar word will do.

    Raises `ModelFault` if embedding fails.
    """
    quoted = replace(quoted, text=name_hours_asked_for(question.text, quoted.text))
    if question.is_cjk:
        gaps = _find_cjk_gaps(question, quoted)
    else:
        lacks_value = not (_holds_value(question, quoted.text) or find_labelled_values(question, [quoted.text]))
        lacks_value |= english.lacks_reason(question, quoted.text)
        names, words = english.find_missing_words(question, quoted.text, quoted.context, embedder)
        gaps = Gaps(names, words, lacks_value)
    return replace(gaps, value=True) if tells_other_opening(question.text, quoted.text) else gaps


def _holds_value(question: AnalyzedQuestion, text: str) -> bool:
    return all(matches_answer_type(part, text) for part in split_question(question))


def _find_cjk_gaps(question: AnalyzedQuestion, quoted: Quotation) -> Gaps:
    text, around = quoted.text, quoted.context
    whole = f"{text} {around}"
    asked = BORROWED_WORDS.sub(r"\2 \1", question.text)
    if cjk_reader(asked) is korean:
        words = korean.find_missing_words(asked, text, around)
        states = _holds_value(question, text) and (question.answer_type != "person" or may_hold_value(question, text))
        states = states and korean.states_value(asked, text) and not korean.lacks_reason(asked, text)
    else:
        words = chinese.find_missing_words(asked, whole) + chinese.find_missing_letters(asked, whole)
        parts = (asked, *(part.text for part in split_question(replace(question, text=asked))))
        states = chinese.holds_focus(asked, text) and all(chinese.states_value(part, text) for part in parts)
    qualifiers = ((kind.search(asked), kind.search(whole)) for kind in _CJK_QUALIFIERS)
    words += tuple(found[0] for found, held in qualifiers if found and not held)
    return Gaps(_find_missing_figures(asked, whole), words, not (states or find_labelled_values(question, [text])))


def _find_missing_figures(question: str, text: str) -> tuple[str, ...]:
    """Return the numbers, codes and Latin names of a Korean or Chinese question that a text does not hold."""
    low = text.casefold()
    figures = (
        found
        for found in _FIGURE.findall(_LATIN.sub(" ", question))
        if not re.search(rf"(?<![\d.,]){re.escape(found)}(?!\d|[.,]\d)", low)
    )
    numbered = (pair for pair in _NUMBERED.findall(question) if pair not in text)
    return (*figures, *numbered, *(word for word in _LATIN.findall(question) if word.casefold() not in low))


def is_off_topic(question: AnalyzedQuestion, gaps: Gaps) -> bool:
    """Return whether a quotation is no part of an answer: all it shares with the question is one ordinary word.

    `gaps` is what the quotation lacks. Holding a name that the question asks about is enough if no other name is
    missing. In Korean, fewer than two of five topics are too few; always False for Chinese, where words are hard to
    tell apart.
    """
    missing = {*gaps.names, *gaps.words}
    if question.is_cjk:
        topics = [word for word, _ in find_topics(question)] if detect_language(question.text) == "ko" else []
        return sum(word not in missing for word in topics) < _MIN_WEIGHT_SHARE * len(topics)
    asked = {word: parts for word, parts in question.words if not FRAME_TERMS.issuperset(parts)}
    held = {word: parts for word, parts in asked.items() if word not in missing}
    if held.keys() == asked.keys():
        return False
    if len(held) < 2:
        is_named = any(question.names.intersection(parts) for parts in held.values())
        return not is_named or bool(gaps.names)
    return _sum_weights(question, held.values()) < _MIN_WEIGHT_SHARE * _sum_weights(question, asked.values())


def _sum_weights(question: AnalyzedQuestion, words: Iterable[Sequence[str]]) -> float:
    return math.fsum(question.weights[part] for parts in words for part in parts)
