"""The name or term with which a sentence answers a question: "Jana Weiss" of "Jana Weiss runs the pottery course".

It is what the sentence adds to the words of the question. Where it adds several things, one is taken only if its form
tells it apart: it has the noun asked for, it is a name, or the others are only circumstances.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from crag.text import chinese, korean
from crag.text.contrasts import is_contrary
from crag.text.language import detect_language, extract_terms
from crag.text.patterns import MONTHS, lazy_regex
from crag.text.questions import detect_answer_type
from crag.text.word_forms import find_other_forms, is_past_form

_MAX_LENGTH = 60  # characters
_WORD = lazy_regex(  # "Friends of the Bay" is one
    r"[A-Z][\w’'-]*(?: (?:(?:of|for|the|de|da|del|van|von|der|la|le|&) )+[A-Z][\w’'-]*)+|[^\W_][\w’'.-]*(?<!\.)"
)
_ENGLISH_CIRCUMSTANCE = lazy_regex(
    r"\b(?:in|on|at|after|before|during|for|with|without|since|until|from|to|near|of) (?:the |an? |its |their )?$"
)
_ENGLISH_NOUN = lazy_regex(r"\W*wh\w+ (?:is|are|was|were) (?:the|an?) ([\w’'-]+)", re.IGNORECASE)  # the hall where …
_WHICH = lazy_regex(r"\W*(?:which|what) (?P<noun>[a-z][\w’'-]*)(?P<said>.*)", re.IGNORECASE)
_AUXILIARY = lazy_regex(r"is|are|was|were|has|have|had|does|do|did|can|will|that")
_KOREAN_NOUN = lazy_regex(r"([가-힣]+?)[은는이가] (?:무엇|누구|어디|어느)")
_CHINESE_NOUN = lazy_regex(r"的([\u4e00-\u9fff]{1,6})是[谁誰哪什]")
_NAMING = frozenset(extract_terms("called named known entitled titled name"))
_CALENDAR = frozenset(extract_terms(f"{' '.join(MONTHS)} Monday Tuesday Wednesday Thursday Friday Saturday Sunday"))
_KOREAN_CIRCUMSTANCE = lazy_regex(r"(?:에서|에게|에|으로|까지|부터|마다)(?:는|도)?$")
_KOREAN_STATEMENT = lazy_regex(r"(?:다|요|까|음|함)$")
_HAN = lazy_regex(r"[\u4e00-\u9fffA-Za-z\d·-]+")
_CHINESE_BREAK = lazy_regex(r"[在由是为為叫被了和与與及]|(?:于|於)(?=\d)")
_CHINESE_EDGE = "的了在由是为為被叫和与與及于於从從到也都就"
_CLAUSE_END = lazy_regex(r"[;；，]|(?<=[고며]),?\s|,?\s(?:while|whereas|but|although)\s|,\s(?:and|who|which)\s")
_OWNER_AFTER = lazy_regex(r" (?:of|to) (?:the|an?|our|this) ")
_NAMES_ITSELF = lazy_regex(r"\b(?:cause|reason|name|title)\b|(?:원인|이유|이름|명칭)$|原因|名字|名[称稱]")
_WITHIN = lazy_regex(r" (?:of (?:the )?)?")
_FIGURE = lazy_regex(r"[\d.,:/年月日点點분시일월원元-]+")


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """A name or term. `is_certain` if the sentence adds nothing else to the question that might be meant."""

    text: str
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What a sentence says beyond the question. `is_kind`: it ends in the noun asked for.

    `is_property`: it is something of what is asked about, as the secretary of the director, so that the rest is no
    answer; a cause or a name is.
    """

    text: str
    is_kind: bool = False
    is_name: bool = False
    is_circumstance: bool = False
    is_property: bool = False


def find_short_answer(question: str, sentence: str) -> ShortAnswer | None:
    """Return the name or term by which a sentence answers a question; None if it is not clear which one does.

    The sentence names everything that the question says of it, but perhaps not its kind: "Which part failed?".
    """
    if not names_all(question, sentence):
        return None
    language = detect_language(question)
    reader = {"ko": _read_korean, "zh": _read_chinese}.get(language, _read_english)
    clauses = [clause for clause in _CLAUSE_END.split(sentence) if names_all(question, clause)]
    found = list(reader(question, clauses[0] if len(clauses) == 1 else sentence))
    if any(one.is_property for one in found):
        return None
    candidates = [one for one in found if len(one.text) <= _MAX_LENGTH and not _FIGURE.fullmatch(one.text)]
    asks_person = detect_answer_type(question) == "person"
    is_certain = len({one.text for one in candidates if one.is_name or not one.is_circumstance}) == 1
    choices: list[Callable[[_Candidate], bool]] = [lambda one: one.is_name]
    if not asks_person:
        choices = [lambda one: one.is_kind, *choices, lambda one: not one.is_circumstance]
    for is_better in choices:
        candidates = list(filter(is_better, candidates)) or candidates
    if len({one.text for one in candidates}) != 1 or (asks_person and language == "en" and not candidates[0].is_name):
        return None
    return ShortAnswer(candidates[0].text, is_certain)


def names_all(question: str, sentence: str) -> bool:
    """Return whether a sentence names everything that a question says of what it asks for."""
    language = detect_language(question)
    if is_contrary(question, sentence):
        return False
    if language == "ko":
        return not any(len(word) > 1 for word in korean.find_missing_words(question, sentence))
    if language == "zh":
        return not chinese.find_missing_words(_CHINESE_NOUN.sub("是谁", question), sentence)
    held = set(extract_terms(sentence))
    held |= {form for term in held for form in find_other_forms(term)}
    noun = _ENGLISH_NOUN.match(question)
    is_role = not (noun and detect_answer_type(question) == "person") or _names_role(noun[1], held)
    return is_role and set(extract_terms(question)) - set(extract_terms(_find_kind(question))) <= held


def ask_without_kind(question: str, answer: str) -> str:
    """Return an English question without the kind of thing, if a short answer names that itself; else nothing.

    "What was opened by Hall?" for "Which pool was opened by Hall?", to which "Riverside Pool" is the answer.
    """
    kind = "" if _ENGLISH_NOUN.match(question) else _find_kind(question)
    is_named = bool(kind) and set(extract_terms(kind)) <= set(extract_terms(answer))
    return f"What {question[question.index(kind) + len(kind) :].strip()}" if is_named else ""


def _find_kind(question: str) -> str:
    """Return the noun of an English question: "swimming pool" of "Which swimming pool was …?"."""
    if found := _ENGLISH_NOUN.match(question):
        return found[1]
    if not (found := _WHICH.match(question)) or _AUXILIARY.fullmatch(found["noun"]):
        return ""
    noun = found["noun"]
    for word in re.findall(r"^[\w’'-]+|(?<= )[\w’'-]+", found["said"]):
        if _AUXILIARY.fullmatch(word) or is_past_form(word) or word.endswith("s"):
            break
        noun += f" {word}"
    return noun if noun != found["noun"] + found["said"].rstrip("?") else found["noun"]


def _names_role(role: str, held: Iterable[str]) -> bool:
    """Return whether terms name a role or what it does: founded of founder."""
    stem = re.sub(r"(?:er|or)$", "", role.lower())
    return any(term.startswith(stem) or stem.startswith(term) for term in held if len(term) > 2)


def _read_english(question: str, sentence: str) -> Iterable[_Candidate]:
    asked = set(extract_terms(question)) | _NAMING
    asked |= {form for term in asked for form in find_other_forms(term)}
    kind = set(extract_terms(_find_kind(question)))
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(sentence):
        terms = set(extract_terms(word[0]))
        is_new = not (terms <= asked or terms <= _CALENDAR)
        is_part = is_new or (bool(terms) and terms <= kind)
        if run and word[0] in ("of", "the"):  # "the nephew of Walt Dunn" is one thing
            continue
        if run and not (is_part and _WITHIN.fullmatch(sentence, run[-1].end(), word.start())):
            yield from _read_run(run, kind, sentence)
            run = []
        run += [word] * is_part
    if run:
        yield from _read_run(run, kind, sentence)


def _read_run(run: list[re.Match[str]], kind: set[str], sentence: str) -> Iterable[_Candidate]:
    """Yield what neighbouring words say, of a name only that: "Selma Ruud" of "architect Selma Ruud"."""
    kinds = [set(extract_terms(word[0])) <= kind for word in run]
    if all(kinds):
        return
    capitals = [at for at, word in enumerate(run) if word[0][0].isupper()]
    is_joined = any(after.start() - word.end() > 1 for word, after in pairwise(run))
    is_name = bool(capitals) and not is_joined and (len(capitals) > 1 or run[capitals[0]].start() > 0)
    if is_name:
        last = max(at for at, is_kind in enumerate(kinds) if at in capitals or (is_kind and at == capitals[-1] + 1))
        run, kinds = run[capitals[0] : last + 1], kinds[capitals[0] : last + 1]
    article = sentence.rfind("the ", 0, run[0].start()) == run[0].start() - len("the ")
    text = "the " * article + sentence[run[0].start() : run[-1].end()]
    is_circumstance = bool(_ENGLISH_CIRCUMSTANCE.search(sentence[: run[0].start()].lower()))
    is_property = bool(_OWNER_AFTER.match(sentence, run[-1].end())) and not _NAMES_ITSELF.search(text)
    yield _Candidate(text, any(kinds), is_name, is_circumstance, is_property)


def _read_korean(question: str, sentence: str) -> Iterable[_Candidate]:
    noun = _KOREAN_NOUN.search(question)
    kind = noun[1] if noun else ""
    run: list[str] = []
    owner = ""
    words = sentence.strip(" .").split()
    for at, word in enumerate(words):
        bare = korean.strip_particles(word.strip(",·"))
        is_verb = at == len(words) - 1 and bare == word and bool(_KOREAN_STATEMENT.search(word))
        is_kind = bool(kind) and bare.endswith(kind)
        is_new = not is_verb and not korean.names_word(bare, question)
        if not (is_new or (is_kind and (run or bare != kind))):
            run, owner = [], word
            continue
        run.append(word if word.endswith("의") else bare)
        if (bare != word and not word.endswith("의")) or at == len(words) - 1:
            text, is_owned = " ".join(run), owner.endswith("의") and not is_kind
            if not (is_owned and _NAMES_ITSELF.search(text)):
                is_circumstance = bool(_KOREAN_CIRCUMSTANCE.search(word))
                yield _Candidate(text, is_kind, is_circumstance=is_circumstance, is_property=is_owned)
            run, owner = [], ""


def _read_chinese(question: str, sentence: str) -> Iterable[_Candidate]:
    noun = _CHINESE_NOUN.search(question)
    kind = noun[1] if noun else ""
    for found in _HAN.finditer(sentence):
        text = found[0]
        marks = chinese.mark_held(text, question)
        for gap in re.finditer("-+", "".join(" " if mark else "-" for mark in marks)):
            end = gap.end()
            is_kind = bool(kind) and text.startswith(kind, end)
            for piece in re.finditer(rf"(?:(?!{_CHINESE_BREAK.pattern}).)+", text[gap.start() : end]):
                last = gap.start() + piece.end() == end
                said = piece[0].strip(_CHINESE_EDGE)
                is_owned = piece[0].startswith("的") and not is_kind
                if len(said) > 1 and not (is_owned and _NAMES_ITSELF.search(said)):
                    yield _Candidate(said + kind * (is_kind and last), is_kind and last, is_property=is_owned)
