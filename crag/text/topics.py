"""Topics of a question: what it names, and whether a sentence, clause, row or labelled line speaks of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType

from crag.protocols import Quotation
from crag.text import chinese, korean
from crag.text.language import (
    detect_language,
    extract_key_words,
    extract_terms,
    is_labelled_line,
    is_table_row,
    read_label,
    strip_list_mark,
)
from crag.text.patterns import lazy_regex
from crag.text.questions import FRAME_TERMS, SINGLE_VALUE_TYPES, AnalyzedQuestion
from crag.text.spelling import shares_root
from crag.text.tables import is_remark, table_cells

MIN_LIST_ITEMS = 2
_MAX_LABELLED_WORDS = 10
REFERENCE = lazy_regex(
    r"\W*(?:(?:in|at|by|from|for|of|on|after|before|since|with|to|during|under)\s)?"
    r"(?:it|its|he|his|she|her|they|their|this|these|that|those|there|such|both|then|here)\b",
    re.IGNORECASE,
)
DEFINITE_NOUN = lazy_regex(
    r"\W*(?:(?:in|at|by|from|for|of|on|after|before|since|with|to|during|under)\s)?the ((?:(?-i:[a-z-]+)\s){1,3})",
    re.IGNORECASE,
)
_ASKS_ABOUT_PART = lazy_regex(
    r"\b(?:is|are|was|were) (?:the|our|your|my|an?) ([^?,]+?) (?:for|of|before|after|at|to|in|from|during) ([^?]+)",
    re.IGNORECASE,
)
_PAIR = lazy_regex(r"\b([^\W\d_][\w-]{2,}) (?:and|or|&) ([^\W\d_][\w-]{2,})\b", re.IGNORECASE)
BORROWED_WORDS = lazy_regex(r"^(.+) \(([^()]+)\)$", re.DOTALL)  # what a follow-up borrows from earlier questions
_AFTER_NOUN = lazy_regex(  # what follows the noun that is asked for: "준비물 좀 알려줘", "준비물이 뭐예요?"
    r"(?:이?란|[은는이가을를도])?(?: (?:좀|다시|알려|말해|보여|뭐|무엇|뭔|어떻).*)?\W*$"
)
_LABELS = tuple(  # what a question asks for, and the label of a line that states it: "Venue: Hall 3"
    (lazy_regex(asking, re.IGNORECASE), lazy_regex(rf"(?:{label})\s?[:：]\s?\w", re.IGNORECASE))
    for asking, label in (
        (
            r"\bwhen\b|\bwhat (?:time|date)\b|언제|몇 ?시|며칠|[何甚什][麼么]?[時时]|[幾几][點点]|日期|[時时][間间]",
            r"\b(?:date|time|when)s?|일시|일자|날짜|기간|시간|[時时][間间]|日期",
        ),
        (
            r"\bwhere\b|어디|어느 ?곳|哪[裡里兒儿]|在哪|何[處处]|地[點点]",
            r"\b(?:venue|place|location|where)|장소|위치|地[點点]|地址|[場场]地",
        ),
        (
            r"\bwho(?:m)?\b|누구|누가|[誰谁]|哪位",
            r"\b(?:contact|organi[sz]er)(?: person)?|담당자?|[聯联][絡络系]人|承[辦办]人",
        ),
        (
            r"\bhow much\b|얼마|多少[錢钱]|[費费]用",
            r"\b(?:fee|price|cost)s?|비용|금액|요금|참가비|가격|[費费]用|[價价]格",
        ),
    )
)


def find_topics(question: AnalyzedQuestion) -> list[tuple[str, tuple[str, ...]]]:
    """Return the topics of a question as (word, its terms); for Korean and Chinese only nouns, without endings."""
    if not question.is_cjk:
        return extract_key_words(question.text)
    asked = BORROWED_WORDS.sub(r"\2 \1", question.text)
    is_korean = cjk_reader(asked) is korean
    topics = korean.find_topics(asked) if is_korean else chinese.find_topics(asked)
    return [(topic, tuple(extract_terms(topic))) for topic in topics]


def holds_topic(question: AnalyzedQuestion, word: str, parts: Sequence[str], text: str, held: frozenset[str]) -> bool:
    """Return whether a text, whose terms are `held`, names a topic of the question; for Chinese, half of its terms."""
    if detect_language(question.text) == "ko":
        return korean.names_word(word, text)
    return 2 * sum(part in held for part in parts) >= len(parts)


def names_topic(question: AnalyzedQuestion, sentence: Quotation) -> bool:
    """Return whether a sentence itself names a topic of the question, and not only the heading above it.

    Always true for lists, which are about their heading, and for questions that name nothing else.
    """
    if question.is_cjk:
        return _names_own_topic(question, sentence)
    if _is_about_other_half(question, sentence):
        return False
    is_value = question.answer_type in SINGLE_VALUE_TYPES
    if is_value and is_table_row(sentence.text):
        return _names_row(question, sentence.text)
    topics = {part for _, parts in question.words for part in parts} - FRAME_TERMS - question.names
    is_open = sentence.items < MIN_LIST_ITEMS
    if not (is_open and topics) or REFERENCE.match(sentence.text):
        return True
    if is_value and is_labelled_line(sentence.text):
        if _is_about_whole(question, sentence.text):
            return False
        if len(sentence.text.split()) <= _MAX_LABELLED_WORDS:
            return _names_label(question, sentence.text)
    held = question.add_forms(extract_terms(sentence.text))
    if is_value and (DEFINITE_NOUN.match(sentence.text) or not held.isdisjoint(question.names)):
        return True
    return any(topic in held or any(shares_root(topic, term) for term in held) for topic in topics)


def _names_own_topic(question: AnalyzedQuestion, sentence: Quotation) -> bool:
    """Return whether a Korean or Chinese sentence names a topic of the question that is not borrowed from earlier ones.

    Always true for lists and for questions that ask for a value: such sentences often leave out their subject.
    """
    if question.answer_type in SINGLE_VALUE_TYPES or sentence.items >= MIN_LIST_ITEMS:
        return True
    own = BORROWED_WORDS.sub(r"\1", question.text)
    topics = cjk_reader(own).find_topics(own)
    held = frozenset(extract_terms(sentence.text))
    return not topics or any(
        holds_topic(question, topic, extract_terms(topic), sentence.text, held) for topic in topics
    )


def _is_about_whole(question: AnalyzedQuestion, line: str) -> bool:
    """Return whether a line is about the whole of what is asked: "Fair: 3 May" for the rehearsal before the fair."""
    asked = _ASKS_ABOUT_PART.search(question.text)
    if not asked:
        return False
    part, whole = extract_terms(asked[1])[-1:], question.add_forms(extract_terms(asked[2]))
    label = set(extract_terms(read_label(line)))
    return bool(label) and label <= whole and not question.add_forms(extract_terms(line)).issuperset(part)


def _names_label(question: AnalyzedQuestion, line: str) -> bool:
    """Return whether a question has a word of the label of a line, or the label says what is asked: "Venue: Hall 3"."""
    label = question.add_forms(extract_terms(re.split("[:：]", strip_list_mark(line), maxsplit=1)[0]))
    is_named = any(term == word or shares_root(term, word) for term in label for word in question.weights)
    return is_named or bool(find_labelled_values(question, [line]))


def _names_row(question: AnalyzedQuestion, row: str) -> bool:
    """Return whether a question has a word of the row's cells, apart from remarks: it tells which row is meant."""
    values = (cell.rpartition(": ")[2] for cell in table_cells(row) if not is_remark(cell))
    return not question.weights.keys().isdisjoint(question.add_forms(extract_terms(" ".join(values))))


def is_about(question: AnalyzedQuestion, topic: tuple[str, tuple[str, ...]], clause: str) -> bool:
    """Return whether a clause names a topic of `find_topics`."""
    return holds_topic(question, *topic, clause, frozenset(extract_terms(clause)))


def _is_about_other_half(question: AnalyzedQuestion, sentence: Quotation) -> bool:
    """Return whether a sentence below "Bees and hens" speaks of hens only, and the question is about bees."""
    asked, held = question.weights.keys(), question.add_forms(extract_terms(sentence.text))
    pairs = ((set(extract_terms(one)), set(extract_terms(other))) for one, other in _PAIR.findall(sentence.context))
    return any(
        wanted & asked and not wanted & held and other & held and not other & asked
        for one, two in pairs
        for wanted, other in ((one, two), (two, one))
    )


def find_labelled_values(question: AnalyzedQuestion, texts: Sequence[str]) -> list[int]:
    """Return the places of the labelled lines that state what is asked for, as in "일시: …"; empty unless all do."""
    labels = [label for asking, label in _LABELS if asking.search(question.text)]
    places = [next((at for at, text in enumerate(texts) if label.search(text)), None) for label in labels]
    return [] if None in places else list(dict.fromkeys(at for at in places if at is not None))


def is_line_asked_for(question: AnalyzedQuestion, line: str) -> bool:
    """Return whether a line has the noun that a Korean question asks for as its label: "준비물: 도시락"."""
    if not question.is_cjk or question.answer_type != "other":
        return False
    label = read_label(line)
    return bool(label) and f" {_AFTER_NOUN.sub('', question.text)}".endswith(f" {label}")


def cjk_reader(question: str) -> ModuleType:
    """Return the module for the language of a Korean or Chinese question."""
    return korean if detect_language(question) == "ko" else chinese
