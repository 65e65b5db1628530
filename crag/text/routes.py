"""Kinds of question by their wording: about a whole document, a list of everything, a table, or in several steps."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from crag.text.comparisons import Comparison, parse_comparison
from crag.text.korean import ends_as_noun, fits_particle
from crag.text.language import detect_language, extract_terms
from crag.text.nested_questions import split_description
from crag.text.patterns import MONTHS, SEVERAL, lazy_regex
from crag.text.questions import is_long_question
from crag.text.route_classifier import classify_route
from crag.text.small_talk import is_summary_request, strip_small_talk
from crag.types import Route

MAX_PARTS = 4
"""Sub-questions of a question that is answered in several steps."""
_LONGEST = 300  # characters; a longer question brings its own text


@dataclass(frozen=True, slots=True)
class RouteChoice:
    """How to answer a question, and why in a sentence.

    `topic` is what to list, `place` where, as the question names it; `parts` are the sub-questions of a question in
    several steps, in which `[1]` stands for the answer to the first, each about one thing of a `comparison`. `is_clear`
    is false for a fact if the wording may mean something else.
    """

    route: Route
    reason: str
    topic: str = ""
    place: str = ""
    parts: tuple[str, ...] = ()
    comparison: Comparison | None = None
    is_clear: bool = True


SummaryForm = Literal["outline", "sentences", "table"]


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What to sum up: the documents or chapters whose titles hold the words of `scope` (empty: all documents).

    `is_whole`: it calls for whole documents, so that all of them are meant where no title holds those words. `chapter`
    is the number of a chapter or clause, such as `3` or `2.1`, and `page` that of a page; 0 for all. `section` is the
    name of a section that many documents have: the conclusions.
    `sentences` is the length that was asked for; 0 leaves it open. An *outline* names each section. `is_reworded`: it
    wants other words than those of the documents, such as simpler ones or another language.
    """

    scope: str = ""
    is_whole: bool = True
    sentences: int = 0
    form: SummaryForm = "outline"
    chapter: str = ""
    page: int = 0
    section: str = ""
    is_reworded: bool = False


_FACT = RouteChoice("fact", "")
_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_NUMBERS = {word: int(number) for number, words in _TABLES["numbers"].items() for word in words}
_PARTS: dict[str, str] = _TABLES["parts"] | {"number": "|".join(sorted(_NUMBERS, key=len, reverse=True))}
_SCRIPT_RANGE = lazy_regex(r"\[[^\]]*(?:가-힣|\\u4e00-\\u9fff)[^\]]*\]")  # slow to compile without regard to case
_QUESTION = lazy_regex(r"[^?？]+[?？]")
_STATEMENT_END = lazy_regex(r"[.。](?:\s?\[\d+\])?\s*$")
_INTERVAL = lazy_regex(  # not to be read as “every one of them”
    rf"(?i)\b(?:every|each) (?:(?:other|second|third|few|single|\d+|{SEVERAL}) )*+"
    r"(?:minute|hour|day|night|morning|afternoon|evening|weekday|weekend|week|fortnight|month|quarter|season|semester"
    rf"|year|decade|spring|summer|autumn|winter|{'|'.join(MONTHS)}"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b"
)
_BORROWED = lazy_regex(r" \([^()]+\)$")  # what a follow-up borrows from earlier questions, which asks for nothing
_TOPIC_EDGES = " \"'“”‘’「」.,:;?!。？！，"
_MAX_SENTENCES = 50
_MEANING = lazy_regex(r"\bmeans?\W*$", re.IGNORECASE)
_DOCUMENT = lazy_regex(  # what a summary may be of
    r"\b(?:this|these|that|it|they|them|everything|whole|entire|all|documents?|files?|papers?|texts?|pdfs?|reports?|articles?"
    r"|books?|contracts?|agreements?|polic(?:y|ies)|leases?|handbooks?|manuals?|minutes|stud(?:y|ies)|speech|survey|notes"
    r"|overall|gist|takeaways|highlights|(?:key|main) (?:points|findings|ideas)|conclusions?)\b"
    r"|[이그] |전체|문서|파일|자료|보고서|논문|계약서|규정|책|글|약관|내용|회의록|설명서|요지|핵심"
    r"|[这這该該全整]|文[件档檔章]|[报報]告|合同|[书書]|[内內]容|[条條]款|大意|主旨|要[点點]|[协協][议議]|[论論]文",
    re.IGNORECASE,
)
_PLURAL = lazy_regex(  # what an English request for a list has
    r"\b(?:all|any|anyone|anybody|any\w+|every\w*|each|list|people|men|women|children|where|places?|mention\w*|contain\w*"
    r"|\w{2,}(?<![aisu'’])s)\b",
    re.IGNORECASE,
)
_FORM = 1.0
"""What a form that matches adds to the share of its route."""
_LEAST = {"document": 0.75, "list": 0.55, "steps": 0.65}
"""The share from which on a question is answered in this way; below it, it is a fact."""
_CLEAR = 0.6
_GENERAL_NOUNS = {"en": "document", "ko": "문서", "zh": "文件"}


@cache
def _words(name: str) -> re.Pattern[str]:
    """Return a pattern for the words of this name in any language."""
    return _compile("|".join(_TABLES["words"][name].values()))


@cache
def _forms(kind: str, is_ascii: bool) -> list[re.Pattern[str]]:
    listed = _TABLES[kind].items()
    return [_compile(form) for language, forms in listed if language == "en" or not is_ascii for form in forms]


def _compile(form: str) -> re.Pattern[str]:
    for name, part in _PARTS.items():
        form = form.replace(f"{{{name}}}", part)
    return re.compile(_SCRIPT_RANGE.sub(r"(?-i:\g<0>)", form), re.IGNORECASE)


@lru_cache(maxsize=1000)
def choose_route(question: str) -> RouteChoice:
    """Return how to answer a question by its wording alone; a fact unless it clearly asks for something else."""
    asked = " ".join(strip_small_talk(question).split())
    if not asked or len(asked) > _LONGEST or is_long_question(question):
        return _FACT
    if mentioned := _find_mentioned(asked):
        return _FACT if _words("clause").search(mentioned) else _choose_list(mentioned)
    own = _BORROWED.sub("", _INTERVAL.sub("", asked))
    asking = {route: share for route, share in classify_route(own).items() if route != "talk"}
    shares = {route: share / max(sum(asking.values()), 1e-9) for route, share in asking.items()}
    comparison = parse_comparison(asked)
    stated, parts = _find_list_topic(asked), comparison.questions if comparison else split_into_parts(asked)
    odds = dict(shares)
    for route, has_form in (("document", _find_summary(asked)), ("list", stated), ("steps", parts)):
        odds[route] = shares.get(route, 0.0) + _FORM * bool(has_form)
    route, share = max(odds.items(), key=lambda item: item[1])
    if share < _LEAST.get(route, 0.0) or (route == "document" and share < _FORM and _asks_fact(own)):
        route = "fact"
    bare = _BORROWED.sub("", asked)
    if route == "steps" and not parts and bare != asked and choose_route(bare).route != "steps":
        route = "fact"
    if route == "document":
        return RouteChoice("document", "It asks for a summary.")
    if route == "list" and not stated and asked.isascii() and not _PLURAL.search(own):
        return _FACT
    if route == "list" and (topic := stated or _guess_topic(asked) or asked * (len(extract_terms(asked)) > 1)):
        place = _words("place").search(asked) if stated else None
        where = next(filter(None, place.groups()), "") if place else ""
        return _choose_list(topic, where)
    if route == "steps" and (parts := parts or split_description(asked) or _guess_parts(asked)):
        reason = "It compares two things." if comparison else f"It asks {len(parts)} things."
        return RouteChoice("steps", reason, parts=parts, comparison=comparison)
    return replace(_FACT, is_clear=shares["fact"] + shares.get("table", 0.0) >= _CLEAR)


def _choose_list(topic: str, place: str = "") -> RouteChoice:
    return RouteChoice("list", f"It asks for every place about “{topic}”.", topic, place)


def _asks_fact(asked: str) -> bool:
    """Return whether a question names no document to sum up, or asks what something means or for title or author."""
    is_question = asked.isascii() or bool(_words("asks").search(asked))
    is_of_document = bool(_words("asks_title").search(asked))
    return is_of_document or bool(_MEANING.search(asked)) or (is_question and not _DOCUMENT.search(asked))


@dataclass(frozen=True, slots=True)
class DocumentReference:
    """Words such as “this manual” that mean a document without naming it; `is_pointing`: not just “the manual”."""

    phrase: str
    noun: str
    is_pointing: bool

    def names(self, title: str) -> bool:
        """Return whether a document of this title is called by the noun: “Kettle manual”, but no “Document 1”."""
        terms = extract_terms(self.noun)
        return bool(terms) and not _words("document_nouns").search(self.noun) and {*terms} <= {*extract_terms(title)}

    def generalize(self, question: str) -> str:
        """Return the question with “document” as the noun, which no title needs to hold."""
        noun = _GENERAL_NOUNS[detect_language(self.noun)]
        is_plural = self.phrase.casefold().startswith(("these", "those"))
        return question.replace(self.phrase, self.phrase.removesuffix(self.noun) + noun + "s" * is_plural)


def find_document_reference(question: str) -> DocumentReference | None:
    """Return the words of a question that mean a document spoken of before; None if it has none.

    A question for a fact must point to it, and call it by a word that means nothing else: “this contract” may also be
    what the fact is about.
    """
    asked, route = strip_small_talk(question), choose_route(question).route
    found = find_form("document_reference", asked)
    if found is None or route == "steps" or find_form("comparison", asked):
        return None
    reference = DocumentReference(found["phrase"], found["noun"], not found.groupdict().get("article"))
    is_plain = reference.is_pointing and _words("only_document").fullmatch(reference.noun)
    return reference if route != "fact" or is_plain else None


def drop_place(topic: str, place: str) -> str:
    """Return what to list without where to look: “hens” for “hens in the letter”."""
    inside = rf"\b(?:in|from|of|within|across) (?:(?:all|each|of|the|this|my|our) )*{re.escape(place)}$"
    before = re.split(inside, topic, maxsplit=1, flags=re.IGNORECASE)[0]
    listed = re.match(r".*\w", before, re.DOTALL) if before != topic else None
    return listed[0] if listed else topic


def force_route(question: str, route: Route) -> RouteChoice:
    """Return the choice for a route that the user or a model has chosen."""
    chosen = choose_route(question)
    if chosen.route == route:
        return replace(chosen, reason="")
    topic = (_guess_topic(question) or question) if route == "list" else ""
    parts = (split_description(question) or _guess_parts(question)) if route == "steps" else ()
    return RouteChoice(route, "", topic=topic, parts=parts or (question,))


def find_form(kind: str, asked: str) -> re.Match[str] | None:
    """Return the match of the first form of this kind that a question has."""
    return next((match for form in _forms(kind, asked.isascii()) if (match := form.search(asked))), None)


def _find_list_topic(asked: str) -> str:
    topic = _words("mention").sub("", _find_topic("list", asked))
    return topic if extract_terms(topic) and not _words("abstract_topic").search(topic) else ""


def _find_mentioned(asked: str) -> str:
    """Return what documents shall mention: “Dublin” for “Which documents contain the word Dublin?”; else nothing."""
    topic = _words("the_word").sub("", _find_topic("mentions", asked)).strip(_TOPIC_EDGES)
    return topic if extract_terms(topic) or _words("clause").search(topic) else ""


def _find_topic(kind: str, asked: str) -> str:
    match = find_form(kind, asked)
    return _read_noun(match, "topic").strip(_TOPIC_EDGES) if match else ""


def _guess_topic(asked: str) -> str:
    """Return what a question may ask to list: the first noun with the words around it that do not only ask."""
    guess = find_form("list_guess", asked)
    return _read_noun(guess, "topic").strip() if guess else ""


def _read_noun(match: re.Match[str], name: str) -> str:
    """Return a group of a form, with the syllable after it if that is no Korean particle: 병가, not 병."""
    noun, after = match[name], match.string[match.end(name) : match.end(name) + 1]
    is_noun = bool(re.fullmatch("[가을를은는]", after)) and bool(re.search("[가-힣]$", noun))
    return noun + after if is_noun and (ends_as_noun(noun + after) or not fits_particle(noun, after)) else noun


def _guess_parts(asked: str) -> tuple[str, ...]:
    """Return a question about each of two things that are compared, or each clause as a question.

    A question in one clause becomes what it describes instead of naming it, and the question itself.
    """
    match = find_form("comparison_guess", asked)
    if match and not _words("asks_which").search(f"{match['first']} {match['second']}"):
        return tuple(f"{_capitalize(match[name].strip())}: {asked}" for name in ("first", "second"))
    clauses = [part for part in map(str.strip, _words("clause_end").split(asked)) if _has_meaning(part)]
    comma = "，" if detect_language(asked) == "zh" else ", "
    if len(clauses) > 2 and _words("condition").search(clauses[0]):
        return tuple(f"{_capitalize(clauses[0])}{comma}{clause}?" for clause in clauses[1 : MAX_PARTS + 1])
    is_apart = 1 < len(clauses) <= MAX_PARTS and _stands_alone(clauses[0])
    if is_apart and len(clauses) == 2 and not _stands_alone(clauses[1]):
        return ()  # one fact and its halves: "What is the fee and who collects it?"
    if is_apart and sum(bool(_words("asks").search(clause)) for clause in clauses) > 1:
        first = next(at for at, clause in enumerate(clauses) if _words("asks").search(clause))
        return tuple(map(_write_question, [comma.join(clauses[: first + 1]), *clauses[first + 1 :]]))
    if _STATEMENT_END.search(asked) and not _words("asks").search(asked):
        return ()
    described = _find_description(asked) or "".join(clauses[:is_apart])
    return (_capitalize(described), asked) if _stands_alone(described) else ()


def _stands_alone(clause: str) -> bool:
    """Return whether a clause names its subject, not only a year, or so much else that a pronoun does not matter."""
    return (names_something(clause) and not clause.strip().isdigit()) or len(extract_terms(clause)) > 1


def _has_meaning(clause: str) -> bool:
    """Return whether a clause says or asks something; words in brackets, as a follow-up borrows them, belong to it."""
    return not clause.startswith("(") and bool(extract_terms(clause) or _words("asks").search(clause))


def _find_description(asked: str) -> str:
    """Return the half of a question that describes something: “approved in May” in “Is it the sum approved in May?”."""
    bare, language = asked.strip(" ?!.。？！"), detect_language(asked)
    halves = [(bare[: at.start()], bare[at.end() :]) for at in _words("description_end").finditer(bare)]
    halves = [both for both in halves if all(map(extract_terms, both))]
    nearest = min(halves, key=lambda both: abs(len(both[0]) - len(both[1])), default=("", ""))
    return nearest[language == "en"].strip()


def split_into_parts(asked: str) -> tuple[str, ...]:
    """Return the sub-questions of a comparison or of several questions at once, at most four; else nothing."""
    if match := find_form("comparison", asked):
        return _compare(match, asked)
    questions = [part.strip() for part in _QUESTION.findall(asked)] or [asked]
    is_marked = len(questions) > 1 and asked.endswith(("?", "？"))
    if len(questions) == 1:
        questions = [part.strip(" ,;.，、") for part in _words("next_question").split(questions[0])]
    asking = [one for one in questions if is_marked or _words("asks").search(one)]
    if not 1 < len(questions) == len(asking) <= MAX_PARTS or not names_something(questions[0]):
        return ()
    if len(questions) == 2 and not names_something(questions[1]) and not asked.count("?") > 1:
        return ()  # “When did it start and who founded it?” is one fact and its halves
    return tuple(map(_write_question, questions))


def _compare(match: re.Match[str], asked: str) -> tuple[str, ...]:
    """Return one question about each of the things compared."""
    first, second = (_read_noun(match, name).strip(" \"'“”‘’.") for name in ("first", "second"))
    given = match.groupdict()
    aspect = (given.get("aspect") or "").strip(" .")
    is_open = _words("asks_which").search(f"{first} {second}")
    if (
        is_open
        or _words("pronoun").search(f"{first} {second}")
        or not (extract_terms(first) and extract_terms(second))
        or first.casefold() == second.casefold()
    ):
        return ()
    if lead := (given.get("lead") or "").strip(" ,"):
        return tuple(f"{_capitalize(name)}: {lead}?" for name in (first, second))
    if not aspect:
        return tuple(_capitalize(_words("article").sub("", name)) for name in (first, second))
    if re.search(r"[가-힣]", asked):
        particle = "는" if (ord(aspect[-1]) - ord("가")) % 28 == 0 else "은"  # after a vowel, after a consonant
        return tuple(f"{name}의 {aspect}{particle} 무엇인가요?" for name in (first, second))
    if re.search(r"[\u4e00-\u9fff]", asked):
        return tuple(f"{name}的{aspect}是什么？" for name in (first, second))
    return tuple(f"What is the {aspect} of {name}?" for name in (first, second))


def names_something(question: str) -> bool:
    """Return whether a question names its subject, not only *it* or *they*, so that it can stand alone."""
    return bool(extract_terms(question)) and not _words("pronoun").search(question)


def _write_question(clause: str) -> str:
    """Return a clause as a sentence, with a question mark if it asks."""
    is_open = _words("asks").search(clause) and not clause.endswith(("?", "？"))
    return _capitalize(clause) + "?" * bool(is_open)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def parse_summary_request(question: str) -> SummaryRequest | None:
    """Return what a request for a summary asks for; None if the question is none."""
    asked = " ".join(strip_small_talk(question).split())
    if choose_route(question).route != "document":
        return None
    is_whole, scope = _find_summary(asked) or (True, "")
    section = _words("section").search(asked)
    named = scope
    for name in ("chapter", "page", "section"):
        named = _words(name).sub(" ", named)
    words = _words("document_nouns").sub(" ", named).strip(" \"'“”‘’「」.,:;?!。？！，")
    count = _words("count").search(asked)
    sentences = min(_parse_number(count["number"]), _MAX_SENTENCES) if count else 0
    if not sentences and _words("short").search(asked):
        sentences = 3
    by_section = bool(_words("by_section").search(asked))
    form: SummaryForm = (
        "table" if _words("as_table").search(asked) else "sentences" if sentences and not by_section else "outline"
    )
    number, page = _words("chapter").search(asked), _words("page").search(asked)
    chapter = next(filter(None, number.groups())) if number else ""
    scope = " ".join(words.split()) if extract_terms(words) else ""
    is_reworded = bool(_words("reworded").search(asked))
    return SummaryRequest(
        scope,
        not chapter and (is_whole or not scope or bool(section)),
        sentences,
        form,
        chapter,
        int(next(filter(None, page.groups()))) if page else 0,
        next(filter(None, section.groups())) if section else "",
        is_reworded,
    )


def _find_summary(asked: str) -> tuple[bool, str] | None:
    """Return whether whole documents are to be summed up, and the words that say what; None if no form says so."""
    bare = _strip(asked)
    is_whole = is_summary_request(asked) or is_summary_request(bare)
    found = find_form("summary", bare) or find_form("summary", asked)
    scope = found["scope"] if found else ""
    is_sum = bool(found and _words("adding").search(bare) and _words("amounts").search(scope))
    return (is_whole, scope) if (is_whole or found) and not is_sum else None


def _strip(asked: str) -> str:
    """Return the request without length, form and audience."""
    for name in ("count", "by_section", "as_table", "reworded", "for_whom", "short"):
        asked = _words(name).sub(" ", asked)
    return re.sub(r"\s+([,.?!])", r"\1", " ".join(asked.split())).strip(" ,")


def _parse_number(written: str) -> int:
    return int(written) if written.isdigit() else _NUMBERS[written.casefold()]
