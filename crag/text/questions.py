"""Question analysis: term weights, names, the expected answer type, and candidate answers in a text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Literal, Protocol

from crag.text.korean_spacing import restore_spaces
from crag.text.language import extract_terms, extract_words, is_cjk, is_table_row, split_sentences
from crag.text.measures import drop_other_quantities, find_quantities, find_relative_times
from crag.text.opening_hours import find_hours, tells_other_opening
from crag.text.patterns import MONTHS, SEVERAL, lazy_regex
from crag.text.word_forms import index_other_forms


class TermStatistics(Protocol):
    """Document frequencies of terms in the library."""

    def idf(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the inverse document frequency, above 0, of each term as produced by `extract_terms`.

        A term that occurs in no passage gets the maximum, so that a question about an absent topic scores low.
        """
        ...


AnswerType = Literal["person", "time", "number", "place", "list", "explanation", "other"]
SINGLE_VALUE_TYPES: frozenset[AnswerType] = frozenset({"person", "time", "number", "place"})

_LONG_QUESTION_LENGTH = 1000  # characters
_EDGE_SENTENCES = 3  # sentences at the beginning and at the end of a long text that may contain the question
_QUESTION_MARKS = ("?", "？", "؟")
_CLOSING_SIGNS = " \t\"'”’»」』)]"
_REDUCED_WEIGHT = 0.5
_OWN_EVENT = 0.9  # share of a question, from which on what follows a time is the event that it asks about
UNSEEN_TERM = "qzxqzx"
_PLURALS = (
    "types|kinds|ways|steps|examples|reasons|factors|methods|advantages|disadvantages|components|parts|stages|categories"
    f"|forms|features|properties|requirements|benefits|options|{SEVERAL}|several"
)
_CATEGORY_TERMS = frozenset(extract_terms(_PLURALS))
# "the town where" and "the day when" belong to a statement.
_ASKING = r"(?:^\W*|[,;:] ?|\b(?:and|or|but|me|know|tell|by|from|to|since|until|say|says|wonder) )"
_QUESTION_PATTERNS: dict[AnswerType, str] = {
    "list": rf"\b(?:what|which|list|name|give)\b.{{0,24}}\b(?:{_PLURALS})\b|\b(?:what|which) are\b"
    r"|^\W*(?:the )?steps\b|종류|유형|단계|가지|哪些|哪幾|哪几",
    "time": rf"\bwhen\W*$|{_ASKING}when\b"
    r"(?! (?:is|are|does|do|can|may|must|should) (?:an?|one|you|we|i)\b(?! (?:open|close)))"  # a condition, not a date
    r"|\b(?:what|which) (?:year|date|day|month|century|time|decade)\b|언제|몇 ?년|년도"
    r"|[何幾几]時|[何几]时|哪一?年|時候|时候|[幾几]年|世紀|世纪",
    "number": r"\bhow (?:many|much|old|long|far|tall|large|big|high|often|cold|hot|heavy|loud|deep|wide)\b"
    r"|\bwhat (?:percent\w*|number|amount|population|age)\b|몇|얼마|多少|[幾几]"
    r"|多[久長长高遠远深寬宽重]",
    "person": r"\bwho(?:m|se)?\b|누구|누가|誰|谁|何人|哪位",
    "place": rf"{_ASKING}where\b|\bwhere\W*$"
    r"|\b(?:what|which) (?:city|country|state|place|region|location)\b|어디|哪[裡里]|何[處处]",
    "explanation": r"\bwhy\b|\bhow (?:does|do|did|is|are|was|were|can|to)\b|\b(?:explain|describe)\b"
    r"|(?:^|\s)왜(?=\s|$|\W|[냐야요죠니])|어떻게|[為为]什|[為为]何|如何|怎",
}
_NOUN_PATTERNS: dict[
    AnswerType, str
] = {  # nouns that imply the answer type without a question word: "Super Bowl 2021 location"
    "time": r"\bdate\b|[時时][间間]|日期|날짜",
    "place": r"\blocation\b|在哪|地[点點]|哪[個个]?(?:城市|[国國]家|地方)|[举舉][办辦][地国國]",
    "number": r"\b(?:revenue|price|cost|population|percentage|rate|score)\b|增[长長速]|[销銷]量|票房|[营營]收|GDP"
    r"|(?:[数數]|率|量)\s*[?？]?$",
    "person": r"\b(?:winner|director|actor|actress|author|president)\b|冠[军軍]|[导導]演|主演|[编編][剧劇]|主角|得主"
    r"|旗手|首相|[总總][统統]",
}
_ASKS_BY_WORD, _ASKS_BY_NOUN = (
    [(kind, lazy_regex(words, re.IGNORECASE)) for kind, words in patterns.items()]
    for patterns in (_QUESTION_PATTERNS, _NOUN_PATTERNS)
)
CLASS_NOUN = lazy_regex(  # "which segment", "of which award"
    r"\b(?:which|what)\s+(?:other\s+)?(?!(?:is|are|was|were|do|does|did|can|will|would|has|have|had|the)\b)(\w+)",
    re.IGNORECASE,
)
_NAME = lazy_regex(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w’'-]*[a-zA-Z]\b", re.MULTILINE)
_CAPITALS = lazy_regex(r"\b(?:[A-Z]{2,}\w*|\d[\d.,]*)\b")
_LATIN_WORD = lazy_regex(r"[A-Za-z]+")
FRAME_TERMS = frozenset(
    extract_terms(
        "kind type sort way step example name term word number amount total year date day month week time period hour"
        " people person someone anybody company firm organization thing difference main different mean meaning"
        " document handbook text article paper file page according get got go went come came take took make made bring"
        " brought put know want need find back look say tell explain describe list show allow exactly currently today"
        " long far soon many much often possible reason outline overview summary stand differ post study report"
        " kinds sorts located described another certain specific particular typical typically usually commonly"
        " generally normally approximate approximately per altogether ok okay going now still moment actually anyway"
        " ordinary straight simply sort whole enough"
    )
)
"""Words that frame a question and need not occur in its answer."""


@dataclass(frozen=True, slots=True)
class AnalyzedQuestion:
    """A question as the scorer sees it. `order` holds its terms in order; `is_cjk` is true for Chinese and Korean.

    `statistics` are those of the searched library, `unseen_weight` is the weight of a term that does not occur in it.
    `forms` names for other forms and synonyms of its words the term that they stand for: `led` for `lead`.
    """

    text: str
    words: tuple[tuple[str, tuple[str, ...]], ...]
    order: tuple[str, ...]
    weights: dict[str, float]
    names: frozenset[str]
    answer_type: AnswerType
    is_cjk: bool
    statistics: TermStatistics
    unseen_weight: float
    forms: dict[str, str]

    def covered_share(self, held: Iterable[str]) -> float:
        """Return the share of the question's weight, in 0..1, that is covered by the terms `held`.

        The sum is exact, thus the same in every order of the terms: equal shares must not differ by rounding.
        """
        found = self.weights.keys() & self.add_forms(held)
        return math.fsum(self.weights[term] for term in found) / (math.fsum(self.weights.values()) or 1.0)

    def add_forms(self, held: Iterable[str]) -> set[str]:
        """Return the terms `held`, and those of the question that they are other forms of."""
        terms = set(held)
        return terms.union(self.forms[form] for form in self.forms.keys() & terms)


def is_long_question(question: str) -> bool:
    """Return whether the question is a pasted text that contains a question."""
    return len(question) > _LONG_QUESTION_LENGTH


def extract_asking_sentences(question: str) -> str:
    """Return the asking sentences at the beginning or the end of a long question; return a short one unchanged.

    Relevant passages are similar to the actual question, not to the text pasted with it.
    """
    if not is_long_question(question):
        return question
    held = split_sentences(question)
    ends = list(dict.fromkeys([*held[:_EDGE_SENTENCES], *held[-_EDGE_SENTENCES:]]))
    asking = [sentence for sentence in ends if sentence.rstrip(_CLOSING_SIGNS).endswith(_QUESTION_MARKS)]
    found = " ".join(asking or [held[0], held[-1]])
    return (
        found
        if not is_long_question(found)
        else f"{found[: _LONG_QUESTION_LENGTH // 2]} {found[-_LONG_QUESTION_LENGTH // 2 :]}"
    )


_DOCUMENT_NAME = (
    r"(?:it|they|(?:this|that|the|my|these|those)(?: \w+)?? (?:documents?|files?|papers?|texts?|articles?|reports?"
    r"|books?|pages?|pdfs?|handbook|manual|contract|lease|guide)|this|that)"
)
_DOCUMENT_REFERENCE = lazy_regex(
    rf"^(?:and |so |but )?(?:what (?:else )?|where |how )?(?:do|does|did|is|are) {_DOCUMENT_NAME}(?: also| even)? "
    r"(?:says?|mentions?|states?|tells?(?: (?:me|us))?|writes?|covers?|contains?|discuss(?:es)?|talks?)"
    r"(?: (?:anything|something|more|much))?(?: (?:about|on|of|regarding))?\s+"
    rf"|^(?:is there |are there )?(?:anything|something|information) (?:(?:in|inside) (?:there|{_DOCUMENT_NAME}) )?"
    r"(?:about|on|regarding) "
    r"|^(?:(?:이|그|해당) ?)(?:문서|파일|자료|글|책|보고서|규정)(?:에서는|에는|에서|은|는|에) "
    r"|^(?:거기|여기)(?:에는?|서는?)? "
    r"|(?<=(?-i:[가-힣]))에 (?:대해서?|관해서?)(?:는)? (?:뭐라고|무엇이라고|어떻게|무슨).*$"
    r"|(?<=(?-i:[가-힣]))에 (?:대한|관한) (?:내용|언급|설명|말|이야기)[이도은]? ?(?:있|나오).*$"
    r"|^(?:它|[这這那][裡里]?|[这這那该該][份个個篇本](?:文件|文[档檔]|[资資]料|文章|手[册冊]|[报報]告))(?:[里裡中上]面?)?"
    r"(?:有[没沒]有)?(?:提到|提及|[说說]到|[谈談]到|[对對]|[关關][于於])(?:了|[过過])?"
    r"|(?<=(?-i:[一-鿿]))(?:[是]?怎[么麼][说說寫写]的?|[说說]了什[么麼])(?=\W*$)|(?<=(?-i:[一-鿿]))[吗嗎](?=\W*$)",
    re.IGNORECASE,
)


def drop_document_reference(question: str) -> str:
    """Return what a question asks the document about: "overtime?" for "What does it say about overtime?"."""
    match = _DOCUMENT_REFERENCE.search(question)
    if match is None or is_long_question(question):
        return question
    rest = _DOCUMENT_REFERENCE.sub("", question).strip()
    return rest if extract_terms(rest) else question


def separate_words(question: str, statistics: TermStatistics) -> str:
    """Restore missing spaces in a Korean question, guided by the words of the library."""
    return restore_spaces(question, partial(select_known, statistics))


def select_known(statistics: TermStatistics, terms: Sequence[str]) -> set[str]:
    """Return the terms that occur in the library."""
    weights = statistics.idf([*terms, UNSEEN_TERM])
    return {term for term in terms if weights[term] < weights[UNSEEN_TERM]}


def analyze_question(text: str, statistics: TermStatistics) -> AnalyzedQuestion:
    """Analyze a question, with missing spaces restored, and weight its terms by their rarity in the library."""
    text = separate_words(text, statistics)
    key_words = tuple(extract_words(_RUN_OUT.sub("expire", _DURATION_VERB.sub(r"\1", text))))
    order = tuple(term for _, parts in key_words for term in parts)
    names = find_name_terms(text)
    unseen = statistics.idf([UNSEEN_TERM])[UNSEEN_TERM]
    words = frozenset(order) - names
    weights = _weigh_terms(order, names, statistics, unseen)
    return AnalyzedQuestion(
        text,
        key_words,
        order,
        weights,
        names,
        detect_answer_type(text),
        _is_cjk_question(text),
        statistics,
        unseen,
        index_other_forms(words),
    )


_RUN_OUT = lazy_regex(r"\brun(?:s|ning)? out\b(?! of\b)", re.IGNORECASE)
_DURATION_VERB = lazy_regex(r"(\bhow long (?:do|does|did|will|would|can|could) [^?]{2,80}?) last\b", re.IGNORECASE)


def _weigh_terms(
    order: tuple[str, ...], names: frozenset[str], statistics: TermStatistics, unseen: float
) -> dict[str, float]:
    """Return the inverse document frequency of each term, reduced for terms that an answer need not repeat.

    These are ordinary words that do not occur in the library, which may phrase them differently, and category words as
    in "what types of".
    """
    weights = statistics.idf(order)
    light = {term for term, weight in weights.items() if weight >= unseen and term not in names} | _CATEGORY_TERMS
    return {term: weight * _REDUCED_WEIGHT if term in light else weight for term, weight in weights.items()}


def detect_answer_type(question: str) -> AnswerType:
    """Return the kind of value that the first matching pattern finds in the question.

    "Which segment earned most revenue?" asks for no number, but for a segment.
    """
    asked = found[0] if (found := CLASS_NOUN.search(question)) else question
    by_word = (kind for kind, pattern in _ASKS_BY_WORD if pattern.search(question))
    by_noun = (kind for kind, pattern in _ASKS_BY_NOUN if pattern.search(asked))
    return next(chain(by_word, by_noun), "other")


def _is_cjk_question(question: str) -> bool:
    """Return whether the question is Chinese or Korean. A Latin word counts as one letter, because it may be a name."""
    return is_cjk(_LATIN_WORD.sub("x", question))


def find_name_terms(text: str) -> frozenset[str]:
    """Return the terms of names: capitalised words within a sentence, acronyms, and numbers."""
    return frozenset(extract_terms(" ".join(_NAME.findall(text) + _CAPITALS.findall(text))))


_MONTH = rf"(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_RESULT_DATE = lazy_regex(
    rf"^{_MONTH}\.? \d{{1,2}}, \d{{4}} \.\.\. ", re.IGNORECASE
)  # publication date at the start of a web search result
_DATE = lazy_regex(
    rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:, \d{{4}})?\b|\b\d{{1,2}} {_MONTH}\b(?: \d{{4}})?"
    rf"|\b(?!(?-i:may|march)\b){_MONTH}\b"  # but not the verbs
    r"|\b(?:1\d{3}|20\d\d)s?\b|centur(?:y|ies)"
    r"|\d{1,2} ?[月월] ?\d{1,2} ?[日号號일]|(?<!\d)\d{1,4} ?[年月日号號년월일]|世[紀纪]|세기",
    re.IGNORECASE,
)
_MONTH_NAME = lazy_regex(_MONTH, re.IGNORECASE)
_CALENDAR_NAME = lazy_regex(rf"{_MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?", re.IGNORECASE)
_NUMBER = lazy_regex(
    r"[$€£¥]?\d+(?:[.,]\d+)*(?!\d|(?:st|nd|rd|th)\b)(?: ?(?:%|percent|million|billion|thousand))?"
    rf"|\b(?:{SEVERAL}|twenty|half|hundred|thousand|million|billion)\b"
    r"|\b(?:an?|one|two)[ -]thirds?\b"
    r"|[一二三四五六七八九十百千萬万兩两]+[个個次人种種年天位名]",
    re.IGNORECASE,
)
_LABEL_NUMBER = lazy_regex(  # names something: "section 7", "version 3"
    r"\b(?:sections?|chapters?|clauses?|articles?|annex|appendix|figures?|tables?|pages?|form|version|no\.) \d[\d.]*",
    re.IGNORECASE,
)
_CAPITALISED = lazy_regex(r"\b[A-Z][\w’'-]*")
_CERTAIN_NAME = lazy_regex(  # two capitalised words in a row, or one that does not start a sentence
    r"\b[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)+|(?<![.!?:]\s)(?<!^)\b[A-Z][\w’'-]*", re.MULTILINE
)
_COLUMN_NAME = lazy_regex(r"(?:^|(?<=\| )|(?<=— ))[^|—:]{1,60}: (?=[^|—]*(?:\||—|$))")
_CLAUSE_NUMBER = lazy_regex(r"^\W*\d+(?:\.\d+)+\s(?=[A-Z])|^\W*\d+[.)]\s(?=[A-Z])", re.MULTILINE)  # "4.4 Mail …"
_ACRONYM = lazy_regex(r"\b[A-Z]{2,}\b")
_ASKS_BODY = lazy_regex(  # what companies and offices do, too
    r"\b(?:own|publish|produc|manufactur|ma[dk]e|making|fund|finance|operat|sponsor|organi[sz]|issu|r[ua]n|develop"
    r"|regulat|insur|pa(?:y|id)|built|build)",
    re.IGNORECASE,
)
_TITLED_NAME = lazy_regex(r"\b(Mr|Mrs|Ms|Dr|Prof)\.? ([A-Z][\w’'-]+)")
_PLACE_NAME = lazy_regex(r"\b(?:in|at|near) (?:the )?[A-Z][\w’'-]*(?:,? [A-Z][\w’'-]*)*")
_BYLINE = lazy_regex(
    r"^[^\w\n]*(?:(?i:written|text|story|report|photos?) )?[Bb]y:? [A-Z][\w.’'-]+(?:[ ,]+[A-Z][\w.’'-]+)+[^.\n]{0,60}$",
    re.MULTILINE,
)
_ASKS_AUTHOR = lazy_regex(
    r"\b(?:wrote|writ\w+|authors?|authored|reporters?|journalists?|editors?|photograph\w*|by whom)\b", re.IGNORECASE
)
_QUOTED = lazy_regex(r"[《「『“]([^《》「」『』“”]{1,30})[》」』”]")
_LIST_MARKER = lazy_regex(r"\(?\b\d\)|[①-⑳]|^\s*[-*•]\s", re.MULTILINE)
_SERIES = lazy_regex(r",[^,.]+(?:,[^,.]+)*,? (?:and|or) |、")


def can_recognize_candidates(question: AnalyzedQuestion) -> bool:
    """Return whether answer candidates can be recognized by their form.

    Names cannot where there are no capital letters.
    """
    return question.answer_type in ("time", "number") or (
        question.answer_type in ("person", "place") and not question.is_cjk
    )


def find_candidates(question: AnalyzedQuestion, text: str) -> frozenset[str]:
    """Return the values of the expected answer type in `text` that are not in the question, in a normalized form."""
    said = _drop_origin(question, text)
    if question.answer_type == "time":
        is_other = tells_other_opening(question.text, said)
        relative = _find_relative_times(question, said) if _ASKS_RULE.search(question.text) else ()
        return frozenset() if is_other else _find_dates(question, said).union(find_hours(said), relative)
    if question.answer_type == "number":
        return _find_numbers(question, said)
    if question.is_cjk:
        return frozenset(title for title in _QUOTED.findall(said) if title not in question.text)
    return _capitalised_terms(_CAPITALISED.findall(said)) - question.weights.keys()


def _find_relative_times(question: AnalyzedQuestion, text: str) -> list[str]:
    """Return times such as "a week after the operation", unless it is the event asked about that they follow."""
    found = find_relative_times(text)
    return [one for one in found if question.covered_share(extract_terms(text.lower().partition(one)[2])) < _OWN_EVENT]


def _drop_origin(question: AnalyzedQuestion, text: str) -> str:
    """Return a text without the date of a search result, and without a byline unless its author is asked for."""
    said = _RESULT_DATE.sub("", text)
    if question.answer_type in ("person", "place"):
        said = _CLAUSE_NUMBER.sub("", _COLUMN_NAME.sub("", said))
    is_person = question.answer_type == "person" and not _ASKS_AUTHOR.search(question.text)
    return _BYLINE.sub("", said) if is_person else said


def matches_answer_type(question: AnalyzedQuestion, text: str) -> bool:
    """Return whether `text` certainly contains the expected answer type; True if that cannot be recognized."""
    if question.answer_type in ("person", "place") and not question.is_cjk:
        said = _drop_origin(question, text)
        if question.answer_type == "person":
            said = _PLACE_NAME.sub(" ", said)
            said = said if _ASKS_BODY.search(question.text) else _ACRONYM.sub(" ", said)
            for title, surname in _TITLED_NAME.findall(question.text):  # "Ms Rosalind Fenn" is no one but "Ms Fenn"
                said = re.sub(rf"\b{re.escape(title)}\.?(?: [A-Z][\w’'-]*\.?)* {re.escape(surname)}\b", " ", said)
        return bool(_capitalised_terms(_CERTAIN_NAME.findall(said)) - question.weights.keys())
    return not can_recognize_candidates(question) or bool(find_candidates(question, text))


_SUBJECT = lazy_regex(  # what a sentence states something of: "The rent is £900", "Rent: £900"
    r"(?!(?:if|when|where|while|unless|until|because|since|as|after|before|in|on|at|for|from|with|without|during|not)\b)"
    r"(.{1,60}?)(?:\s(?:is|are|was|were|(?:amount|come)s? to|(?:cost|total|last|take|begin|start|end|run)s?)\b"
    r"|\s?[:：—]|[은는이가]\s|[是为為])",
    re.IGNORECASE,
)

_ASKS_RULE = lazy_regex(r"\bwhen (?:is|are|do|does|can|may|must|should|shall|will|would)\b", re.IGNORECASE)
_ASKS_WHAT = lazy_regex(r"\W*what(?:['’]?s| is| are| was| were) (?:the|my|our|your|this|its)\b", re.IGNORECASE)
_ASKS_COUNT = lazy_regex(r"\bhow many ([a-z]{3,})\b", re.IGNORECASE)
_ASKS_CHANGE = lazy_regex(r"\bby how (?:much|many)\b|\bhow (?:much|many) (?:more|less|fewer|longer)\b", re.IGNORECASE)


def states_directly(question: AnalyzedQuestion, sentence: str) -> bool:
    """Return whether the subject of a sentence is a topic of the question and nothing else: "The rent is £900".

    Where things are counted, whether it counts them: "13 stops". False where a person or place is asked for: "The opera
    is a musical with music by …" says little of who wrote it.
    """
    if counted := _ASKS_COUNT.search(question.text):
        return bool(
            re.search(rf"(?<![\d.,])(?:\d[\d.,]*|{SEVERAL})(?: [\w-]+)? {counted[1]}\b", sentence, re.IGNORECASE)
        )
    asks_value = question.answer_type in ("time", "number") and not _ASKS_CHANGE.search(question.text)
    asks_what = question.answer_type == "other" and _ASKS_WHAT.match(question.text)
    subject = _SUBJECT.match(sentence) if asks_value or asks_what else None
    named = set(extract_terms(subject[1])) - FRAME_TERMS if subject else set()
    return bool(named) and named <= question.weights.keys() | question.forms.keys()


def answer_type_score(question: AnalyzedQuestion, text: str) -> float:
    """Return 1 if the text contains the expected answer type, -1 if it does not, 0 if that cannot be recognized."""
    if can_recognize_candidates(question):
        return 1.0 if matches_answer_type(question, text) else -1.0
    return 1.0 if question.answer_type == "list" and _contains_list(text) else 0.0


def _find_dates(question: AnalyzedQuestion, text: str) -> frozenset[str]:
    """Find dates. Day and month also count without the year, which other texts may omit: `nov 12 2020` and `nov 12`."""
    asked, found = question.text.lower(), set[str]()
    for match in _DATE.finditer(text):
        date = match.group().lower()
        if date in asked:
            continue
        month, numbers = _MONTH_NAME.search(date), re.findall(r"\d+", date)
        if month is None:
            found.add(re.sub(r"\s", "", date))
            continue
        found.add(" ".join((month.group()[:3], *numbers)))
        if numbers:
            found.add(f"{month.group()[:3]} {numbers[0]}")
    return frozenset(found)


def _find_numbers(question: AnalyzedQuestion, text: str) -> frozenset[str]:
    asked = question.text.lower()
    if (quantities := find_quantities(asked, text)) is not None:
        found = (quantity[0].strip().lower() for quantity in quantities)
        return frozenset(quantity for quantity in found if quantity not in asked)
    said = _LABEL_NUMBER.sub(" ", _DATE.sub(" ", drop_other_quantities(asked, text)))
    numbers = (re.sub(r"[^\w%.]", "", number.lower()) for number in _NUMBER.findall(said))
    return frozenset(number for number in numbers if number.rstrip("%") not in asked)


def _capitalised_terms(capitalised: list[str]) -> frozenset[str]:
    """Return the terms of names: no months and weekdays, and no model numbers such as *T1*."""
    names = (word for word in capitalised if not (_CALENDAR_NAME.fullmatch(word) or re.search(r"\d", word)))
    return frozenset(extract_terms(" ".join(names)))


def _contains_list(text: str) -> bool:
    """Return whether the text contains a list: numbered items, table rows, or a series with commas."""
    rows = sum(is_table_row(line) for line in text.splitlines())
    return len(_LIST_MARKER.findall(text)) > 1 or rows > 1 or bool(_SERIES.search(text))


_COUNTED = f"{SEVERAL}|several|various|different|many|some|few|known|main|major|following|these"
_MEASURES = (
    "second|minute|hour|day|night|week|month|quarter|year|time|euro|pound|dollar|metre|meter|mile|degree|percent"
)
_ANNOUNCEMENT = lazy_regex(
    r"\b(?:as follows|the following)\b[^.]{0,40}\.$"
    rf"|\b(?:{_COUNTED}) (?:[\w-]+ ){{0,3}}(?!(?:{_MEASURES})s\b)\w+s\b(?: here| below)?\.$"
    r"|(?:다음과 같다|다음과 같습니다|다음과 같이 [^.\d]{1,30}다|아래와 같다"
    r"|(?:(?:다음|아래)의|다음 각 [호항목]의) [^.\d]{1,40}다"
    r"|(?:(?:다음|아래)[과와] 같은|(?:다음|아래)의|다음 각 [호항목]의) [^.,\d]{1,40}"
    r"(?:것|사항|경우|사람|환자|금지|주의))\.?$"
    r"|如下。?$|以下[几幾一二三四五六七八九十两兩][^。]{0,12}。$",
    re.IGNORECASE,
)
_MAX_ANNOUNCEMENT_WORDS = 14


def announces_more(sentence: str) -> bool:
    """Return whether a sentence only announces what follows it: "The steps are:", "It has known limits."."""
    text = sentence.strip()
    if text.endswith((":", "：")):
        return True
    is_short = len(text.split()) <= _MAX_ANNOUNCEMENT_WORDS
    return is_short and bool(_ANNOUNCEMENT.search(text)) and not _contains_list(text)
