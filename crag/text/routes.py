"""Kinds of question by their wording: about a whole document, a list of everything, a table, or in several steps."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from crag.text.language import extract_terms
from crag.text.patterns import lazy_regex
from crag.text.questions import is_long_question
from crag.text.small_talk import is_summary_request, strip_small_talk
from crag.types import Route

MAX_PARTS = 4
"""Sub-questions of a question that is answered in several steps."""
_LONGEST = 300  # characters; a longer question brings its own text


@dataclass(frozen=True, slots=True)
class RouteChoice:
    """How to answer a question, and why in a sentence.

    `topic` is what to list, `place` where, as the question names it; `parts` are the sub-questions of a question in
    several steps.
    """

    route: Route
    reason: str
    topic: str = ""
    place: str = ""
    parts: tuple[str, ...] = ()


SummaryForm = Literal["outline", "sentences", "table"]


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What to sum up: the documents or chapters whose titles hold the words of `scope` (empty: all documents).

    `is_whole`: it calls for whole documents, so that all of them are meant where no title holds those words. `chapter`
    is the number of a chapter or clause, such as `3` or `2.1`.
    `sentences` is the length that was asked for; 0 leaves it open. An *outline* names each section.
    """

    scope: str = ""
    is_whole: bool = True
    sentences: int = 0
    form: SummaryForm = "outline"
    chapter: str = ""


_FACT = RouteChoice("fact", "")
_FORMS: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_PARTS = {  # of the forms
    "{please}": r"^\W*(?:please |can you |could you |would you "
    r"|i (?:want|need|would like) (?:you )?(?:to )?(?:have |get |see )?)*",
    "{compared}": r"(?P<first>[^,;?]+?) (?:and|with|to|versus|vs\.?|against|or) (?P<second>[^,;?]+?)",
    "{that_occurs}": r"(?: (?:that|which) (?:occurs?|appears?|exists?|there (?:is|are)"
    r"|(?:is|are|was|were) (?:mentioned|given|named|listed|stated|made)))?",
    # where to look, which is everywhere anyway
    "{in_documents}": r"(?: ?(?:,|\b)(?:that |which )?(?:(?:is|are|was|were|being|get|gets) )?(?:mentioned|named|listed"
    r"|described|found|discussed|stated|given|contained|defined|present|specified|there (?:is|are))?"
    r"(?: (?:any|some)where)?(?: (?:in|from|of|across|throughout|by|within) (?:all |any |each |every )?(?:of )?"
    r"(?:the |this |that |these |those |my |our |your )?(?:\w+ ){0,3}?(?:documents?|files?|papers?"
    r"|texts?|articles?|pdfs?"
    r"|pages?|reports?|books?|contracts?|agreements?|leases?|handbooks?|manuals?|guides?|minutes|collections?"
    r"|library))?)",
}
_ABSTRACT_TOPIC = lazy_regex(  # what only a summary can list, or what names nothing
    r"^(?:the )?(?:\w+ )?(?:main |key |most important |central |major |top |following |above "
    r"|same )+(?:points?|ideas?|takeaways?"
    r"|messages?|findings?|topics?|facts?)$|^(?:it|this|that|them|those|these|everything|all|things?|more|others?)$"
    r"|^(?:\w+ )?(?:differences?|similarit(?:y|ies)|advantages?|disadvantages?|pros and cons|reasons?|steps) .*$",
    re.IGNORECASE,
)
_ASKS_WHICH = lazy_regex(r"\b(?:which|what|who|whose)\b|어떤|어느|무엇|누구|哪|什[么麼]|[谁誰]", re.IGNORECASE)
_PRONOUN = lazy_regex(
    r"\b(?:it|its|they|their|them|he|she|his|her|this|that|these|those|both)\b|그것|그거|이것|이거|[它他她][们們]?|[这這那][个個些]",
    re.IGNORECASE,
)
_ARTICLE = lazy_regex(r"^(?:the|an?) ", re.IGNORECASE)
_PLACE = lazy_regex(
    r"^.*\b(?:in|from|of|within|across) (?:all |each )?(?:of )?(?:the |this |my |our )?"
    r"((?:[\w.'’-]+ ){0,4}[\w.'’-]+)\W*$"
    r"|^([가-힣 ]+?)(?:에서|에 있는|에 나오는|의) |^(?:在)?([\u4e00-\u9fff]{2,10}?)(?:中|里"
    r"|裡)(?:的)?(?=所有|全部|提到|出)",
    re.IGNORECASE,
)
_MENTION = lazy_regex(
    r"^(?:(?:every|each|all|the|any|single) )*(?:mentions?|occurrences?|references?"
    r"|instances?|places?|sentences?|passages?)"
    r" (?:of|to|about|on|where|mentioning|that (?:mentions?|names?)) ",
    re.IGNORECASE,
)
_QUESTION = lazy_regex(r"[^?？]+[?？]")
_NEXT_QUESTION = lazy_regex(
    r"(?:[,;]|,? (?:and|as well as|and also|and then|and finally)),? (?=(?:(?:when|where|how much"
    r"|how many|how long|how|why"
    r"|who|what|which)\b(?! (?:is|are) (?:it|they|this|that)\b)|(?:can|do|does|is|are|may|must) (?:i"
    r"|we|the|there|my)\b))"
    r"|(?<=[가-힣][고며지])[,，] |(?<=[呢吗嗎的了])[，,](?=又|另外|[还還]|以及|[谁誰]|什[么麼]|哪|多)",
    re.IGNORECASE,
)
_ASKS = lazy_regex(
    r"^\W*(?:(?:and|also|then|finally|in|at|on|by|to|for|from|of),? )*(?:who|what|when|where|why|how"
    r"|which|whose|whom|is|are|was|were"
    r"|do|does|did|can|could|has|have)\b|누구|무엇|뭐|뭔|언제|어디|얼마|왜|어떻|몇|어느|어떤|나요|니까|까요|는지|[吗嗎呢谁誰何几幾]|什[么麼]|哪|多少|怎",
    re.IGNORECASE,
)
_MAX_SENTENCES = 50


_NUMBER_WORDS = {
    **{
        word: n
        for n, word in enumerate(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=1
        )
    },
    "한": 1,
    "두": 2,
    "세": 3,
    "네": 4,
    "다섯": 5,
    "여섯": 6,
    "일곱": 7,
    "여덟": 8,
    "아홉": 9,
    "열": 10,
    **{word: n for n, word in enumerate("一二三四五六七八九十", start=1)},
    "两": 2,
    "兩": 2,
    "a": 1,
    "single": 1,
}
_COUNT = lazy_regex(
    r"(?:\bin |\bwith |\bas |\bto |\bat most |\bwithin |\buse |[用以])?(?:at most |about |only |just |no more than )?"
    rf"(?P<number>\d{{1,2}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})[ -]?(?:short "
    r"|brief |simple |main |"
    r"key |bullet )*(?:(?:-?sentences?|bullets?|(?:bullet )?points?|lines?)\b|문장(?:으로)?|줄(?:로)?|가지(?:로)?"
    r"|[句条條点點][话話]?)",
    re.IGNORECASE,
)
_SHORT = lazy_regex(
    r"\b(?:briefly|shortly|in short|in brief|concisely|short|brief|quick|tl;?dr)\b"
    r"|간단히|간략히|짧게|[简簡][单單短要]|[简簡]短",
    re.IGNORECASE,
)
_BY_SECTION = lazy_regex(
    r",? ?\b(?:by|per|for each|for every|each) (?:chapter|section|part|heading)s?\b|\b(?:chapter|section) by (?:chapter"
    r"|section)\b|(?:장|절|섹션|항목|부분)(?:별|마다)(?:로)?|[按逐分](?:章|[节節]|部分)",
    re.IGNORECASE,
)
_AS_TABLE = lazy_regex(
    r"\b(?:as|in|into) (?:a |the form of a )?table\b|표(?:로| 형식으로)|[用以]?表格(?:形式)?", re.IGNORECASE
)
_FOR_WHOM = lazy_regex(
    r"\b(?:for (?:a |an |the )?(?:beginners?|layman|lay person|laypeople|child(?:ren)?|novices?"
    r"|executives?|five[- ]year"
    r"[- ]old|managers?)|in (?:simple|plain|easy) (?:words|terms|language|english)|in your own words|please|for me)\b"
    r"|쉽게|초보자(?:를 위해|용으로)?|[给給]初[学學]者|用[简簡][单單]的?[话話語语]",
    re.IGNORECASE,
)
_CHAPTER = lazy_regex(
    r"\b(?:chapter|section|clause|part|article|paragraph"
    r"|§) ?(\d{1,3}(?:\.\d{1,3})*)\b|(?<![\d.])(\d{1,3}) ?(?:장|절|조|항)"
    r"|第 ?(\d{1,3}) ?[章节節条條]",
    re.IGNORECASE,
)
_DOCUMENT_NOUNS = lazy_regex(
    r"\b(?:the|this|that|these|those|my|our|your|all|each|every|whole|entire|full|complete|of|it"
    r"|them|everything|document"
    r"|documents|file|files|paper|papers|text|texts|pdf|pdfs|page|pages|book|books|content"
    r"|contents|chapter|section|clause|article"
    r"|part|called|named|titled|about|in|on|from)\b"
    r"|(?:이|그|저|해당|전체|모든)(?= )|문서(?:들)?|파일(?:들)?|자료|내용|장$|절$"
    r"|[这這那该該整全][份个個篇本部]?|文[档檔件]|全文|[内內]容|所有",
    re.IGNORECASE,
)


def choose_route(question: str) -> RouteChoice:
    """Return how a question is answered, by its wording alone; a fact unless it clearly asks for something else."""
    asked = " ".join(strip_small_talk(question).split())
    if not asked or len(asked) > _LONGEST or is_long_question(question):
        return _FACT
    if parse_summary_request(asked):
        return RouteChoice("document", "It asks for a summary.")
    if topic := _find_list_topic(asked):
        place = _PLACE.search(asked)
        return RouteChoice(
            "list",
            f"It asks for every place about “{topic}”.",
            topic,
            next(filter(None, place.groups()), "") if place else "",
        )
    if parts := split_into_parts(asked):
        return RouteChoice("steps", f"It asks {len(parts)} things.", parts=parts)
    return _FACT


def drop_place(topic: str, place: str) -> str:
    """Return what to list without where to look: “hens” for “hens in the letter”."""
    where = rf"\W*\b(?:in|from|of|within|across)\b (?:(?:all|each|of|the|this|my|our) )*{re.escape(place)}$"
    return re.sub(where, "", topic, flags=re.IGNORECASE) or topic


def force_route(question: str, route: Route) -> RouteChoice:
    """Return the choice for a route that the user asks for."""
    chosen = choose_route(question)
    if chosen.route == route:
        return replace(chosen, reason="")
    return RouteChoice(route, "", topic=question if route == "list" else "", parts=(question,))


def find_form(kind: str, asked: str) -> re.Match[str] | None:
    """Return the match of the first form of this kind that a question has."""
    return next((match for form in _compile_forms(kind, asked.isascii()) if (match := form.search(asked))), None)


@cache
def _compile_forms(kind: str, is_ascii: bool) -> list[re.Pattern[str]]:
    forms = [form for language, listed in _FORMS[kind].items() if language == "en" or not is_ascii for form in listed]
    for name, part in _PARTS.items():
        forms = [form.replace(name, part) for form in forms]
    return [re.compile(form, re.IGNORECASE) for form in forms]


def _find_list_topic(asked: str) -> str:
    match = find_form("list", asked)
    topic = match["topic"].strip(" \"'“”‘’「」.,:;?!。？！，") if match else ""
    topic = _MENTION.sub("", topic)
    return topic if extract_terms(topic) and not _ABSTRACT_TOPIC.search(topic) else ""


def split_into_parts(asked: str) -> tuple[str, ...]:
    """Return the sub-questions of a comparison or of several questions at once, at most four; else nothing."""
    if match := find_form("comparison", asked):
        return _compare(match, asked)
    questions = [part.strip() for part in _QUESTION.findall(asked)] or [asked]
    if len(questions) == 1:
        questions = [part.strip(" ,;.，、") for part in _NEXT_QUESTION.split(questions[0])]
    asking = [one for one in questions if _ASKS.search(one)]
    if not 1 < len(questions) == len(asking) <= MAX_PARTS or not names_something(questions[0]):
        return ()
    if len(questions) == 2 and not names_something(questions[1]) and not asked.count("?") > 1:
        return ()  # “When did it start and who founded it?” is one fact and its halves
    return tuple(one if one.endswith(("?", "？")) else f"{one}?" for one in map(_capitalize, questions))


def _compare(match: re.Match[str], asked: str) -> tuple[str, ...]:
    """Return one question about each of the things compared."""
    first, second = (match[name].strip(" \"'“”‘’.") for name in ("first", "second"))
    given = match.groupdict()
    aspect = (given.get("aspect") or "").strip(" .")
    is_open = _ASKS_WHICH.search(f"{first} {second}")
    if (
        is_open
        or _PRONOUN.search(f"{first} {second}")
        or not (extract_terms(first) and extract_terms(second))
        or first.casefold() == second.casefold()
    ):
        return ()
    if lead := (given.get("lead") or "").strip(" ,"):
        return tuple(f"{_capitalize(name)}: {lead}?" for name in (first, second))
    if not aspect:
        return tuple(_capitalize(_ARTICLE.sub("", name)) for name in (first, second))
    if re.search(r"[가-힣]", asked):
        particle = "는" if (ord(aspect[-1]) - ord("가")) % 28 == 0 else "은"  # after a vowel, after a consonant
        return tuple(f"{name}의 {aspect}{particle} 무엇인가요?" for name in (first, second))
    if re.search(r"[\u4e00-\u9fff]", asked):
        return tuple(f"{name}的{aspect}是什么？" for name in (first, second))
    return tuple(f"What is the {aspect} of {name}?" for name in (first, second))


def names_something(question: str) -> bool:
    """Return whether a question can be answered by itself: it names what it is about, not only *it* or *they*."""
    return bool(extract_terms(question)) and not _PRONOUN.search(question)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def parse_summary_request(question: str) -> SummaryRequest | None:
    """Return what a request for a summary asks for; None if the question is none."""
    asked = " ".join(strip_small_talk(question).split())
    count = _COUNT.search(asked)
    bare = _strip(asked)
    is_whole = is_summary_request(asked) or is_summary_request(bare)
    found = find_form("summary", bare) or find_form("summary", asked)
    scope = found["scope"] if found else ""
    if not (is_whole or found):
        return None
    words = _DOCUMENT_NOUNS.sub(" ", scope).strip(" \"'“”‘’.,:;?!。？！，")
    sentences = min(_parse_number(count["number"]), _MAX_SENTENCES) if count else 0
    if not sentences and _SHORT.search(asked):
        sentences = 3
    by_section = bool(_BY_SECTION.search(asked))
    form: SummaryForm = (
        "table" if _AS_TABLE.search(asked) else "sentences" if sentences and not by_section else "outline"
    )
    number = _CHAPTER.search(asked)
    chapter = next(filter(None, number.groups())) if number else ""
    words = re.sub(rf"(?<![\d.]){re.escape(chapter)}(?![\d.])", " ", words) if chapter else words
    scope = " ".join(words.split()) if extract_terms(words) else ""
    return SummaryRequest(scope, not chapter and (is_whole or not scope), sentences, form, chapter)


def _strip(asked: str) -> str:
    """Return the request without length, form and audience."""
    for pattern in (_COUNT, _BY_SECTION, _AS_TABLE, _FOR_WHOM, _SHORT):
        asked = pattern.sub(" ", asked)
    return re.sub(r"\s+([,.?!])", r"\1", " ".join(asked.split())).strip(" ,")


def _parse_number(written: str) -> int:
    return int(written) if written.isdigit() else _NUMBER_WORDS[written.casefold()]
