"""Stated values: whether sentences hold a value of the kind that a question asks for, and one that it does not name.

A name, date or figure that the question itself holds is never its answer.
"""

from __future__ import annotations

import re

from crag.text.language import (
    extract_terms,
    extract_words,
    find_tokens,
    is_labelled_line,
    is_table_row,
    split_sentences,
)
from crag.text.patterns import lazy_regex
from crag.text.question_parts import split_question
from crag.text.questions import FRAME_TERMS, AnalyzedQuestion, matches_answer_type
from crag.text.spelling import shares_root
from crag.text.stated_times import MONTHS, asks_duration, states_duration, states_time

_DEFINITION = lazy_regex(
    r"\s*(?:what(?: is|'s|’s| are)(?: an?)? (?!the\b|it\b)"
    r"|what do(?:es)? (?:an? |the )?(?:(?:term|word) )?(?=.*\bmean\b)"
    r"|(?:please )?(?:define|explain) the (?:term|word|concept)(?: of)? )"
    r"[\"'“‘]?((?:[\w’'-]+\s?){1,3}?)[\"'”’]?\s?(?:,.*)?(?:\bmean\b.*|\b(?:as|in) .*)?\W*",
    re.IGNORECASE,
)
_DEFINING_VERB = lazy_regex(
    r"(?:\W|an?\b|the\b)*(?:[\w’'-]+\W{1,3}){1,3}?"
    r"(?:is|are|was|were|means?|refers?|denotes?|describes?|assumes?|allows?|consists?|uses?)\b",
    re.IGNORECASE,
)
_MONEY_QUESTION = lazy_regex(
    r"\bhow much (?:is|are|was|were|do|does|did|will|would|can|must)\b(?!.*\b(?:weigh|time|longer|space|memory)\b)"
    r"|\b(?:price|cost|costs|fee|rent|salary|wage|revenue|budget|income|profit|deposit)\b",
    re.IGNORECASE,
)
_FIGURE = lazy_regex(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|first|second|third|fourth|fifth)\b"
)
_ORDINAL = lazy_regex(r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth)\b", re.IGNORECASE)
_MONTHS = "|".join(MONTHS)
_AMOUNT = lazy_regex(  # no share, duration or date
    r"[$€£¥₩]\s?\d|\d[\d.,]*(?!\d|[.,]\d|\s?(?:per cent|percent|%|days?|weeks?|months?|years?|hours?|minutes?"
    rf"|{_MONTHS}))|\bfree\b"
    r"|\b\w+ (?:dollars|euros|pounds|kroner)\b",
    re.IGNORECASE,
)
# Two capitalised words or a title with one; a single one only where it is neither a role nor part of an address.
_PERSON = lazy_regex(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof)\.? )?"
    r"[A-Z][\w’'-]+(?:(?: [A-Z]\.)* (?:(?:van|von|de|da|del|bin|al|of|the) )?[A-Z][\w’'-]+)+"
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z][\w’'-]+"
    r"|(?<![.!?:]\s)(?<!^)(?<!\b[Tt]he )(?<!\b[Aa]n )(?<!\b[Aa] )(?<!, )\b[A-Z][\w’'-]+"
)
_INSTITUTION = lazy_regex(
    r"\b(?:Court|Council|Board|Committee|Commission|University|College|School|Hospital|Department|Office|Ministry|Agency"
    r"|Institute|Society|Association|Company|Ltd|Limited|Inc|Trust|Bank|Street|Road|Avenue|Square|Centre|Center"
    r"|Directorate|Division|Branch|Laboratory|Section|Unit)$"
)
_LABELLED_CELL = lazy_regex(r"[|—] [^|—:]{1,40}: ([A-Z][\w’'-]+)")  # of a row: "| Supplier: Dunmore"
_SPEAKER = lazy_regex(r"\s*(?:[-*•>]\s*)?((?:From|[A-Z][\w’'.-]+)(?: [A-Z][\w’'.-]+){0,2}):\s+")
_PRONOUN_SUBJECT = lazy_regex(
    r"\W*(?:[A-Z][a-z]+ [^,]{0,40}, )?(?:[Hh]e|[Ss]he|[Tt]hey|[Hh]is|[Hh]er|[Tt]heir)\b(?!.*\bby [A-Z])"
)
_CALENDAR_WORDS = (
    f"{_MONTHS.replace('|', ' ')} Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
    " Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
_CALENDAR_TERMS = frozenset(extract_terms(_CALENDAR_WORDS))
_CALENDAR = lazy_regex(rf"\b(?:{_CALENDAR_WORDS.replace(' ', '|')})s?\b")
_SPOT = lazy_regex(
    r"(?<!based )(?<!depends )(?<!relies )\b(?:in|at|on|near|inside|outside|beside|behind|opposite|under|above|next to)"
    r" (?:the|an?|our|your|its|their) "
    r"(?!(?:[\w-]+ )?\w*(?:year|month|week|day|time|morning|evening|night|spring|summer|autumn|winter|season|century"
    r"|decade|past|beginning|start|end|case|event|fact|way|form|order|process|war|period|age)s?\b)"
    r"([a-z][a-z-]+(?: [a-z-]+)?)\b",
    re.IGNORECASE,
)
_ASKS_WHERE = lazy_regex(r"\bwhere\b", re.IGNORECASE)
_PLACE = lazy_regex(  # a name after a preposition
    r"\b(?:[Ii]n|[Aa]t|[Oo]n|near|[Tt]o|[Ff]rom|of|into|onto|outside|inside|around|across|between|through|throughout|via"
    r"|towards?|beside|opposite|by|and|or|off|along|behind|under|over|above|[:,|—–(])\s"
    r"(?:(?:the|an?|our|its|their|his|her|both|[a-z-]+)\s){0,3}"
    r"(?!(?:The|He|She|It|They|In|This|These)\b)([A-Z][^\W\d_][\w’'-]*(?: [A-Z][\w’'-]+)*)"
)
_ROLE = lazy_regex(
    r"\b[Ww]ho(?:[’']s| is| are| was| were| will be| has been| became| becomes) "
    r"(?:the|an?|our|your|my|its|their)(?: (?:new|next|current|present|former))? ((?:(?!(?:of|for|at|in|to|on|from|by"
    r"|after|since|who|that|during|under|with)\b)[a-z][\w-]*[ ,?]*){1,4})",
)
_BE = r"(?:is|was|are|were|will be|remains|became|becomes|has been|had been)"
_ROLE_TO_NAME = lazy_regex(
    rf"(?:[’']s)?(?:\s(?:of|for|at|to|in|on|from)\s(?:(?!\b(?:that|which|who|when|and|or|but)\b)[^,.;:|]){{1,60}}?)?"
    rf"(?:\s?[,:|—–(]\s?(?:[^|:]{{1,30}}:\s)?|\s{_BE}\s|\sby\s|\s)"
    r"(?:(?:now|still|again|currently|always|then|also|once more|by|named|called|the|our|an?)\s){0,2}"
)
_NAME_TO_ROLE = lazy_regex(
    rf"(?:\s\([^)]*\))?(?:\s?[,(|—–:]\s?(?:[^|:]{{1,30}}:\s)?(?:who\s)?|\s)"
    rf"(?:(?:{_BE}|serves|served|works|acts|acted|takes over|took over|joined"
    r"|will act|will serve|will|has|had|also)\s)?"
    r"(?:(?:elected|appointed|named)\s)?(?:as\s)?(?:(?:the|our|its|their|his|her|an?)\s(?:[\w-]+\s){0,3}|new\s)?"
)
_NUMBER = lazy_regex(r"\d+(?:[.,:]\d+)*")
_ASKS_MEASURE = lazy_regex(
    r"\bwhat(?:[’']s| is| was| are| were) the (?:[\w-]+ ){0,2}?(?:numbers?|size|height|length|weight|width|depth"
    r"|age|rate|percentage|share|population|speed|distance|temperature|capacity|area|limit|maximum|minimum)\b",
    re.IGNORECASE,
)
_DATE = lazy_regex(  # also a time of day
    rf"(?:{_MONTHS})\s\d{{1,2}}(?:st|nd|rd|th)?(?:,\s\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{_MONTHS})(?:\s\d{{4}})?"
    r"|\d{1,2}:\d\d|\d{1,2}\s?[ap]\.?m\b|(?<![\d.,])(?:1\d|20)\d\d(?![\d.,]*\d)"
    r"|(?:\d{4}\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号號일]|\d{4}\s?[年년]"
    r"|(?:오전|오후|上午|下午)?\s?\d{1,2}\s?[시点點時时](?:\s?\d{1,2}\s?[분分])?",
    re.IGNORECASE,
)
_ASKS_NAME = lazy_regex(r"\bwhat\b.*\b(?:called|known as|named)\W*$|\bwhat (?:is|was) the name\b", re.IGNORECASE)
_NAMING = lazy_regex(
    r"\b(?:called|known|named?|names|termed|titled|entitled|dubbed|nicknamed|referred|terms?)\b|[\"“”‘«(]"
    r"|(?<=\w )[A-Z][\w-]+",
)
_COUNTED = lazy_regex(  # "how many pilot seasons are there": a number before "pilot" or "seasons"
    r"\bhow many (?:more |other |different )?((?:(?!(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must"
    r"|should|will|would|of|in|on|at|there|to|for|per|from|with|by)\b)[\w-]+\W*){1,4})",
    re.IGNORECASE,
)
_MAX_WORDS_TO_NOUN = 8


def states_value(question: AnalyzedQuestion, quoted: str) -> bool:
    """Return whether sentences hold a value of the expected kind, or the definition that is asked for.

    Korean and Chinese have their own rules.
    """
    parts = split_question(question)
    if len(parts) > 1:
        return all(states_value(part, quoted) for part in parts)
    if defined := _DEFINITION.fullmatch(question.text):
        return _defines(defined[1], quoted)
    if question.answer_type == "person":
        return any(_names_person(question, sentence) for sentence in split_sentences(quoted))
    new = _without_asked_figures(question.text, quoted)
    if asks_duration(question.text):
        return states_duration(new)
    if question.answer_type == "time":
        return states_time(question.text, new)
    if question.answer_type == "place":
        return _names_place(question, _CALENDAR.sub("", quoted)) or _names_spot(question, quoted)
    if _ASKS_NAME.search(question.text) and not _NAMING.search(quoted):
        return False
    return _states_figure(question, quoted, new)


def _states_figure(question: AnalyzedQuestion, quoted: str, new: str) -> bool:
    """Return whether sentences hold an amount, a measure or a count where one is asked for.

    `new` is the same text without the figures of the question.
    """
    if _MONEY_QUESTION.search(question.text):
        return bool(_AMOUNT.search(new))
    if _ASKS_MEASURE.search(question.text) and not _FIGURE.search(_ORDINAL.sub("", new)):
        return False
    if counted := _COUNTED.search(question.text):
        return any(_counts(stem, new) for stem in extract_terms(counted[1]))
    return matches_answer_type(question, quoted)


def find_values(question: AnalyzedQuestion, sentence: str) -> frozenset[str]:
    """Return the values of the kind asked for in a sentence that the question does not name.

    Figures of dates count only for a question about time. Korean and Chinese names are not recognized.
    """
    if question.answer_type in {"person", "place"}:
        names = (frozenset(extract_terms(found[0])) for found in _PERSON.finditer(sentence))
        return frozenset(" ".join(sorted(name)) for name in names if name - question.weights.keys() - _CALENDAR_TERMS)
    new = _without_asked_figures(question.text, sentence)
    spans = [found[0] for found in _DATE.finditer(new)]
    if question.answer_type == "time":
        return frozenset(" ".join(_NUMBER.findall(span)) for span in spans)
    return frozenset(_NUMBER.findall(_DATE.sub("", new)))


def _without_asked_figures(question: str, quoted: str) -> str:
    asked = set(_NUMBER.findall(question))
    return _NUMBER.sub(lambda found: "" if found[0] in asked else found[0], quoted)


def _names_person(question: AnalyzedQuestion, sentence: str) -> bool:
    """Return whether a sentence names somebody who is not in the question, in the role that it asks for.

    The name of a speaker before a colon is not what the sentence is about, and "She …" names nobody.
    """
    if _PRONOUN_SUBJECT.match(sentence):
        return False
    asked = question.weights.keys()
    if (label := _SPEAKER.match(sentence)) and asked.isdisjoint(extract_terms(label[1])):
        sentence = sentence[label.end() :]
    names = [found.span() for found in _PERSON.finditer(sentence) if not _INSTITUTION.search(found[0])]
    names += [found.span(1) for found in _LABELLED_CELL.finditer(sentence)]
    new = [
        (start, end) for start, end in names if frozenset(extract_terms(sentence[start:end])) - asked - _CALENDAR_TERMS
    ]
    if not (role := _ROLE.search(question.text)) or not (terms := extract_terms(role[1])):
        return bool(new)
    held = [
        found
        for found in re.finditer(r"[\w-]+", sentence)
        if not _INSTITUTION.search(found[0])
        and any(terms[-1] == term or shares_root(terms[-1], term) for term in extract_terms(found[0]))
    ]
    return any(_is_tied(sentence, span, word.span()) for span in new for word in held)


def _names_place(question: AnalyzedQuestion, quoted: str) -> bool:
    """Return whether a text names a place that is not in the question; to answer "where", after a preposition."""
    if not _ASKS_WHERE.search(question.text) or is_table_row(quoted) or is_labelled_line(quoted):
        return matches_answer_type(question, quoted)
    asked = question.weights.keys()
    return any(set(extract_terms(found[1])) - asked for found in _PLACE.finditer(quoted))


def _names_spot(question: AnalyzedQuestion, quoted: str) -> bool:
    """Return whether a sentence goes on to name a place without a capital letter: "The meeting is in the hall"."""
    asked = question.weights.keys()
    for sentence in split_sentences(quoted):
        subject = next((at for at, token in find_tokens(sentence) if not asked.isdisjoint(extract_terms(token))), None)
        spots = _SPOT.finditer(sentence, subject) if subject is not None else ()
        if any(asked.isdisjoint(terms) for found in spots if (terms := extract_terms(found[1]))):
            return True
    return False


def _is_tied(sentence: str, name: tuple[int, int], role: tuple[int, int]) -> bool:
    """Return whether a name and a role belong together: "the chair is Clara", "Clara, the chair", "Chair: Clara"."""
    if name[0] <= role[0] < name[1]:
        return False
    if role[1] <= name[0]:
        return bool(_ROLE_TO_NAME.fullmatch(sentence[role[1] : name[0]]))
    return bool(_NAME_TO_ROLE.fullmatch(sentence[name[1] : role[0]]))


def _counts(stem: str, quoted: str) -> bool:
    """Return whether a number belongs to the noun: "58 skilled sailors", "Sailors: 58". "People" may be left out."""
    words = re.findall(r"\w+(?:[.,]\w+)*", quoted)
    places = [at for at, word in enumerate(words) if any(shares_root(stem, term) for term in extract_terms(word))]
    numbers = [at for at, word in enumerate(words) if _FIGURE.match(word) and not _ORDINAL.match(word)]
    if stem in FRAME_TERMS:
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
